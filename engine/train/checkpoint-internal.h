/* Shared by the writer and the reader of checkpoints. */
#pragma once

enum { NW_CHECKPOINT_FORMAT = 1 };
