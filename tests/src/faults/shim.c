/*
 * Stands between a process and the system: counts the storage calls on one directory, or those for memory, across all
 * threads, and at one of them kills the process, tears the write, or answers with an error. Written down, the calls tell what a disk would hold
 * if the power failed. Loaded by LD_PRELOAD; knows its task from the environment:
 *
 *   FAULTS_DIRECTORY  only paths that begin so are looked at
 *   FAULTS_CLASS      letters: w(rite), s(ync), n(ames: create, rename, link, remove, truncate), r(ead), o(pen); of memory,
 *                     m(aps), which the service's own allocator asks for, and a(llocations) of libraries in C, of
 *                     some size
 *   FAULTS_AT         the number of the call, from 1; 0: none
 *   FAULTS_ACT        kill, torn, short, or the number of an error
 *   FAULTS_WHILE      every call from FAULTS_AT on, for as long as this file is there
 *   FAULTS_RECORD     a file that gets every call of these classes before it is made (a sync: after it succeeded)
 *   FAULTS_DATA       set: writes are recorded with what they write
 *   FAULTS_LIE        set: a sync is answered and not made, nor recorded
 *   FAULTS_FILES      so many files may be open
 *   FAULTS_MEMORY     so many bytes of addresses may be in use
 *
 * A record is a line `number kind path a b`; behind that of a write with data stand its bytes and a line end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static const char *directory, *class, *act, *while_there;
static long at, number;
static int record = -1, with_data, lies, has_begun;

static void limit(int resource, const char *most) {
  if (!most) return;
  struct rlimit both = {strtoull(most, NULL, 10), strtoull(most, NULL, 10)};
  if (setrlimit(resource, &both)) _exit(96);
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTS_RECORD");
  directory = getenv("FAULTS_DIRECTORY");
  class = getenv("FAULTS_CLASS");
  act = getenv("FAULTS_ACT");
  while_there = getenv("FAULTS_WHILE");
  at = getenv("FAULTS_AT") ? atol(getenv("FAULTS_AT")) : 0;
  with_data = getenv("FAULTS_DATA") != NULL;
  lies = getenv("FAULTS_LIE") != NULL;
  if (!class) class = "wsn";
  if (directory && path)
    record = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  limit(RLIMIT_NOFILE, getenv("FAULTS_FILES"));
  limit(RLIMIT_AS, getenv("FAULTS_MEMORY"));
  has_begun = 1;
}

static int is_ours(const char *path) { return directory && path && !strncmp(path, directory, strlen(directory)); }

static int path_of(int fd, char *path, size_t size) {
  char link[32];
  if (!directory) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlink, link, path, size - 1);
  if (length < 0) return 0;
  path[length] = 0;
  /* What has no name any more can come back under none. */
  return is_ours(path) && !strstr(path, " (deleted)");
}

static void put(const void *bytes, size_t length) {
  const char *rest = bytes;
  while (length > 0) {
    ssize_t n = syscall(SYS_write, record, rest, length);
    if (n <= 0) _exit(97);
    rest += n;
    length -= (size_t)n;
  }
}

static void note(const char *kind, const char *path, const char *a, long long b, const void *data, size_t length) {
  char line[9000];
  if (record < 0) return;
  int n = snprintf(line, sizeof line, "%ld %s %s %s %lld\n", number, kind, path, a, b);
  put(line, (size_t)n);
  if (data && with_data) {
    put(data, length);
    put("\n", 1);
  }
}

enum fate { PASS, TEAR, SHORT, FAIL };

/* What becomes of this call; holds the turn from here until `done`. */
static enum fate meet(char kind) {
  pthread_mutex_lock(&turn);
  if (!strchr(class, kind)) return PASS;
  number++;
  int is_it = while_there ? at && number >= at && syscall(SYS_access, while_there, F_OK) == 0 : number == at;
  if (!is_it || !act) return PASS;
  if (!strcmp(act, "kill")) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (!strcmp(act, "torn")) return kind == 'w' ? TEAR : (kill(getpid(), SIGKILL), PASS);
  if (!strcmp(act, "short")) return kind == 'w' ? SHORT : PASS;
  errno = atoi(act);
  return FAIL;
}

