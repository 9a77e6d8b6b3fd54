/* Undo as states: each step keeps the network, the preprocessing and the settings as they were, as text. A
 * text of a network of a hundred blocks is some 20 kB, and no edit can be forgotten in it. */
#include <string.h>

#include "app/project-internal.h"
#include "engine/base/memory.h"

enum { STEPS_MAX = 200 };

typedef struct NwUndoStep {
  char *label, *merge;
  char *state; /* undo: before the step; redo: after it. nw_free */
} NwUndoStep;

void nw_undo_step_free(gpointer data)
{
  NwUndoStep *step = data;
  g_free(step->label);
  g_free(step->merge);
  nw_free(step->state);
  g_free(step);
}

void nw_undo_clear(NwProject *project)
{
  g_ptr_array_set_size(project->undo, 0);
  g_ptr_array_set_size(project->redo, 0);
}

static void push(GPtrArray *stack, const char *label, const char *merge, char *state)
{
  NwUndoStep *step = g_new0(NwUndoStep, 1);
  step->label = g_strdup(label);
  step->merge = g_strdup(merge);
  step->state = state;
  g_ptr_array_add(stack, step);
  if (stack->len > STEPS_MAX)
    g_ptr_array_remove_index(stack, 0);
}

static NwUndoStep *top(GPtrArray *stack)
{
  return stack->len > 0 ? g_ptr_array_index(stack, stack->len - 1) : NULL;
}

NwEdit nw_edit_begin(NwProject *project)
{
  return (NwEdit){.before = nw_project_state_text(project)};
}

static void keep_step(NwProject *project, NwEdit *edit, const char *label, const char *merge)
{
  gboolean in_group = project->group_depth > 0;
  NwUndoStep *last = top(project->undo);
  gboolean merged = in_group ? project->group_taken
                             : merge != NULL && last != NULL && g_strcmp0(last->merge, merge) == 0 &&
                                   project->redo->len == 0;
  if (merged)
    nw_free(edit->before);
  else
    push(project->undo, in_group ? project->group_label : label, in_group ? NULL : merge, edit->before);
  if (in_group)
    project->group_taken = TRUE;
  g_ptr_array_set_size(project->redo, 0);
}

NwStatus nw_edit_end(NwProject *project, NwEdit *edit, NwStatus status, const char *label, const char *merge,
                     NwProjectSignal what)
{
  char *after = nw_project_state_text(project);
  gboolean same = edit->before != NULL && after != NULL && strcmp(edit->before, after) == 0;
  nw_free(after);
  if (status != NW_OK && !same && edit->before != NULL)
    nw_project_restore_text(project, edit->before);
  if (status != NW_OK || same || edit->before == NULL) {
    nw_free(edit->before);
    return status;
  }
  keep_step(project, edit, label, merge);
  nw_project_check(project);
  nw_project_emit(project, what);
  nw_project_emit(project, NW_HISTORY_CHANGED);
  return NW_OK;
}

void nw_project_begin_group(NwProject *project, const char *label)
{
  if (project->group_depth++ > 0)
    return;
  g_free(project->group_label);
  project->group_label = g_strdup(label);
  project->group_taken = FALSE;
}

void nw_project_end_group(NwProject *project)
{
  g_return_if_fail(project->group_depth > 0);
  project->group_depth--;
}

static gboolean move(NwProject *project, GPtrArray *from, GPtrArray *to)
{
  NwUndoStep *step = top(from);
  if (step == NULL || project->group_depth > 0)
    return FALSE;
  char *now = nw_project_state_text(project);
  if (now == NULL || !nw_project_restore_text(project, step->state)) {
    nw_free(now);
    return FALSE;
  }
  push(to, step->label, NULL, now);
  g_ptr_array_set_size(from, (gint)from->len - 1);
  nw_project_check(project);
  nw_project_emit(project, NW_NETWORK_CHANGED);
  nw_project_emit(project, NW_SETTINGS_CHANGED);
  nw_project_emit(project, NW_HISTORY_CHANGED);
  return TRUE;
}

gboolean nw_project_undo(NwProject *project)
{
  return move(project, project->undo, project->redo);
}

gboolean nw_project_redo(NwProject *project)
{
  return move(project, project->redo, project->undo);
}

const char *nw_project_undo_label(NwProject *project)
{
  return project->undo->len > 0 ? top(project->undo)->label : NULL;
}

const char *nw_project_redo_label(NwProject *project)
{
  return project->redo->len > 0 ? top(project->redo)->label : NULL;
}
