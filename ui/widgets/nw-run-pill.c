#include "ui/widgets/nw-run-pill.h"

#include <glib/gi18n.h>
#include <math.h>

typedef struct Pill {
  NwSession *session;
  GtkWidget *button, *ring, *label;
  gboolean narrow;
} Pill;

static double share_of(NwSession *session)
{
  const NwSessionProgress *p = nw_session_progress(session);
  if (p->epochs <= 0)
    return 0;
  double inside = p->batches > 0 && p->epoch < p->epochs ? (double)p->batch / (double)p->batches : 0;
  return CLAMP(((double)p->epoch + inside) / (double)p->epochs, 0, 1);
}

static void set_color(cairo_t *cr, GtkWidget *widget, const char *name)
{
  GdkRGBA rgba = {0.5f, 0.5f, 0.5f, 1};
  gtk_style_context_lookup_color(gtk_widget_get_style_context(widget), name, &rgba);
  cairo_set_source_rgba(cr, rgba.red, rgba.green, rgba.blue, rgba.alpha);
}

/* The ring while it runs; the state's own sign when it does not. */
static void draw(GtkDrawingArea *area, cairo_t *cr, int w, int h, gpointer data)
{
  Pill *pill = data;
  GtkWidget *widget = GTK_WIDGET(area);
  NwTrainerState state = nw_session_state(pill->session);
  cairo_set_line_width(cr, 2.5);
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  if (state == NW_TRAINER_PAUSED) {
    set_color(cr, widget, "nw_dim");
    cairo_move_to(cr, w / 2.0 - 3, 4);
    cairo_line_to(cr, w / 2.0 - 3, h - 4);
    cairo_move_to(cr, w / 2.0 + 3, 4);
    cairo_line_to(cr, w / 2.0 + 3, h - 4);
    cairo_stroke(cr);
    return;
  }
  if (state == NW_TRAINER_FINISHED) {
    set_color(cr, widget, "nw_ok");
    cairo_move_to(cr, 3.5, h / 2.0 + 0.5);
    cairo_line_to(cr, w / 2.0 - 1, h - 4.5);
    cairo_line_to(cr, w - 3, 4);
    cairo_stroke(cr);
    return;
  }
  if (state == NW_TRAINER_FAILED || state == NW_TRAINER_STOPPED) {
    set_color(cr, widget, state == NW_TRAINER_FAILED ? "nw_err" : "nw_dim");
    cairo_rectangle(cr, 4, 4, w - 8, h - 8);
    cairo_fill(cr);
    return;
  }
  set_color(cr, widget, "nw_track");
  cairo_arc(cr, w / 2.0, h / 2.0, 6, 0, 2 * G_PI);
  cairo_stroke(cr);
  set_color(cr, widget, "accent_color");
  cairo_arc(cr, w / 2.0, h / 2.0, 6, -G_PI_2, -G_PI_2 + 2 * G_PI * share_of(pill->session));
  cairo_stroke(cr);
}

static const char *state_words(NwTrainerState state)
{
  switch (state) {
  case NW_TRAINER_PAUSED:
    return _("Paused");
  case NW_TRAINER_STOPPING:
    return _("Stopping");
  case NW_TRAINER_STOPPED:
    return _("Stopped");
  case NW_TRAINER_FINISHED:
    return _("Finished");
  case NW_TRAINER_FAILED:
    return _("Failed");
  default:
    return NULL;
  }
}

static void refresh(NwSession *session, Pill *pill)
{
  const NwSessionProgress *p = nw_session_progress(session);
  const char *words = state_words(nw_session_state(session));
  gtk_widget_set_visible(pill->button, nw_session_run(session) != NULL);
  gint64 epoch = MIN(p->epoch + (p->epoch < p->epochs ? 1 : 0), p->epochs);
  g_autofree char *where = pill->narrow    ? g_strdup_printf("%d/%d", (int)epoch, (int)p->epochs)
                           : words != NULL ? g_strdup(words)
                                           : g_strdup_printf(_("Epoch %d/%d"), (int)epoch, (int)p->epochs);
  g_autofree char *text = isnan(p->best_val_accuracy) || pill->narrow
                              ? g_strdup(where)
                              : g_strdup_printf("%s  %.1f\u00a0%%", where, p->best_val_accuracy * 100);
  if (g_strcmp0(gtk_label_get_text(GTK_LABEL(pill->label)), text) != 0)
    gtk_label_set_text(GTK_LABEL(pill->label), text);
  gtk_widget_queue_draw(pill->ring);
}

void nw_run_pill_set_narrow(GtkWidget *widget, gboolean narrow)
{
  Pill *pill = g_object_get_data(G_OBJECT(widget), "pill");
  pill->narrow = narrow;
  refresh(pill->session, pill);
}

static void pill_free(gpointer data)
{
  Pill *pill = data;
  g_signal_handlers_disconnect_by_data(pill->session, pill);
  g_object_unref(pill->session);
  g_free(pill);
}

GtkWidget *nw_run_pill_new(NwSession *session)
{
  Pill *pill = g_new0(Pill, 1);
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 7);
  pill->session = g_object_ref(session);
  pill->button = gtk_button_new();
  pill->ring = gtk_drawing_area_new();
  pill->label = gtk_label_new(NULL);
  gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(pill->ring), 16);
  gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(pill->ring), 16);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(pill->ring), draw, pill, NULL);
  gtk_widget_set_valign(pill->ring, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class(pill->label, "numeric");
  gtk_box_append(GTK_BOX(box), pill->ring);
  gtk_box_append(GTK_BOX(box), pill->label);
  gtk_button_set_child(GTK_BUTTON(pill->button), box);
  gtk_widget_add_css_class(pill->button, "run-pill");
  gtk_widget_set_valign(pill->button, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text(pill->button, _("To the training (Alt+3)"));
  gtk_actionable_set_detailed_action_name(GTK_ACTIONABLE(pill->button), "win.page::train");
  g_object_set_data_full(G_OBJECT(pill->button), "pill", pill, pill_free);
  g_signal_connect(session, "progress", G_CALLBACK(refresh), pill);
  g_signal_connect(session, "state-changed", G_CALLBACK(refresh), pill);
  refresh(session, pill);
  return pill->button;
}
