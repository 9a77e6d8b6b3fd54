/* One row of a boxed list that edits one attribute, made from its NwAttr: label, tooltip, unit, range,
 * control. Used by every panel that shows settings, so that layers, optimizers, losses and schedules all look
 * and behave alike. */
#pragma once

#include <gtk/gtk.h>

#include "engine/op/attr.h"

/* Takes the new value as text (nw_attr_set_text's form). Anything but NW_OK marks the row and shows the
 * sentence. */
typedef NwStatus (*NwAttrRowSet)(const char *key, const char *text, NwError *error, gpointer data);

#define NW_TYPE_ATTR_ROW (nw_attr_row_get_type())
G_DECLARE_FINAL_TYPE(NwAttrRow, nw_attr_row, NW, ATTR_ROW, GtkListBoxRow)

/* attrs: where the first value is read from. key: what `set` is called with (NULL: attr->key). */
GtkWidget *nw_attr_row_new(const NwAttr *attr, const void *attrs, const char *key, NwAttrRowSet set,
                           gpointer data);
/* Shows the value of attrs; never calls set. */
void nw_attr_row_refresh(NwAttrRow *row, const void *attrs);
/* Pins a sentence to the row (NULL: clears it). */
void nw_attr_row_set_problem(NwAttrRow *row, const char *sentence);
const char *nw_attr_row_key(NwAttrRow *row);
