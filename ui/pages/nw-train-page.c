#include "ui/pages/nw-train-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/pages/nw-train-charts.h"
#include "ui/panels/nw-train-settings.h"
#include "ui/widgets/nw-text.h"
#include "ui/widgets/nw-tile.h"

struct _NwTrainPage {
  GtkWidget parent;
  NwProject *project;
  NwSession *session;
  NwHistory *history;
  GtkWidget *box, *panel, *tiles;
  NwTile *epoch, *loss, *accuracy, *best, *rate, *left;
  GtkWidget *charts, *settings;
  GtkWidget *state_icon, *title, *subtitle;
  GtkWidget *train, *again, *pause, *resume, *stop, *obstacle, *controls;
  guint settling; /* while the buttons change under the pointer, a late click must not start a run */
  GtkWidget *log, *log_line, *log_text;
  GtkWidget *memory, *live, *live_rate;
  gint64 filled;  /* when the figures were last drawn */
  char *run_name; /* of the run shown: "wide stem" or "Run 24" */
  gulong handlers[6];
};

G_DEFINE_FINAL_TYPE(NwTrainPage, nw_train_page, GTK_TYPE_WIDGET)

/* ---- what a state looks like ---- */

typedef struct StateLook {
  const char *icon, *words, *tone;
} StateLook;

static StateLook look_of(NwTrainerState state)
{
  switch (state) {
  case NW_TRAINER_RUNNING:
    return (StateLook){"media-playback-start-symbolic", N_("running"), "ok"};
  case NW_TRAINER_PAUSED:
    return (StateLook){"media-playback-pause-symbolic", N_("paused"), "dim"};
  case NW_TRAINER_STOPPING:
    return (StateLook){"content-loading-symbolic", N_("stopping"), "dim"};
  case NW_TRAINER_STOPPED:
    return (StateLook){"media-playback-stop-symbolic", N_("stopped; it can be resumed"), "dim"};
  case NW_TRAINER_FINISHED:
    return (StateLook){"object-select-symbolic", N_("finished"), "ok"};
  case NW_TRAINER_FAILED:
    return (StateLook){"dialog-error-symbolic", N_("failed"), "err"};
  case NW_TRAINER_NEW:
    break;
  }
  return (StateLook){"media-playback-start-symbolic", N_("ready"), "dim"};
}

static void set_tone(GtkWidget *widget, const char *tone)
{
  static const char *const tones[] = {"ok", "warn", "err", "dim"};
  for (guint i = 0; i < G_N_ELEMENTS(tones); i++)
    gtk_widget_remove_css_class(widget, tones[i]);
  gtk_widget_add_css_class(widget, tone);
}

static double last_of(NwTrainPage *self, const char *metric)
{
  const GArray *points = nw_session_series(self->session, metric);
  return points != NULL && points->len > 0 ? g_array_index(points, NwMetricPoint, points->len - 1).value
                                           : NAN;
}

/* ---- filling ---- */

static void fill_epoch(NwTrainPage *self, const NwSessionProgress *p)
{
  gint64 shown = MIN(p->epoch + (p->batch < p->batches || p->epoch == 0 ? 1 : 0), p->epochs);
  g_autofree char *value = g_strdup_printf("%" G_GINT64_FORMAT, MAX(shown, p->epoch));
  g_autofree char *unit = g_strdup_printf(_("of %d"), (int)p->epochs);
  nw_tile_set(self->epoch, value, unit);
  double done =
      (double)p->epoch + (p->batches > 0 && p->epoch < p->epochs ? (double)p->batch / (double)p->batches : 0);
  nw_tile_set_share(self->epoch, p->epochs > 0 ? done / (double)p->epochs : 0);
}

static void fill_validation(NwTrainPage *self, const NwSessionProgress *p)
{
  double val = last_of(self, "val_accuracy");
  if (isnan(val)) {
    nw_tile_set(self->accuracy, "–", NULL);
    nw_tile_set_note(self->accuracy, _("after the first epoch"), "");
  } else {
    g_autofree char *value = g_strdup_printf("%.1f", val * 100);
    nw_tile_set(self->accuracy, value, "%");
    double below = p->best_val_accuracy - val;
    g_autofree char *note = below < 5e-4 ? g_strdup(_("the best so far"))
                                         : g_strdup_printf(_("▼ %.1f below the best"), below * 100);
    nw_tile_set_note(self->accuracy, note, below < 5e-4 ? "ok" : "warn");
  }
  if (isnan(p->best_val_accuracy)) {
    nw_tile_set(self->best, "–", NULL);
    nw_tile_set_note(self->best, "", "");
  } else {
    g_autofree char *value = g_strdup_printf("%.1f", p->best_val_accuracy * 100);
    g_autofree char *note = g_strdup_printf(_("validation, epoch %d"), (int)p->best_epoch);
    nw_tile_set(self->best, value, "%");
    nw_tile_set_note(self->best, note, "");
  }
}

