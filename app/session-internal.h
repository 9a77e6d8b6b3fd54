/* What the files of the session share. */
#pragma once

#include <stdatomic.h>

#include "app/session.h"
#include "data/loader.h"

/* One event of the trainer on its way to the main thread. */
typedef struct NwSessionEvent {
  enum { NW_EVENT_STATE, NW_EVENT_STEP, NW_EVENT_EPOCH, NW_EVENT_REMARK, NW_EVENT_END } kind;
  NwTrainerState state;
  NwStepEvent step;
  NwEpochEvent epoch;
  char *text; /* g_free */
} NwSessionEvent;

/* Lock-free, one writer, one reader. When the reader sleeps, steps are dropped before anything else: the
 * history has them all. */
enum { NW_RING_SIZE = 8192 };
typedef struct NwRing {
  NwSessionEvent events[NW_RING_SIZE];
  _Alignas(64) _Atomic guint head; /* writer */
  _Alignas(64) _Atomic guint tail; /* reader */
} NwRing;
gboolean nw_ring_push(NwRing *ring, const NwSessionEvent *event); /* FALSE: full */
gboolean nw_ring_pop(NwRing *ring, NwSessionEvent *event);

/* Everything one training needs, owned by the worker while it runs. */
typedef struct NwWork {
  NwManifest *manifest; /* its own: scanned or copied from the project's path */
  NwPreprocessing *preprocessing;
  NwTrainConfig config;
  NwModel *model;
  char *weights; /* that it begins with; NULL: those of the seed */
  gboolean weights_by_order;
  NwLoader *train, *validation;
  NwTrainer *trainer;
  gint64 *class_counts;
  NwJson *extra;
} NwWork;
void nw_work_clear(NwWork *work);
/* Loaders, model, trainer. network: what is trained; seed: the config's. */
NwStatus nw_work_build(NwWork *work, const NwNetwork *network, const char *folder,
                       const NwRunObserver *observer, NwError *error);

struct _NwSession {
  GObject parent;
  NwHistory *history;
  GMainContext *context;
  NwRing *ring;
  _Atomic gboolean wake_pending;
  _Atomic gboolean deaf; /* nobody listens any more */
  GThread *thread;
  NwWork work;
  NwRunInfo *info;                        /* of the run, as the worker keeps it up to date */
  gint64 batches;                         /* an epoch */
  double seconds_before;                  /* trained before this session (resume) */
  gint64 started;                         /* monotonic */
  _Atomic gint64 paused_at, paused_total; /* monotonic, 0: not paused; microseconds of earlier pauses */
  _Atomic int state;                      /* NwTrainerState as the worker sees it */
  NwTrainerState shown;                   /* as the main thread has been told */
  NwSessionProgress progress;
  GHashTable *series; /* char * → GArray of NwMetricPoint */
  NwError error;      /* of a failed run */
  NwError result;     /* filled by the worker before it ends */
  gboolean resuming;
  NwSessionListener listener;
  gpointer listener_data;
};

typedef enum NwSessionSignal {
  NW_SESSION_STATE_CHANGED,
  NW_SESSION_PROGRESS,
  NW_SESSION_REMARK,
  NW_SESSION_FINISHED,
  NW_SESSION_SIGNALS
} NwSessionSignal;
void nw_session_emit(NwSession *self, NwSessionSignal which, const char *text);

/* session-events.c */
GArray *nw_session_points(NwSession *self, const char *metric); /* made when new; metric is a constant */
NwRunObserver nw_session_observer(NwSession *self);
gboolean nw_session_drain(gpointer self); /* main thread */
void nw_session_launch(NwSession *self);
/* Writes how the run ended. */
void nw_session_close_run(NwSession *self, NwStatus status);

/* session.c */
NwStatus nw_session_refuse_active(NwSession *self, NwError *error);
void nw_session_forget(NwSession *self); /* of the run before */
/* The worker's own copies of what the project holds; refuses what cannot be trained. */
NwStatus nw_session_copy_parts(NwSession *self, NwProject *project, NwError *error);
