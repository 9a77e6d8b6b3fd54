#include "engine/io/map-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

NwStatus nw_map_file(const char *path, size_t least, const char *kind, NwMappedFile *out, NwError *error)
{
  *out = (NwMappedFile){0};
  /* a pipe must not make us wait for its writer before it is refused */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return nw_fail_errno(error, errno, "The file %s cannot be opened", path);
  struct stat info;
  NwStatus status = NW_OK;
  if (fstat(fd, &info) != 0)
    status = nw_fail_errno(error, errno, "The file %s cannot be read", path);
  else if (!S_ISREG(info.st_mode))
    status = nw_fail(error, NW_BAD_FORMAT, "%s is not a file.", path);
  else if (info.st_size == 0 || (size_t)info.st_size < least)
    status = nw_fail(error, NW_BAD_FORMAT, "%s is not %s: it is %s.", path, kind,
                     info.st_size == 0 ? "empty" : "too short");
  if (status == NW_OK) {
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
      status = nw_fail_errno(error, errno, "The file %s cannot be read", path);
    else
      *out = (NwMappedFile){map, (size_t)info.st_size};
  }
  close(fd);
  return status;
}

void nw_unmap_file(NwMappedFile *file)
{
  if (file->bytes != NULL)
    munmap((void *)(uintptr_t)file->bytes, file->size);
  *file = (NwMappedFile){0};
}
