// The parts of Linux that Swift's Glibc module leaves out: event polls, event and timer descriptors, signal
// descriptors, and some calls for files and sockets.
#pragma once
#include <errno.h>
#include <linux/stat.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <unistd.h>

/// Adds (EPOLL_CTL_ADD), changes or removes `fd`; `token` is returned with its events. Returns 0, or an
/// errno.
static inline int epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data = {.u64 = token}};
  return epoll_ctl(epoll, operation, fd, &event) == 0 ? 0 : errno;
}

/// Waits for at most `nanoseconds` (below 0: for ever). Returns the number of events, or -errno.
static inline int epoll_wait_nanoseconds(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds) {
  struct timespec timeout = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
  int count = epoll_pwait2(epoll, events, capacity, nanoseconds < 0 ? NULL : &timeout, NULL);
  return count >= 0 ? count : -errno;
}

/// Waits for at most `milliseconds` (-1: for ever). Returns the number of events, or -errno.
static inline int epoll_wait_milliseconds(int epoll, struct epoll_event *events, int capacity, int milliseconds) {
  int count = epoll_wait(epoll, events, capacity, milliseconds);
  return count >= 0 ? count : -errno;
}

static inline uint64_t epoll_token(const struct epoll_event *event) { return event->data.u64; }
static inline uint32_t epoll_events(const struct epoll_event *event) { return event->events; }

/// Arms a timer descriptor for `nanoseconds`, from now or of its clock according to `flags`; 0 disarms it.
/// Returns 0, or an errno.
static inline int timer_arm(int fd, int flags, int64_t nanoseconds) {
  struct itimerspec spec = {
      .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
  return timerfd_settime(fd, flags, &spec, NULL) == 0 ? 0 : errno;
}

/// Reads a signal from a signal descriptor. Returns its number, or 0 when none is pending.
static inline int signal_take(int fd) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

/// Waits for a signal at a signal descriptor, or for the other end of the pipe `quit` to be closed. Returns
/// the number of the signal, or 0 for the pipe.
static inline int signal_await(int fd, int quit) {
  struct pollfd polls[2] = {{.fd = fd, .events = POLLIN}, {.fd = quit, .events = POLLIN}};
  for (;;) {
    if (poll(polls, 2, -1) < 0 && errno != EINTR) return 0;
    int number = polls[0].revents & POLLIN ? signal_take(fd) : 0;
    if (number != 0) return number;
    if (polls[1].revents != 0) return 0;
  }
}

/// Returns 1 if the process ignores a signal, as `nohup` has it from the start; else 0.
static inline int signal_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Renames a file without replacing another: renameat2(2). Returns 0, or an errno.
static inline int file_rename_new(const char *old, const char *name) {
  const unsigned noReplace = 1;  // RENAME_NOREPLACE
  return syscall(SYS_renameat2, -100 /* AT_FDCWD */, old, -100, name, noReplace) == 0 ? 0 : errno;
}

/// Returns a time of the file at `path` in nanoseconds since the epoch, or INT64_MIN without a file: that of the last
/// change of its content, or, for `of_status`, of its status, which moving it changes too: statx(2).
static inline int64_t file_time(const char *path, bool of_status) {
  struct statx status;
  unsigned int mask = of_status ? STATX_CTIME : STATX_MTIME;
  if (syscall(SYS_statx, -100 /* AT_FDCWD */, path, 0, mask, &status) != 0) return INT64_MIN;
  struct statx_timestamp time = of_status ? status.stx_ctime : status.stx_mtime;
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// Writes all pending data of the file system of `fd` to its disk: syncfs(2). Returns 0, or an errno.
static inline int file_sync_all(int fd) { return syscall(SYS_syncfs, fd) == 0 ? 0 : errno; }

/// Creates a file in memory that ends with its last descriptor: memfd_create(2). Returns the descriptor, or
/// -errno.
static inline int file_in_memory(const char *name) {
  long fd = syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
  return fd >= 0 ? (int)fd : -errno;
}

/// Returns the maximum error of the system's clock in microseconds, -1 if no service keeps it in step, or -2 if that can't
/// be read: adjtimex(2).
static inline long clock_maximum_error(void) {
  struct timex state = {0};
  int result = adjtimex(&state);
  if (result == -1) return -2;
  return result == TIME_ERROR || state.status & STA_UNSYNC ? -1 : state.maxerror;
}

/// Returns the number of bytes that a socket has received and that were not read; 0 when `fd` is not a
/// socket.
static inline int socket_bytes_waiting(int fd) {
  int count = 0;
  return ioctl(fd, FIONREAD, &count) == 0 ? count : 0;
}

/// Reads the process and the user at the other end of a Unix socket, as the kernel noted them: unix(7), SO_PEERCRED.
/// Returns 0, or an errno.
static inline int socket_peer(int fd, int32_t *process, uint32_t *user) {
  struct { int32_t process; uint32_t user, group; } peer = {0};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno;
  *process = peer.process;
  *user = peer.user;
  return 0;
}

/// Opens a descriptor for changes of folders: inotify(7). Returns it, or -errno.
static inline int folders_open(void) {
  int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  return fd >= 0 ? fd : -errno;
}

/// Watches the folder at `path` for files that were written, moved in or out, made or removed, and for its own end.
/// Returns the number of the watch, or -errno.
static inline int folders_add(int fd, const char *path) {
  int watch = inotify_add_watch(fd, path,
                                IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF |
                                    IN_MOVE_SELF | IN_ONLYDIR);
  return watch >= 0 ? watch : -errno;
}

/// Ends a watch.
static inline void folders_remove(int fd, int watch) { inotify_rm_watch(fd, watch); }

/// Events of inotify(7), as `folder_event` returns them.
enum { FOLDER_FILE, FOLDER_MADE, FOLDER_GONE, FOLDER_OVERFLOW };

/// Returns the kind of the event at `bytes`, the number of its watch, its name (empty for the folder itself) and the
/// length of the event in bytes.
static inline int folder_event(const void *bytes, int *watch, const char **name, int *length) {
  const struct inotify_event *event = (const struct inotify_event *)bytes;
  *watch = event->wd;
  *name = event->len > 0 ? event->name : "";
  *length = (int)(sizeof *event + event->len);
  if (event->mask & IN_Q_OVERFLOW) return FOLDER_OVERFLOW;
  if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)) return FOLDER_GONE;
  return event->mask & IN_CREATE ? FOLDER_MADE : FOLDER_FILE;
}

enum {
  LINUX_POLL_IN = EPOLLIN,
  LINUX_POLL_OUT = EPOLLOUT,
  LINUX_POLL_ERROR = EPOLLERR,
  LINUX_POLL_HANGUP = EPOLLHUP,
  LINUX_EPOLL_CLOEXEC = EPOLL_CLOEXEC,
  LINUX_EVENTFD_FLAGS = EFD_CLOEXEC | EFD_NONBLOCK,
  LINUX_TIMERFD_FLAGS = TFD_CLOEXEC | TFD_NONBLOCK,
  LINUX_SIGNALFD_FLAGS = SFD_CLOEXEC | SFD_NONBLOCK,
  LINUX_TIMER_ABSOLUTE = TFD_TIMER_ABSTIME,
  LINUX_TIMER_CIVIL = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
};