static void fill_speed(NwTrainPage *self, const NwSessionProgress *p, gboolean active)
{
  g_autofree char *rate = nw_text_count(llround(p->pictures_per_s));
  nw_tile_set(self->rate, p->pictures_per_s > 0 ? rate : "–", NULL);
  g_autofree char *replaced = g_strdup_printf(
      g_dngettext(NULL, "%u picture could not be read", "%u pictures could not be read", p->replaced),
      p->replaced);
  nw_tile_set_note(self->rate, p->replaced > 0 ? replaced : "", p->replaced > 0 ? "warn" : "");
  g_autofree char *spent = nw_text_duration(p->seconds);
  g_autofree char *note = g_strdup_printf(_("%s so far"), spent);
  g_autofree char *clock = active ? nw_text_clock(p->seconds_left) : nw_text_clock(p->seconds);
  nw_tile_set(self->left, clock, NULL);
  nw_tile_set_note(self->left, active ? note : _("the whole training"), "");
}

static void fill_figures(NwTrainPage *self)
{
  const NwSessionProgress *p = nw_session_progress(self->session);
  if (p == NULL || nw_session_run(self->session) == NULL)
    return;
  fill_epoch(self, p);
  g_autofree char *loss = nw_text_number(p->loss);
  nw_tile_set(self->loss, loss, NULL);
  double epoch_loss = last_of(self, "epoch_train_loss");
  g_autofree char *mean = nw_text_number(epoch_loss);
  g_autofree char *note =
      isnan(epoch_loss) ? g_strdup("") : g_strdup_printf(_("%s over the last epoch"), mean);
  nw_tile_set_note(self->loss, note, "");
  fill_validation(self, p);
  fill_speed(self, p, nw_session_is_active(self->session));
}

static char *subtitle(NwTrainPage *self, NwTrainerState state)
{
  const NwError *error = nw_session_error(self->session);
  if (state == NW_TRAINER_FAILED && error != NULL)
    return g_strdup(error->text);
  return self->run_name == NULL ? g_strdup(_("Nothing is being trained"))
                                : g_strdup_printf("%s · %s", self->run_name, _(look_of(state).words));
}

static void name_run(NwTrainPage *self)
{
  const char *run = nw_session_run(self->session);
  NwRunInfo *info = NULL;
  NwError error = {0};
  g_clear_pointer(&self->run_name, g_free);
  if (run == NULL)
    return;
  if (nw_history_find(self->history, run, &info, &error) != NW_OK)
    self->run_name = g_strdup(run);
  else
    self->run_name = info->name != NULL && *info->name != '\0'
                         ? g_strdup_printf(_("Run %d · %s"), (int)info->number, info->name)
                         : g_strdup_printf(_("Run %d"), (int)info->number);
  nw_run_info_free(info);
}

static void on_live_rate(GtkWidget *widget, NwTrainPage *self)
{
  char *end;
  const char *text = gtk_editable_get_text(GTK_EDITABLE(self->live_rate));
  double rate = g_ascii_strtod(text, &end);
  gboolean ok = end != text && *end == '\0' && isfinite(rate) && rate > 0 && rate <= 100;
  if (ok)
    gtk_widget_remove_css_class(self->live_rate, "error");
  else
    gtk_widget_add_css_class(self->live_rate, "error");
  if (ok && nw_session_is_active(self->session))
    nw_session_set_lr(self->session, rate);
}

static void fill_memory(NwTrainPage *self)
{
  const NwNetworkReport *report = nw_project_report(self->project);
  if (report == NULL)
    return;
  g_autofree char *parameters = nw_text_count(report->parameters);
  g_autofree char *bytes = nw_text_bytes((double)report->training_bytes);
  g_autofree char *text = g_strdup_printf(_("%s parameters · about %s of memory at batch %d"), parameters,
                                          bytes, (int)nw_project_config(self->project)->batch_size);
  gtk_label_set_text(GTK_LABEL(self->memory), text);
}

