/* The window's way to the small settings that storage keeps. */
#pragma once

#include "storage/settings.h"
