#include "app/cli/run.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/base/threads.h"

static _Atomic int interrupts;

/* The first one asks for an orderly stop; the second one means it. */
static void on_interrupt(int number)
{
  if (atomic_fetch_add(&interrupts, 1) > 0)
    _exit(130);
}

typedef struct Talk {
  NwCliRun *run;
  gboolean terminal;
  double shown; /* when the progress line was last drawn */
  double started;
  gint64 first_step; /* steps before this process */
} Talk;

static Talk talk;

static void clear_line(void)
{
  if (talk.terminal && !talk.run->json)
    fputs("\r\033[K", stdout);
}

static void print_clock(double seconds, char *text, gsize n)
{
  gint64 s = isfinite(seconds) && seconds > 0 ? (gint64)llround(seconds) : 0;
  if (s < 3600)
    g_snprintf(text, n, "%d:%02d", (int)(s / 60), (int)(s % 60));
  else
    g_snprintf(text, n, "%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

static void on_step(const NwStepEvent *step, gpointer data)
{
  double now = nw_clock();
  if (talk.run->json || !talk.terminal)
    return;
  if (talk.first_step < 0)
    talk.first_step = step->step - 1;
  if (now - talk.shown < 0.1 && step->batch < step->batches)
    return;
  talk.shown = now;
  const NwSessionProgress *p = nw_session_progress(talk.run->session);
  double done = (double)(step->step - talk.first_step),
         all = (double)(p->epochs * step->batches - talk.first_step);
  char left[32];
  print_clock(done > 0 ? (now - talk.started) / done * (all - done) : 0, left, sizeof left);
  clear_line();
  printf(_("epoch %d/%d  batch %d/%d  loss %.4f  accuracy %.1f %%  %.0f pictures/s  %s left"),
         (int)step->epoch + 1, (int)p->epochs, (int)step->batch, (int)step->batches, step->loss,
         step->accuracy * 100, step->pictures_per_s, left);
  fflush(stdout);
}

static void print_epoch_json(const NwEpochEvent *epoch)
{
  NwJson *json = nw_json_object();
  nw_json_set_string(json, "event", "epoch");
  nw_json_set_string(json, "run", nw_session_run(talk.run->session));
  nw_json_set_int(json, "epoch", epoch->epoch);
  nw_json_set_real(json, "train_loss", epoch->train_loss);
  nw_json_set_real(json, "train_accuracy", epoch->train_accuracy);
  nw_json_set_real(json, "val_loss", epoch->val_loss);
  nw_json_set_real(json, "val_accuracy", epoch->val_accuracy);
  nw_json_set_real(json, "lr", epoch->lr);
  nw_json_set_real(json, "pictures_per_s", epoch->pictures_per_s);
  nw_cli_print_json(json);
}

static void on_epoch(const NwEpochEvent *epoch, gpointer data)
{
  if (talk.run->json) {
    print_epoch_json(epoch);
    return;
  }
  clear_line();
  printf(_("epoch %d/%d: loss %.4f, accuracy %.1f %%"), (int)epoch->epoch,
         (int)nw_session_progress(talk.run->session)->epochs, epoch->train_loss, epoch->train_accuracy * 100);
  if (!isnan(epoch->val_loss))
    printf(_("; validation loss %.4f, accuracy %.2f %%%s"), epoch->val_loss, epoch->val_accuracy * 100,
           epoch->best ? _(" (best)") : "");
  printf(_("  [%.0f pictures/s, lr %.3g]\n"), epoch->pictures_per_s, epoch->lr);
  fflush(stdout);
}

static void on_remark(const char *text, gpointer data)
{
  clear_line();
  fflush(stdout);
  fprintf(stderr, "netwright: %s\n", text);
}

void nw_cli_run_prepare(NwCliRun *run)
{
  static const NwSessionListener listener = {on_step, on_epoch, on_remark};
  talk = (Talk){.run = run, .terminal = nw_cli_is_terminal(), .started = nw_clock(), .first_step = -1};
  nw_session_listen(run->session, &listener, NULL);
  struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static void print_end_json(const char *event, const NwSessionProgress *p, NwSession *session)
{
  NwJson *json = nw_json_object();
  nw_json_set_string(json, "event", event);
  nw_json_set_string(json, "run", nw_session_run(session));
  nw_json_set_int(json, "epochs", p->epoch);
  nw_json_set_int(json, "best_epoch", p->best_epoch);
  nw_json_set_real(json, "best_val_accuracy", p->best_val_accuracy);
  if (nw_session_error(session) != NULL && g_str_equal(event, "failed"))
    nw_json_set_string(json, "message", nw_session_error(session)->text);
  nw_cli_print_json(json);
}

static int end_finished(NwCliRun *run, const NwSessionProgress *p)
{
  if (run->json) {
    print_end_json("finished", p, run->session);
    return NW_EXIT_DONE;
  }
  if (p->best_epoch > 0)
    printf(_("Finished. Best validation accuracy %.2f %% in epoch %d.\n"), p->best_val_accuracy * 100,
           (int)p->best_epoch);
  else
    puts(_("Finished."));
  printf(_("Run %s\n"), nw_session_run(run->session));
  return NW_EXIT_DONE;
}

static int end_stopped(NwCliRun *run, const NwSessionProgress *p)
{
  g_autofree char *line = nw_cli_line("resume", nw_session_run(run->session), run->history);
  if (run->json)
    print_end_json("stopped", p, run->session);
  else
    printf(_("Stopped; everything is kept. Run %s\n%s goes on exactly here.\n"), nw_session_run(run->session),
           line);
  return NW_EXIT_STOPPED;
}

static int end_failed(NwCliRun *run, const NwSessionProgress *p)
{
  const NwError *error = nw_session_error(run->session);
  g_autofree char *line = nw_cli_line("resume", nw_session_run(run->session), run->history);
  if (run->json)
    print_end_json("failed", p, run->session);
  int code = error != NULL ? nw_cli_fail(error->status, error) : NW_EXIT_FAILED;
  if (!run->json)
    fprintf(stderr, _("Run %s; %s goes on from its last checkpoint.\n"), nw_session_run(run->session), line);
  return code == NW_EXIT_USAGE ? NW_EXIT_FAILED : code;
}

int nw_cli_run_wait(NwCliRun *run)
{
  gboolean asked = FALSE;
  while (nw_session_is_active(run->session)) {
    if (atomic_load(&interrupts) > 0 && !asked) {
      asked = TRUE;
      clear_line();
      fputs(_("Stopping after this batch; press Ctrl+C again to end at once.\n"), stderr);
      nw_session_stop(run->session);
    }
    /* Events of the session are dispatched here; a signal ends the wait. */
    while (g_main_context_iteration(NULL, FALSE))
      ;
    g_usleep(5000);
  }
  clear_line();
  const NwSessionProgress *p = nw_session_progress(run->session);
  switch (nw_session_state(run->session)) {
  case NW_TRAINER_FINISHED:
    return end_finished(run, p);
  case NW_TRAINER_STOPPED:
    return end_stopped(run, p);
  default:
    return end_failed(run, p);
  }
}