enum { SETTLE_MS = 900 };

static gboolean on_settled(gpointer data)
{
  NwTrainPage *self = data;
  self->settling = 0;
  gtk_widget_set_sensitive(self->controls, TRUE);
  return G_SOURCE_REMOVE;
}

static void show_controls(NwTrainPage *self, gboolean active, NwTrainerState state)
{
  gboolean resumable = !active && (state == NW_TRAINER_STOPPED || state == NW_TRAINER_FAILED);
  if (!active && gtk_widget_get_visible(self->stop) && self->settling == 0) {
    gtk_widget_set_sensitive(self->controls, FALSE);
    self->settling = g_timeout_add(SETTLE_MS, on_settled, self);
  }
  gtk_widget_set_visible(self->again, resumable);
  gtk_widget_set_visible(self->train, !active);
  if (resumable) /* one blue button */
    gtk_widget_remove_css_class(self->train, "suggested-action");
  else
    gtk_widget_add_css_class(self->train, "suggested-action");
  gtk_widget_set_visible(self->pause, active && state != NW_TRAINER_PAUSED);
  gtk_widget_set_sensitive(self->pause, state == NW_TRAINER_RUNNING);
  gtk_widget_set_visible(self->resume, active && state == NW_TRAINER_PAUSED);
  gtk_widget_set_visible(self->stop, active);
  gtk_widget_set_sensitive(self->stop, state != NW_TRAINER_STOPPING);
}

static void fill_state(NwTrainPage *self)
{
  gboolean active = nw_session_is_active(self->session);
  NwTrainerState state = nw_session_state(self->session);
  StateLook look = look_of(state);
  name_run(self);
  if (active && !gtk_widget_get_visible(self->live)) {
    char rate[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(rate, sizeof rate, "%.6g", nw_project_config(self->project)->lr);
    gtk_editable_set_text(GTK_EDITABLE(self->live_rate), rate);
  }
  gtk_widget_set_visible(self->live, active);
  gtk_image_set_from_icon_name(GTK_IMAGE(self->state_icon), look.icon);
  set_tone(self->state_icon, look.tone);
  gtk_label_set_text(GTK_LABEL(self->title), nw_project_name(self->project));
  g_autofree char *words = subtitle(self, state);
  gtk_label_set_text(GTK_LABEL(self->subtitle), words);

  const char *obstacle = active ? NULL : nw_project_obstacle(self->project, NULL);
  gtk_label_set_text(GTK_LABEL(self->obstacle), obstacle != NULL ? obstacle : "");
  gtk_widget_set_visible(self->obstacle, obstacle != NULL);
  show_controls(self, active, state);
  nw_train_settings_set_locked(NW_TRAIN_SETTINGS(self->settings), active);
  fill_memory(self);
  fill_figures(self);
}

/* ---- listening ---- */

static void add_log(NwTrainPage *self, const char *text)
{
  g_autoptr(GDateTime) now = g_date_time_new_now_local();
  g_autofree char *time = g_date_time_format(now, "%H:%M:%S");
  g_autofree char *line = g_strdup_printf("%s  %s\n", time, text);
  GtkTextBuffer *buffer = gtk_text_view_get_buffer(GTK_TEXT_VIEW(self->log_text));
  GtkTextIter end;
  gtk_text_buffer_get_end_iter(buffer, &end);
  gtk_text_buffer_insert(buffer, &end, line, -1);
  gtk_label_set_text(GTK_LABEL(self->log_line), text);
}

/* Figures that change every frame cannot be read, and each change lays the window out anew. */
enum { FIGURES_EVERY = 250 * 1000 };

static void on_progress(NwSession *session, NwTrainPage *self)
{
  gint64 now = g_get_monotonic_time();
  if (now - self->filled < FIGURES_EVERY && nw_session_is_active(session))
    return;
  self->filled = now;
  fill_figures(self);
}

static void on_state(NwSession *session, NwTrainPage *self)
{
  fill_state(self);
  const char *run = nw_session_run(session);
  if (run != NULL && self->run_name != NULL) {
    g_autofree char *line =
        g_strdup_printf("%s: %s", self->run_name, _(look_of(nw_session_state(session)).words));
    add_log(self, line);
  }
}

static void on_remark(NwSession *session, const char *text, NwTrainPage *self)
{
  add_log(self, text);
}

static void on_project(NwProject *project, NwTrainPage *self)
{
  if (!nw_session_is_active(self->session))
    fill_state(self);
}

static void on_smoothing(GtkRange *range, NwTrainPage *self)
{
  nw_train_charts_set_smoothing(NW_TRAIN_CHARTS(self->charts), gtk_range_get_value(range));
}

static void on_copy(GtkButton *button, NwTrainPage *self)
{
  g_autofree char *csv = nw_train_charts_csv(NW_TRAIN_CHARTS(self->charts));
  gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), csv);
}

