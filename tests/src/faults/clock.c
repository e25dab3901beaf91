/*
 * Sets the clock on the wall of a process apart from that of the system, and leaves its monotonic clocks alone. Loaded by
 * LD_PRELOAD; knows its task from the environment:
 *
 *   CLOCK_APART  a file of 8 bytes: nanoseconds by which the clock is ahead; they count from the moment they are there
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NANOS 1000000000LL

static const int64_t *apart;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CLOCK_APART");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *page = mmap(NULL, sizeof *apart, PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) apart = page;
  close(fd);
}

static int is_on_the_wall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (!apart || !is_on_the_wall(clock)) return (int)syscall(SYS_clock_gettime, clock, now);
  int64_t ahead;
  do {
    ahead = __atomic_load_n(apart, __ATOMIC_SEQ_CST);
    if (syscall(SYS_clock_gettime, clock, now)) return -1;
    /* A clock that was set meanwhile is read again: no time is of the one before and the one behind. */
  } while (__atomic_load_n(apart, __ATOMIC_SEQ_CST) != ahead);
  int64_t nanos = now->tv_sec * NANOS + now->tv_nsec + ahead;
  /* As the system, it knows no time before 1970. */
  if (nanos < 0) nanos = 0;
  now->tv_sec = nanos / NANOS;
  now->tv_nsec = nanos % NANOS;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec fine;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &fine);
  now->tv_sec = fine.tv_sec;
  now->tv_usec = fine.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *place) {
  struct timespec fine;
  clock_gettime(CLOCK_REALTIME, &fine);
  if (place) *place = fine.tv_sec;
  return fine.tv_sec;
}
