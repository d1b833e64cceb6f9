/* Preloaded: one call to the system on a file below $FAULT_FOLDER fails, or does less than asked. FAULT_CALL: its name; FAULT_AT: which one
   of this process, from 1; FAULT_HOW: a number of errno, "short", or "stop":
   the process stops; FAULT_RANK: the rank that it happens in. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static int is_below(const char* path) {
  const char* folder = getenv("FAULT_FOLDER");
  return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_of_folder(int fd) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(name, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return is_below(path);
}

/* 0: as asked, -1: less of it, otherwise what errno becomes. */
static int fault(const char* call, int concerned) {
  const char *wanted = getenv("FAULT_CALL"), *rank = getenv("FAULT_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK");
  if (!concerned || wanted == NULL || own == NULL || strcmp(wanted, call) != 0 || strcmp(rank, own) != 0) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != atol(getenv("FAULT_AT"))) return 0;
  const char* how = getenv("FAULT_HOW");
  const char* mark = getenv("FAULT_MARK");
  if (mark != NULL) close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  if (strcmp(how, "stop") == 0) kill(getpid(), SIGSTOP);
  return strcmp(how, "short") == 0 ? -1 : atoi(how);
}

#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))
#define TRANSFER(name, pointer)                                                                             \
  ssize_t name(int fd, pointer bytes, size_t count, off_t at) {                                             \
    const int what = fault(#name[1] == 'r' ? "pread" : "pwrite", is_of_folder(fd));                         \
    if (what > 0) return errno = what, -1;                                                                  \
    return REAL(#name, ssize_t, int, pointer, size_t, off_t)(fd, bytes, what < 0 ? (count + 1) / 2 : count, at); \
  }
TRANSFER(pread, void*)
TRANSFER(pread64, void*)
TRANSFER(pwrite, const void*)
TRANSFER(pwrite64, const void*)

#define STREAM(name, pointer)                                                                            \
  ssize_t name(int fd, pointer bytes, size_t count) {                                                    \
    const int what = fault(#name, is_of_folder(fd));                                                     \
    if (what > 0) return errno = what, -1;                                                               \
    return REAL(#name, ssize_t, int, pointer, size_t)(fd, bytes, what < 0 ? (count + 1) / 2 : count);    \
  }
STREAM(read, void*)
STREAM(write, const void*)

#define ON_DESCRIPTOR(name, call, ...)                                    \
  int name(int fd, ##__VA_ARGS__) {                                       \
    const int what = fault(call, is_of_folder(fd));                       \
    if (what > 0) return errno = what, -1;
ON_DESCRIPTOR(fsync, "fsync") return REAL("fsync", int, int)(fd); }
ON_DESCRIPTOR(fdatasync, "fsync") return REAL("fdatasync", int, int)(fd); }
ON_DESCRIPTOR(ftruncate, "ftruncate", off_t size) return REAL("ftruncate", int, int, off_t)(fd, size); }
ON_DESCRIPTOR(ftruncate64, "ftruncate", off_t size) return REAL("ftruncate64", int, int, off_t)(fd, size); }
ON_DESCRIPTOR(fallocate, "fallocate", int mode, off_t at, off_t size) return REAL("fallocate", int, int, int, off_t, off_t)(fd, mode, at, size); }

int MPI_Finalize(void) {
  fault("MPI_Finalize", 1);
  return REAL("MPI_Finalize", int, void)();
}

int rename(const char* from, const char* to) {
  const int what = fault("rename", is_below(to) || to[0] != '/');
  if (what > 0) return errno = what, -1;
  return REAL("rename", int, const char*, const char*)(from, to);
}

int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  const int what = fault("rename", is_below(to) || to[0] != '/');
  if (what > 0) return errno = what, -1;
  return REAL("renameat2", int, int, const char*, int, const char*, unsigned)(a, from, b, to, flags);
}

int linkat(int a, const char* from, int b, const char* to, int flags) {
  const int what = fault("link", is_below(to) || to[0] != '/');
  if (what > 0) return errno = what, -1;
  return REAL("linkat", int, int, const char*, int, const char*, int)(a, from, b, to, flags);
}

static mode_t mode_of(int flags, va_list more) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? (mode_t)va_arg(more, int) : 0; }

#define OPEN(name)                                                        \
  int name(const char* path, int flags, ...) {                            \
    va_list more;                                                         \
    va_start(more, flags);                                                \
    const mode_t mode = mode_of(flags, more);                             \
    va_end(more);                                                         \
    const int what = fault("open", is_below(path) || path[0] != '/');     \
    if (what > 0) return errno = what, -1;                                \
    return REAL(#name, int, const char*, int, ...)(path, flags, mode);    \
  }
OPEN(open)
OPEN(open64)
