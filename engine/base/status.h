/* Status codes and the caller-owned error sentence.
 *
 * Every engine function that can fail returns NwStatus and takes an NwError last. The error is a fixed-size value
 * owned by the caller, so running out of memory can be reported without memory. NULL is allowed for the error. */
#pragma once

#include <stdint.h>

/* One list; the enum and the names derive from it. */
#define NW_STATUS_MAP(X)                                                                                       \
  X(OK, "success")                                                                                             \
  X(NO_MEMORY, "out of memory")                                                                                \
  X(BAD_ARGUMENT, "invalid argument")                                                                          \
  X(BAD_SHAPE, "shapes do not fit")                                                                            \
  X(BAD_DTYPE, "data type not supported")                                                                      \
  X(BAD_STATE, "not possible in this state")                                                                   \
  X(BAD_FORMAT, "the file is not what it should be")                                                           \
  X(BAD_DATA, "the data set cannot be used")                                                                   \
  X(UNSUPPORTED, "not supported")                                                                              \
  X(NOT_FOUND, "not found")                                                                                    \
  X(EXISTS, "already exists")                                                                                  \
  X(TOO_NEW, "written by a newer version")                                                                     \
  X(IO, "reading or writing failed")                                                                           \
  X(NO_SPACE, "no space left on the disk")                                                                     \
  X(CANCELLED, "stopped")                                                                                      \
  X(BACKEND, "a compute library failed")                                                                       \
  X(INTERNAL, "internal error")

typedef enum NwStatus {
#define X(id, text) NW_##id,
  NW_STATUS_MAP(X)
#undef X
} NwStatus;

typedef struct NwError {
  NwStatus status;
  uint32_t block;    /* id of the block of the network at fault; 0: none */
  char property[48]; /* key of the property at fault; "": none */
  char text[512];    /* a sentence: what, where, what to do */
} NwError;

/* Short English name of a status; never NULL. */
const char *nw_status_text(NwStatus status);

/* Writes the sentence into error (when not NULL), clears block and property, and returns status, so that
 * `return nw_fail(error, NW_BAD_SHAPE, "...", ...)` reads well. */
NwStatus nw_fail(NwError *error, NwStatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As nw_fail for an attribute: also records which property is at fault. */
NwStatus nw_fail_property(NwError *error, NwStatus status, const char *property, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* As nw_fail for a failed system call: picks NW_NO_SPACE, NW_NOT_FOUND, NW_NO_MEMORY or NW_IO from errnum and ends
 * the sentence with strerror's words. */
NwStatus nw_fail_errno(NwError *error, int errnum, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts text and ": " before the sentence that is already there; returns error's status. */
NwStatus nw_error_prefix(NwError *error, NwStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns from the calling function when expr is not NW_OK. Where something must be freed, use `goto out`. */
#define NW_TRY(expr)                                                                                           \
  do {                                                                                                         \
    NwStatus nw_try_status_ = (expr);                                                                          \
    if (nw_try_status_ != NW_OK)                                                                               \
      return nw_try_status_;                                                                                   \
  } while (0)

#define NW_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Marks a text for translation without translating it (rows are static); xgettext knows it. To the letter as in
 * glib/gi18n.h, so that both can be included. */
#define N_(String) (String)
