#include "engine/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/memory.h"

NwStatus nw_file_read(const char *path, size_t limit, char **data, size_t *length, NwError *error)
{
  *data = NULL;
  *length = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hang */
  if (fd < 0)
    return nw_fail_errno(error, errno, "Cannot open %s", path);
  struct stat info;
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    int problem = S_ISDIR(info.st_mode) ? EISDIR : errno;
    close(fd);
    return nw_fail_errno(error, problem, "Cannot read %s", path);
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return nw_fail(error, NW_BAD_FORMAT, "%s is a device or a pipe; a file is expected here", path);
  }
  if ((uint64_t)info.st_size > limit) {
    close(fd);
    return nw_fail(error, NW_BAD_FORMAT, "%s has %lld bytes; at most %zu are expected here", path,
                   (long long)info.st_size, limit);
  }
  size_t size = (size_t)info.st_size, done = 0;
  char *bytes = nw_alloc(size + 1);
  ssize_t n = 0;
  while (bytes != NULL && done < size) {
    n = read(fd, bytes + done, size - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += (size_t)n;
  }
  int problem = errno;
  close(fd);
  if (bytes == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to read %s (%zu bytes)", path, size);
  if (n < 0) {
    nw_free(bytes);
    return nw_fail_errno(error, problem, "Cannot read %s", path);
  }
  bytes[done] = '\0';
  *data = bytes;
  *length = done;
  return NW_OK;
}

/* ---- the kill hook of the crash tests ---- */

static pthread_mutex_t kill_lock = PTHREAD_MUTEX_INITIALIZER;
static char kill_moment[16];
static int kill_left;
static int kill_read_environment;

void nw_file_kill_after(const char *moment, int n)
{
  pthread_mutex_lock(&kill_lock);
  snprintf(kill_moment, sizeof kill_moment, "%s", moment);
  kill_left = n;
  kill_read_environment = 1;
  pthread_mutex_unlock(&kill_lock);
}

static void reached(const char *moment)
{
  pthread_mutex_lock(&kill_lock);
  if (!kill_read_environment) {
    const char *wish = getenv("NETWRIGHT_TEST_KILL_AFTER");
    const char *colon = wish != NULL ? strchr(wish, ':') : NULL;
    kill_read_environment = 1;
    if (colon != NULL && (size_t)(colon - wish) < sizeof kill_moment) {
      memcpy(kill_moment, wish, (size_t)(colon - wish));
      kill_left = atoi(colon + 1);
    }
  }
  if (kill_left > 0 && strcmp(kill_moment, moment) == 0 && --kill_left == 0)
    kill(getpid(), SIGKILL);
  pthread_mutex_unlock(&kill_lock);
}

/* ---- atomic writes ---- */

struct NwFileWriter {
  int fd;
  char *path, *temporary;
  size_t offset, buffered;
  NwError failure; /* status NW_OK: none; a file that lacks a piece is never put in place */
  unsigned char buffer[1 << 16];
};

static void writer_free(NwFileWriter *writer)
{
  if (writer->fd >= 0)
    close(writer->fd);
  nw_free(writer->path);
  nw_free(writer->temporary);
  nw_free(writer);
}

/* "<folder>/<name>": the folder to open and the name within it; false when there is no memory. */
static bool split_path(const char *path, char **folder, const char **name)
{
  const char *slash = strrchr(path, '/');
  *name = slash != NULL ? slash + 1 : path;
  *folder = nw_strdup(slash == NULL ? "." : path);
  if (*folder == NULL)
    return false;
  if (slash != NULL)
    (*folder)[slash == path ? 1 : slash - path] = '\0';
  return true;
}

void nw_file_sweep(const char *path)
{
  char *folder;
  const char *name;
  if (!split_path(path, &folder, &name))
    return;
  DIR *entries = opendir(folder);
  nw_free(folder);
  if (entries == NULL)
    return;
  size_t length = strlen(name);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (strncmp(entry->d_name, name, length) != 0 || strncmp(entry->d_name + length, ".tmp-", 5) != 0)
      continue;
    int fd = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
      continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) /* whoever wrote it is dead: the living hold the lock */
      unlinkat(dirfd(entries), entry->d_name, 0);
    close(fd);
  }
  closedir(entries);
}

/* Another process may sweep between the open and the lock; then the name is gone, and the next one is tried.
 */
static bool open_temporary(NwFileWriter *writer, size_t room)
{
  static _Atomic unsigned counter;
  for (;;) {
    struct stat info;
    snprintf(writer->temporary, room, "%s.tmp-%ld-%u", writer->path, (long)getpid(),
             atomic_fetch_add(&counter, 1));
    writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0)
      return false;
    if (flock(writer->fd, LOCK_EX | LOCK_NB) != 0 || fstat(writer->fd, &info) != 0 || info.st_nlink > 0)
      return true; /* a file system without locks: nobody can sweep there either */
    close(writer->fd);
  }
}

