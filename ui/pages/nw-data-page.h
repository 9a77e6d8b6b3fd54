/* The Data page: the set at a glance, its pictures, and what the network sees of one. */
#pragma once

#include <gtk/gtk.h>

#include "app/project.h"

#define NW_TYPE_DATA_PAGE (nw_data_page_get_type())
G_DECLARE_FINAL_TYPE(NwDataPage, nw_data_page, NW, DATA_PAGE, GtkWidget)

GtkWidget *nw_data_page_new(NwProject *project);
/* Reads a folder or an archive and takes it as the project's data set, with progress on the page. */
void nw_data_page_open(NwDataPage *page, const char *path);
/* The file chooser for a folder. */
void nw_data_page_choose(NwDataPage *page);
void nw_data_page_set_narrow(NwDataPage *page, gboolean narrow);