static long done(long result) {
  int error = errno;
  pthread_mutex_unlock(&turn);
  errno = error;
  return result;
}

static long done_error(long result) { return result < 0 ? done(-1) : done(result); }

static ssize_t write_at(int fd, const void *data, size_t length, off64_t offset, int moves) {
  char path[4200], place[32];
  long call = moves ? SYS_write : SYS_pwrite64;
  if (!path_of(fd, path, sizeof path)) return syscall(call, fd, data, length, offset);
  enum fate fate = meet('w');
  if (fate == FAIL) return done(-1);
  if (moves) {
    struct stat64 now;
    int flags = fcntl(fd, F_GETFL);
    offset = flags & O_APPEND && !fstat64(fd, &now) ? now.st_size : lseek64(fd, 0, SEEK_CUR);
  }
  if (fate != PASS) length = length > 1 ? length / 2 : length;
  snprintf(place, sizeof place, "%lld", (long long)offset);
  if (strchr(class, 'w')) note("write", path, place, (long long)length, data, length);
  long result = syscall(call, fd, data, length, offset);
  if (fate == TEAR) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  return done_error(result);
}

ssize_t write(int fd, const void *data, size_t length) { return write_at(fd, data, length, 0, 1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return write_at(fd, data, length, offset, 0); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  return write_at(fd, data, length, offset, 0);
}

ssize_t writev(int fd, const struct iovec *parts, int n_parts) {
  char path[4200];
  if (!path_of(fd, path, sizeof path)) return syscall(SYS_writev, fd, parts, n_parts);
  /* A short answer, which every caller has to take. */
  for (int i = 0; i < n_parts; i++)
    if (parts[i].iov_len > 0) return write_at(fd, parts[i].iov_base, parts[i].iov_len, 0, 1);
  return 0;
}

static ssize_t read_at(int fd, void *data, size_t length, off64_t offset, long call) {
  char path[4200];
  if (!directory || !strchr(class, 'r') || !path_of(fd, path, sizeof path)) return syscall(call, fd, data, length, offset);
  enum fate fate = meet('r');
  if (fate == FAIL) return done(-1);
  note("read", path, "-", (long long)length, NULL, 0);
  return done_error(syscall(call, fd, data, length, offset));
}

ssize_t read(int fd, void *data, size_t length) { return read_at(fd, data, length, 0, SYS_read); }
ssize_t pread(int fd, void *data, size_t length, off_t offset) { return read_at(fd, data, length, offset, SYS_pread64); }
ssize_t pread64(int fd, void *data, size_t length, off64_t offset) {
  return read_at(fd, data, length, offset, SYS_pread64);
}

static int sync_of(int fd, long call) {
  char path[4200];
  if (!path_of(fd, path, sizeof path)) return (int)syscall(call, fd);
  enum fate fate = meet('s');
  if (fate == FAIL) return (int)done(-1);
  if (lies) return (int)done(0);
  long result = syscall(call, fd);
  if (result == 0 && strchr(class, 's')) note("sync", path, "-", 0, NULL, 0);
  return (int)done_error(result);
}

int fsync(int fd) { return sync_of(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_of(fd, SYS_fdatasync); }

static int truncate_to(int fd, off64_t length) {
  char path[4200];
  if (!path_of(fd, path, sizeof path)) return (int)syscall(SYS_ftruncate, fd, length);
  if (meet('n') == FAIL) return (int)done(-1);
  note("truncate", path, "-", (long long)length, NULL, 0);
  return (int)done_error(syscall(SYS_ftruncate, fd, length));
}

int ftruncate(int fd, off_t length) { return truncate_to(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncate_to(fd, length); }

/* Whether a call that is not made in parts fails here. */
static int is_refused(char kind, const char *what, const char *path, size_t length) {
  if (!has_begun || !strchr(class, kind)) return 0;
  if (meet(kind) == FAIL) return (int)done(1);
  note(what, path, "-", (long long)length, NULL, 0);
  return (int)done(0);
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
  if (is_ours(path) && is_refused('o', "open", path, 0)) return -1;
  /* Paths relative to an open folder are not the store's. */
  int changes = flags & (O_CREAT | O_TRUNC) && (flags & O_TMPFILE) != O_TMPFILE && is_ours(path);
  if (!changes) return (int)syscall(SYS_openat, folder, path, flags, mode);
  int exists = syscall(SYS_access, path, F_OK) == 0;
  if (exists && !(flags & O_TRUNC)) return (int)syscall(SYS_openat, folder, path, flags, mode);
  if (meet('n') == FAIL) return (int)done(-1);
  note(exists ? "truncate" : "create", path, "-", 0, NULL, 0);
  return (int)done_error(syscall(SYS_openat, folder, path, flags, mode));
}

#define OPEN(name, folder_parameter, folder)                        \
  int name(folder_parameter const char *path, int flags, ...) {     \
    mode_t mode = 0;                                                \
    if (flags & (O_CREAT | O_TMPFILE)) {                            \
      va_list rest;                                                 \
      va_start(rest, flags);                                        \
      mode = va_arg(rest, mode_t);                                  \
      va_end(rest);                                                 \
    }                                                               \
    return open_at(folder, path, flags, mode);                      \
  }
#define AT int folder,
OPEN(open, , AT_FDCWD)
OPEN(open64, , AT_FDCWD)
OPEN(openat, AT, folder)
OPEN(openat64, AT, folder)

int rename(const char *from, const char *to) {
  if (!is_ours(from)) return (int)syscall(SYS_rename, from, to);
  if (meet('n') == FAIL) return (int)done(-1);
  note("rename", from, to, 0, NULL, 0);
  return (int)done_error(syscall(SYS_rename, from, to));
}

int link(const char *from, const char *to) {
  if (!is_ours(from)) return (int)syscall(SYS_link, from, to);
  if (meet('n') == FAIL) return (int)done(-1);
  note("link", from, to, 0, NULL, 0);
  return (int)done_error(syscall(SYS_link, from, to));
}

int unlink(const char *path) {
  if (!is_ours(path)) return (int)syscall(SYS_unlink, path);
  if (meet('n') == FAIL) return (int)done(-1);
  note("remove", path, "-", 0, NULL, 0);
  return (int)done_error(syscall(SYS_unlink, path));
}

int mkdir(const char *path, mode_t mode) {
  if (!is_ours(path)) return (int)syscall(SYS_mkdir, path, mode);
  if (meet('n') == FAIL) return (int)done(-1);
  note("folder", path, "-", 0, NULL, 0);
  return (int)done_error(syscall(SYS_mkdir, path, mode));
}

#define MAP(name)                                                                                \
  void *name(void *place, size_t length, int protection, int flags, int fd, off_t offset) {      \
    if (is_refused('m', "map", "-", length)) return MAP_FAILED;                                  \
    return (void *)syscall(SYS_mmap, place, length, protection, flags, fd, offset);              \
  }
MAP(mmap)
MAP(mmap64)

/* The allocator of libc, below the names by which everybody calls it. What is small fails last, and libc gives up then. */
#define SMALL 256
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static int is_none(size_t length) { return length > SMALL && is_refused('a', "allocate", "-", length); }

void *malloc(size_t length) { return is_none(length) ? NULL : __libc_malloc(length); }
void *calloc(size_t n, size_t length) {
  return is_none(n * length) ? NULL : __libc_calloc(n, length);
}
void *realloc(void *place, size_t length) {
  return is_none(length) ? NULL : __libc_realloc(place, length);
}