/* ---- building ---- */

static GtkWidget *left_label(const char *css)
{
  GtkWidget *label = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_widget_add_css_class(label, css);
  return label;
}

static GtkWidget *build_tiles(NwTrainPage *self)
{
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
  gtk_box_set_homogeneous(GTK_BOX(row), TRUE);
  struct {
    NwTile **tile;
    const char *label;
  } tiles[] = {{&self->epoch, _("Epoch")},
               {&self->loss, _("Training loss")},
               {&self->accuracy, _("Validation accuracy")},
               {&self->best, _("Best so far")},
               {&self->rate, _("Pictures a second")},
               {&self->left, _("Time left")}};
  for (guint i = 0; i < G_N_ELEMENTS(tiles); i++) {
    *tiles[i].tile = NW_TILE(nw_tile_new(tiles[i].label));
    gtk_box_append(GTK_BOX(row), GTK_WIDGET(*tiles[i].tile));
  }
  return row;
}

static GtkWidget *build_bottom(NwTrainPage *self)
{
  GtkWidget *all = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
  self->log = gtk_toggle_button_new_with_label(_("Log"));
  gtk_widget_add_css_class(self->log, "flat");
  gtk_widget_add_css_class(self->log, "lean");
  self->log_line = left_label("dim");
  gtk_label_set_ellipsize(GTK_LABEL(self->log_line), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(self->log_line, TRUE);
  GtkWidget *smoothing = gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0, 0.99, 0.01);
  gtk_range_set_value(GTK_RANGE(smoothing), 0.9);
  gtk_scale_set_draw_value(GTK_SCALE(smoothing), TRUE);
  gtk_scale_set_digits(GTK_SCALE(smoothing), 2);
  gtk_scale_set_value_pos(GTK_SCALE(smoothing), GTK_POS_RIGHT);
  gtk_widget_set_size_request(smoothing, 150, -1);
  gtk_widget_add_css_class(smoothing, "numeric");
  gtk_accessible_update_property(GTK_ACCESSIBLE(smoothing), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Smoothing"),
                                 -1);
  g_signal_connect(smoothing, "value-changed", G_CALLBACK(on_smoothing), self);
  GtkWidget *copy = gtk_button_new_from_icon_name("edit-copy-symbolic");
  gtk_widget_add_css_class(copy, "flat");
  gtk_widget_set_tooltip_text(copy, _("Copy all points as comma-separated values"));
  g_signal_connect(copy, "clicked", G_CALLBACK(on_copy), self);
  gtk_box_append(GTK_BOX(row), self->log);
  gtk_box_append(GTK_BOX(row), self->log_line);
  GtkWidget *name = left_label("dim");
  gtk_label_set_text(GTK_LABEL(name), _("Smoothing"));
  gtk_box_append(GTK_BOX(row), name);
  gtk_box_append(GTK_BOX(row), smoothing);
  gtk_box_append(GTK_BOX(row), copy);

  self->log_text = gtk_text_view_new();
  gtk_text_view_set_editable(GTK_TEXT_VIEW(self->log_text), FALSE);
  gtk_text_view_set_cursor_visible(GTK_TEXT_VIEW(self->log_text), FALSE);
  gtk_text_view_set_wrap_mode(GTK_TEXT_VIEW(self->log_text), GTK_WRAP_WORD_CHAR);
  gtk_widget_add_css_class(self->log_text, "log");
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), self->log_text);
  gtk_widget_set_size_request(scroll, -1, 120);
  GtkWidget *revealer = gtk_revealer_new();
  gtk_revealer_set_child(GTK_REVEALER(revealer), scroll);
  g_object_bind_property(self->log, "active", revealer, "reveal-child", G_BINDING_SYNC_CREATE);
  gtk_box_append(GTK_BOX(all), row);
  gtk_box_append(GTK_BOX(all), revealer);
  return all;
}