NwStatus nw_file_writer_open(const char *path, NwFileWriter **out, NwError *error)
{
  *out = NULL;
  size_t room = strlen(path) + 48;
  NwFileWriter *writer = nw_alloc(sizeof *writer);
  if (writer == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write %s", path);
  writer->fd = -1;
  writer->offset = writer->buffered = 0;
  writer->failure = (NwError){0};
  writer->path = nw_strdup(path);
  writer->temporary = nw_alloc(room);
  if (writer->path == NULL || writer->temporary == NULL) {
    writer_free(writer);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write %s", path);
  }
  nw_file_sweep(path);
  if (!open_temporary(writer, room)) {
    NwStatus status = nw_fail_errno(error, errno, "Cannot write %s", path);
    writer_free(writer);
    return status;
  }
  *out = writer;
  return NW_OK;
}

static NwStatus write_out(NwFileWriter *writer, const unsigned char *bytes, size_t n, NwError *error)
{
  while (n > 0) {
    ssize_t done = write(writer->fd, bytes, n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0) {
      nw_fail_errno(&writer->failure, errno, "Cannot write %s", writer->path);
      return nw_fail(error, writer->failure.status, "%s", writer->failure.text);
    }
    bytes += done;
    n -= (size_t)done;
  }
  return NW_OK;
}

NwStatus nw_file_writer_write(NwFileWriter *writer, const void *bytes, size_t n, NwError *error)
{
  if (writer->failure.status != NW_OK)
    return nw_fail(error, writer->failure.status, "%s", writer->failure.text);
  writer->offset += n;
  if (writer->buffered + n <= sizeof writer->buffer) {
    memcpy(writer->buffer + writer->buffered, bytes, n);
    writer->buffered += n;
    return NW_OK;
  }
  NW_TRY(write_out(writer, writer->buffer, writer->buffered, error));
  writer->buffered = 0;
  if (n >= sizeof writer->buffer)
    return write_out(writer, bytes, n, error);
  memcpy(writer->buffer, bytes, n);
  writer->buffered = n;
  return NW_OK;
}

size_t nw_file_writer_offset(const NwFileWriter *writer)
{
  return writer->offset;
}

/* Makes the rename itself survive a crash. Some file systems cannot sync a folder; that is no failure of the
 * write. */
static void sync_folder(const char *path)
{
  char *folder;
  const char *name;
  if (!split_path(path, &folder, &name))
    return;
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
  nw_free(folder);
}

NwStatus nw_file_writer_commit(NwFileWriter *writer, NwError *error)
{
  NwStatus status = writer->failure.status;
  if (status == NW_OK)
    status = write_out(writer, writer->buffer, writer->buffered, error);
  else
    nw_fail(error, status, "%s", writer->failure.text);
  reached("write");
  if (status == NW_OK && fsync(writer->fd) != 0)
    status = nw_fail_errno(error, errno, "Cannot write %s", writer->path);
  reached("fsync");
  if (status == NW_OK) {
    int closed = close(writer->fd);
    writer->fd = -1;
    if (closed != 0)
      status = nw_fail_errno(error, errno, "Cannot write %s", writer->path);
  }
  if (status == NW_OK && rename(writer->temporary, writer->path) != 0)
    status = nw_fail_errno(error, errno, "Cannot replace %s", writer->path);
  if (status != NW_OK) {
    unlink(writer->temporary);
    writer_free(writer);
    return status;
  }
  reached("rename");
  sync_folder(writer->path);
  reached("dirsync");
  writer_free(writer);
  return NW_OK;
}

void nw_file_writer_cancel(NwFileWriter *writer)
{
  if (writer == NULL)
    return;
  unlink(writer->temporary);
  writer_free(writer);
}

NwStatus nw_file_write(const char *path, const void *bytes, size_t n, NwError *error)
{
  NwFileWriter *writer;
  NW_TRY(nw_file_writer_open(path, &writer, error));
  NwStatus status = nw_file_writer_write(writer, bytes, n, error);
  if (status == NW_OK)
    return nw_file_writer_commit(writer, error);
  nw_file_writer_cancel(writer);
  return status;
}

NwStatus nw_make_folders(const char *path, NwError *error)
{
  char *partial = nw_strdup(path);
  if (partial == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to make the folder %s", path);
  NwStatus status = NW_OK;
  for (char *p = partial + 1; status == NW_OK; p++) {
    if (*p != '/' && *p != '\0')
      continue;
    char kept = *p;
    *p = '\0';
    struct stat info;
    if (mkdir(partial, 0777) != 0 && errno != EEXIST)
      status = nw_fail_errno(error, errno, "Cannot make the folder %s", partial);
    else if (stat(partial, &info) != 0 || !S_ISDIR(info.st_mode))
      status = nw_fail(error, NW_EXISTS, "%s is in the way: it is not a folder", partial);
    *p = kept;
    if (kept == '\0')
      break;
  }
  nw_free(partial);
  return status;
}
