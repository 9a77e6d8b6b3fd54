/* Drives the workbench in this process, with a real pointer and real keys (XTEST): a window on a temporary
 * home, pointer and keyboard as the X server sends them, waiting by spinning the main loop, pictures of what
 * is shown. */
#pragma once

#include "ui/nw-window.h"

/* First thing in main: makes a temporary home (history, settings, data), reads the catalogue, starts GTK.
 * FALSE: there is no display; every test added with nwt_add then skips and says so. */
gboolean nwt_ui_init(int *argc, char ***argv);
void nwt_add(const char *path, void (*test)(void));
/* Runs the tests and removes the temporary home. */
int nwt_run(void);
const char *nwt_home(void);

/* A window of the size, shown; without a project. */
NwWindow *nwt_window_open(int width, int height);
/* Closes it and waits until it is gone: nothing may hold on to it. */
void nwt_window_close(NwWindow *window);

/* ---- waiting ---- */
void nwt_spin(guint ms);
/* Spins until the condition holds; fails the test after `seconds`, leaving a picture in $NETWRIGHT_SHOTS if
 * set. */
#define nwt_wait_for(condition, seconds)                                                                     \
  G_STMT_START                                                                                               \
  {                                                                                                          \
    gint64 nwt_end_ = g_get_monotonic_time() + (gint64)(seconds)*G_USEC_PER_SEC;                             \
    while (!(condition)) {                                                                                   \
      if (g_get_monotonic_time() > nwt_end_)                                                                 \
        nwt_timed_out(__FILE__, __LINE__, #condition);                                                       \
      if (!g_main_context_iteration(NULL, FALSE))                                                            \
        g_usleep(500);                                                                                       \
    }                                                                                                        \
  }                                                                                                          \
  G_STMT_END
G_NORETURN void nwt_timed_out(const char *file, int line, const char *condition);
#define nwt_wait(condition) nwt_wait_for(condition, 20)

/* ---- pointer and keys; coordinates are the widget's own ---- */
void nwt_move(GtkWidget *widget, double x, double y);
void nwt_click_at(GtkWidget *widget, double x, double y,
                  guint modifiers); /* GDK_SHIFT_MASK, GDK_CONTROL_MASK */
void nwt_click(GtkWidget *widget);  /* its middle */
/* GTK 4.8 makes up a motion event after each layout, with the buttons as the X server has them by then; when
 * this process is starved, that is after the release, and the press counts for nothing. As a person would:
 * once more. */
#define nwt_click_until(find, condition)                                                                     \
  G_STMT_START                                                                                               \
  {                                                                                                          \
    for (int nwt_try_ = 0; nwt_try_ < 5 && !(condition); nwt_try_++) {                                       \
      GtkWidget *nwt_button_ = (find);                                                                       \
      if (nwt_button_ != NULL && gtk_widget_is_sensitive(nwt_button_))                                       \
        nwt_click(nwt_button_);                                                                              \
      for (int nwt_turn_ = 0; nwt_turn_ < 20 && !(condition); nwt_turn_++)                                   \
        nwt_spin(50);                                                                                        \
    }                                                                                                        \
  }                                                                                                          \
  G_STMT_END
void nwt_double_click(GtkWidget *widget);
void nwt_drag(GtkWidget *from, double x0, double y0, GtkWidget *to, double x1, double y1);
void nwt_key(guint keyval, guint modifiers);
void nwt_type(const char *ascii);

/* ---- finding ---- */
/* The first visible widget below (or equal to) root for which match holds. */
GtkWidget *nwt_find(GtkWidget *root, gboolean (*match)(GtkWidget *widget, gpointer data), gpointer data);
GtkWidget *nwt_find_type(GtkWidget *root, GType type);
GtkWidget *nwt_find_name(GtkWidget *root, const char *name);  /* gtk_widget_set_name */
GtkWidget *nwt_find_label(GtkWidget *root, const char *text); /* a GtkLabel that shows exactly this */
GtkWidget *nwt_find_action(GtkWidget *root,
                           const char *action);        /* a visible GtkActionable with this action */
gboolean nwt_shows(GtkWidget *root, const char *part); /* some visible label holds it */

/* ---- pictures ---- */
/* What the window shows now, as a PNG. */
void nwt_screenshot(GtkWindow *window, const char *path);

/* A folder of PNG pictures that can be learnt (a stripe per class): home/name/class<c>/<i>.png; g_free. */
char *nwt_pictures(const char *name, guint classes, guint n, guint side);