static GtkWidget *action_button(const char *icon, const char *label, const char *action, const char *css)
{
  GtkWidget *button = gtk_button_new();
  GtkWidget *content = adw_button_content_new();
  adw_button_content_set_icon_name(ADW_BUTTON_CONTENT(content), icon);
  adw_button_content_set_label(ADW_BUTTON_CONTENT(content), label);
  gtk_button_set_child(GTK_BUTTON(button), content);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
  gtk_widget_set_hexpand(button, TRUE);
  if (css != NULL)
    gtk_widget_add_css_class(button, css);
  return button;
}

static GtkWidget *build_head(NwTrainPage *self)
{
  GtkWidget *head = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);
  gtk_widget_add_css_class(head, "panel-head");
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
  self->state_icon = gtk_image_new();
  gtk_widget_set_valign(self->state_icon, GTK_ALIGN_START);
  gtk_widget_set_margin_top(self->state_icon, 3);
  GtkWidget *words = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  self->title = left_label("card-title");
  gtk_label_set_ellipsize(GTK_LABEL(self->title), PANGO_ELLIPSIZE_END);
  self->subtitle = left_label("dim");
  gtk_label_set_wrap(GTK_LABEL(self->subtitle), TRUE);
  gtk_widget_set_hexpand(words, TRUE);
  gtk_box_append(GTK_BOX(words), self->title);
  gtk_box_append(GTK_BOX(words), self->subtitle);
  gtk_box_append(GTK_BOX(line), self->state_icon);
  gtk_box_append(GTK_BOX(line), words);
  gtk_box_append(GTK_BOX(head), line);

  self->controls = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  self->train = action_button("media-playback-start-symbolic", _("Train"), "win.train", "suggested-action");
  gtk_widget_set_tooltip_text(self->train, _("Start a new run (F5)"));
  self->again =
      action_button("media-playback-start-symbolic", _("Resume"), "win.resume-run", "suggested-action");
  gtk_widget_set_tooltip_text(self->again, _("Go on exactly where the last checkpoint stood"));
  self->pause = action_button("media-playback-pause-symbolic", _("Pause"), "win.pause", NULL);
  self->resume = action_button("media-playback-start-symbolic", _("Continue"), "win.continue", NULL);
  self->stop = action_button("media-playback-stop-symbolic", _("Stop"), "win.stop", "stop");
  gtk_widget_set_tooltip_text(self->stop, _("Stops within one batch; everything is kept and can be resumed"));
  GtkWidget *buttons[] = {self->again, self->train, self->pause, self->resume, self->stop};
  for (guint i = 0; i < G_N_ELEMENTS(buttons); i++)
    gtk_box_append(GTK_BOX(self->controls), buttons[i]);
  gtk_box_append(GTK_BOX(head), self->controls);
  self->obstacle = left_label("warn");
  gtk_label_set_wrap(GTK_LABEL(self->obstacle), TRUE);
  gtk_box_append(GTK_BOX(head), self->obstacle);
  return head;
}

/* What may still change while a run goes on; the rest of the settings is what it was started with. */
static GtkWidget *build_live(NwTrainPage *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *list = gtk_list_box_new();
  GtkWidget *title = left_label("section"), *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *name = left_label("body"), *row = gtk_list_box_row_new();
  gtk_label_set_text(GTK_LABEL(title), _("Change while training"));
  gtk_label_set_text(GTK_LABEL(name), _("Base learning rate"));
  gtk_widget_set_hexpand(name, TRUE);
  self->live_rate = gtk_entry_new();
  gtk_entry_set_has_frame(GTK_ENTRY(self->live_rate), FALSE);
  gtk_editable_set_width_chars(GTK_EDITABLE(self->live_rate), 8);
  gtk_editable_set_max_width_chars(GTK_EDITABLE(self->live_rate), 10);
  gtk_editable_set_alignment(GTK_EDITABLE(self->live_rate), 1);
  gtk_widget_add_css_class(self->live_rate, "numeric");
  gtk_widget_set_valign(self->live_rate, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text(row, _("Enter takes effect with the next batch; the schedule goes on from it"));
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->live_rate), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Base learning rate"), -1);
  g_signal_connect(self->live_rate, "activate", G_CALLBACK(on_live_rate), self);
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class(list, "boxed-list");
  gtk_widget_add_css_class(row, "prop");
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), FALSE);
  gtk_box_append(GTK_BOX(line), name);
  gtk_box_append(GTK_BOX(line), self->live_rate);
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), line);
  gtk_list_box_append(GTK_LIST_BOX(list), row);
  gtk_box_append(GTK_BOX(box), title);
  gtk_box_append(GTK_BOX(box), list);
  gtk_widget_set_visible(box, FALSE);
  return box;
}

static GtkWidget *build_panel(NwTrainPage *self)
{
  GtkWidget *panel = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_add_css_class(panel, "side-panel");
  gtk_widget_set_hexpand(panel, FALSE);
  gtk_widget_set_size_request(panel, 312, -1);
  gtk_box_append(GTK_BOX(panel), build_head(self));
  gtk_box_append(GTK_BOX(panel), gtk_separator_new(GTK_ORIENTATION_HORIZONTAL));
  GtkWidget *inside = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_add_css_class(inside, "panel-body");
  self->live = build_live(self);
  gtk_box_append(GTK_BOX(inside), self->live);
  self->settings = nw_train_settings_new(self->project);
  gtk_box_append(GTK_BOX(inside), self->settings);
  self->memory = left_label("dim");
  gtk_label_set_wrap(GTK_LABEL(self->memory), TRUE);
  gtk_widget_set_margin_top(self->memory, 12);
  gtk_box_append(GTK_BOX(inside), self->memory);
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), inside);
  gtk_widget_set_vexpand(scroll, TRUE);
  gtk_box_append(GTK_BOX(panel), scroll);
  return panel;
}

/* ---- object ---- */

void nw_train_page_set_narrow(NwTrainPage *page, gboolean narrow)
{
  gtk_widget_set_size_request(page->panel, narrow ? 270 : 312, -1);
  /* Six tiles do not fit beside the panel: the two that the header's pill also shows go. */
  gtk_widget_set_visible(GTK_WIDGET(page->best), !narrow);
  gtk_widget_set_visible(GTK_WIDGET(page->epoch), !narrow);
}

static void nw_train_page_dispose(GObject *object)
{
  NwTrainPage *self = NW_TRAIN_PAGE(object);
  g_clear_handle_id(&self->settling, g_source_remove);
  for (guint i = 0; i < 3; i++)
    g_clear_signal_handler(&self->handlers[i], self->session);
  for (guint i = 3; i < 6; i++)
    g_clear_signal_handler(&self->handlers[i], self->project);
  g_clear_pointer(&self->box, gtk_widget_unparent);
  g_clear_pointer(&self->run_name, g_free);
  g_clear_object(&self->session);
  g_clear_object(&self->project);
  G_OBJECT_CLASS(nw_train_page_parent_class)->dispose(object);
}

static void nw_train_page_class_init(NwTrainPageClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_train_page_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name(GTK_WIDGET_CLASS(klass), "trainpage");
}

static void nw_train_page_init(NwTrainPage *self)
{
  self->box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
}

GtkWidget *nw_train_page_new(NwProject *project, NwSession *session, NwHistory *history)
{
  NwTrainPage *self = g_object_new(NW_TYPE_TRAIN_PAGE, NULL);
  self->project = g_object_ref(project);
  self->session = g_object_ref(session);
  self->history = history;
  GtkWidget *main = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);
  gtk_widget_add_css_class(main, "page");
  gtk_widget_set_hexpand(main, TRUE);
  self->tiles = build_tiles(self);
  self->charts = nw_train_charts_new(project, session);
  gtk_widget_set_vexpand(self->charts, TRUE);
  gtk_box_append(GTK_BOX(main), self->tiles);
  gtk_box_append(GTK_BOX(main), self->charts);
  gtk_box_append(GTK_BOX(main), build_bottom(self));
  self->panel = build_panel(self);
  gtk_box_append(GTK_BOX(self->box), main);
  gtk_box_append(GTK_BOX(self->box), self->panel);
  self->handlers[0] = g_signal_connect(session, "progress", G_CALLBACK(on_progress), self);
  self->handlers[1] = g_signal_connect(session, "state-changed", G_CALLBACK(on_state), self);
  self->handlers[2] = g_signal_connect(session, "remark", G_CALLBACK(on_remark), self);
  self->handlers[3] = g_signal_connect(project, "network-changed", G_CALLBACK(on_project), self);
  self->handlers[4] = g_signal_connect(project, "dataset-changed", G_CALLBACK(on_project), self);
  self->handlers[5] = g_signal_connect(project, "settings-changed", G_CALLBACK(on_project), self);
  fill_state(self);
  return GTK_WIDGET(self);
}
