/* The time limit: a thread that sleeps while no Lua runs, and a signal to the thread that runs too long.
 *
 * The signal's handler sets a hook on the running coroutine (lua_sethook may be called from a handler), and the hook
  * raises. There is no standing hook, which would double the time of every instruction.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The thread sanitizer holds back all signals but those of faults while no library call is made. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STOP_SIGNAL SIGTRAP
/* The handler may interrupt the sanitizer's own code, so it must not call it. */
#define IN_HANDLER __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef IN_HANDLER
#define IN_HANDLER
#endif
#ifndef STOP_SIGNAL
#define STOP_SIGNAL SIGURG
#endif

enum {
  STEP_MS = 50,
  SHORT_NS = 20000,  /* up to this elapsed time all of a slice counts as processor time */
  REPORTED_MS = 100, /* from this processor time on a slice is reported; its position is read one step earlier */
  WAITED_MS = 1000,  /* from this elapsed time on too; in less, another program may have had the processor */
};

struct shim_watchdog {
  pthread_t watcher;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool quit;
  atomic_bool asleep;          /* the watcher waits for Lua to run */
  atomic_ullong slice;         /* odd while Lua runs */
  /* Fields of the running slice; written by its thread before `slice` becomes odd. */
  _Atomic(pthread_t) runner;
  _Atomic(shim_state *) state;
  atomic_uint limit_ms, fatal_ms;
  atomic_ullong condemned;     /* the slice to stop */
  atomic_ullong located;       /* the slice whose position is requested */
  atomic_bool is_located;      /* that position is known */
  /* The mark of the slice that has run for half of the fatal limit, or empty. Used by the watcher alone. */
  char mark[PATH_MAX];
};

static _Thread_local struct shim_watchdog *current;

/* Keeps the position of a long slice. */
static void locate(lua_State *L) {
  shim_state *s = state_of(L);
  shim_site site;
  if (s->usage.last_at[0] != 0 || !shim_find_site(L, NULL, &site)) return;
  snprintf(s->usage.last_at, sizeof s->usage.last_at, "%.*s:%d", (int)site.length, site.file, site.line);
}

/* Raises script.blocked in the running routine, which unwinds. */
static void stop(lua_State *L) {
  shim_state *s = state_of(L);
  locate(L);
  s->routine->unwinding_since = ++s->unwindings;
  char message[96];
  snprintf(message, sizeof message, "ran for %g s without suspending", s->limit_ms / 1000.0);
  push_error(L, "script.blocked", message,
             "let long work suspend: task.sleep(0) between its steps, or raise limits { run = … }", 0);
  /* A failing <close> variable may replace this error on the way: the routine's end reports this one. */
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, s->routine);
  lua_error(L);
}

static bool is_condemned(const shim_state *s) {
  return s->routine != NULL && atomic_load(&s->watchdog->condemned) == atomic_load(&s->watchdog->slice);
}

void check_time(lua_State *L) {
  shim_state *s = state_of(L);
  if (s->watchdog != NULL && is_condemned(s)) stop(L);
}

static void stop_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  /* The hook may have been set too late, on a coroutine that runs in a later slice, which must not be stopped. */
  if (is_condemned(state_of(L))) stop(L);
}

static void locate_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  shim_watchdog *w = state_of(L)->watchdog;
  if (atomic_load(&w->located) != atomic_load(&w->slice)) return;
  locate(L);
  atomic_store(&w->is_located, true);
}

IN_HANDLER static void on_signal(int signal) {
  (void)signal;
  struct shim_watchdog *w = current;
  if (w == NULL) return;
  unsigned long long slice = atomic_load(&w->slice);
  bool is_over = atomic_load(&w->condemned) == slice;
  if (!is_over && (atomic_load(&w->located) != slice || atomic_load(&w->is_located))) return;
  shim_state *s = atomic_load(&w->state);
  lua_State *L = s == NULL ? NULL : s->running;
  if (L != NULL) {
    lua_sethook(L, is_over ? stop_hook : locate_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
  }
}

static void install_handler(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(STOP_SIGNAL, &action, NULL);
}

static void end_process(shim_watchdog *w) {
  shim_state *s = atomic_load(&w->state);
  char text[256];
  int length = snprintf(text, sizeof text,
                        "roomtone: script %s: one call has run for %u s and can't be interrupted (a pattern that "
                        "takes for ever, or a file whose server is gone?); ending the process\n",
                        s == NULL ? "?" : s->name, atomic_load(&w->fatal_ms) / 1000);
  ssize_t written = write(STDERR_FILENO, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
  (void)written;
  /* A thread of the host may forward standard error, and gets half a second to do so. */
  nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
  _exit(1);
}

static void wait_step(shim_watchdog *w) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += STEP_MS * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_nsec -= 1000000000L;
    until.tv_sec++;
  }
  pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

static uint64_t milliseconds(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Time used by the running thread: processor time, so that a busy machine condemns no script; or a fifth of the
 * elapsed time if that is more, so that a call that blocks ends too. */
typedef struct progress {
  uint64_t processor, passed;
} progress;

static progress measure(shim_watchdog *w) {
  clockid_t clock;
  progress now = {0, milliseconds(CLOCK_MONOTONIC)};
  if (pthread_getcpuclockid(atomic_load(&w->runner), &clock) == 0) now.processor = milliseconds(clock);
  return now;
}

static uint64_t time_between(progress from, progress to) {
  uint64_t processor = to.processor - from.processor, share = (to.passed - from.passed) / 5;
  return processor > share ? processor : share;
}

/* Writes the mark of the running slice, which stays when the process ends before the slice does. */
static void set_mark(shim_watchdog *w) {
  const shim_state *s = atomic_load(&w->state);
  if (s == NULL || s->mark == NULL || w->mark[0] != 0) return;
  int file = open(s->mark, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  snprintf(w->mark, sizeof w->mark, "%s", s->mark);
  ssize_t written = write(file, s->mark_text, strlen(s->mark_text));
  (void)written;
  close(file);
}

static void remove_mark(shim_watchdog *w) {
  if (w->mark[0] != 0) unlink(w->mark);
  w->mark[0] = 0;
}

/* The watcher's knowledge of the running slice. */
typedef struct sight {
  unsigned long long slice;
  progress since;
  uint64_t signalled; /* the moment of the last signal, 0 before the first */
} sight;

/* Looks at a slice that runs; the lock is held, so that its state is not closed. */
static void look(shim_watchdog *w, sight *seen) {
  progress now = measure(w);
  uint64_t ran = time_between(seen->since, now), passed = now.passed - seen->since.passed;
  if (ran >= atomic_load(&w->fatal_ms)) end_process(w);
  if (ran >= atomic_load(&w->fatal_ms) / 2) set_mark(w);
  if (ran >= atomic_load(&w->limit_ms)) {
    /* The signal is repeated, as the hook may have met a coroutine that had just ended; but not at once, as a script
     * that unwinds gets some time for its <close> variables. */
    if (atomic_load(&w->condemned) == seen->slice && now.passed - seen->signalled < 4 * STEP_MS) return;
    atomic_store(&w->condemned, seen->slice);
  } else {
    const shim_state *s = atomic_load(&w->state);
    if (s == NULL || !s->measures || passed < REPORTED_MS - STEP_MS) return;
    if (atomic_load(&w->located) != seen->slice) atomic_store(&w->is_located, false);
    atomic_store(&w->located, seen->slice);
    if (atomic_load(&w->is_located)) return;
  }
  seen->signalled = now.passed;
  pthread_kill(atomic_load(&w->runner), STOP_SIGNAL);
}

static void *watch(void *argument) {
  shim_watchdog *w = argument;
  sight seen = {0};
  pthread_mutex_lock(&w->lock);
  while (!w->quit) {
    unsigned long long slice = atomic_load(&w->slice);
    if (slice != seen.slice) remove_mark(w);
    if (slice % 2 == 0) {
      atomic_store(&w->asleep, true);
      while (!w->quit && atomic_load(&w->slice) % 2 == 0 && atomic_load(&w->asleep)) {
        pthread_cond_wait(&w->changed, &w->lock);
      }
      atomic_store(&w->asleep, false);
      continue;
    }
    if (slice != seen.slice) seen = (sight){slice, measure(w), 0};
    look(w, &seen);
    wait_step(w);
  }
  remove_mark(w);
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

int start_thread(pthread_t *thread, void *(*body)(void *), void *argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(thread, NULL, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure;
}

shim_watchdog *shim_watchdog_start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install_handler);
  shim_watchdog *w = calloc(1, sizeof *w);
  if (w == NULL) return NULL;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (start_thread(&w->watcher, watch, w) != 0) {
    free(w);
    return NULL;
  }
  return w;
}

void shim_watchdog_stop(shim_watchdog *w) {
  pthread_mutex_lock(&w->lock);
  w->quit = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->watcher, NULL);
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

void shim_watch(shim_state *s, shim_watchdog *watchdog, uint32_t milliseconds, uint32_t fatal) {
  s->watchdog = watchdog;
  s->limit_ms = milliseconds;
  s->fatal_ms = fatal;
}

bool shim_set_mark(shim_state *s, const char *path, const char *text) {
  if (strlen(path) >= PATH_MAX) return false;
  s->mark = strdup(path);
  s->mark_text = strdup(text);
  if (s->mark != NULL && s->mark_text != NULL) return true;
  free(s->mark);
  free(s->mark_text);
  s->mark = s->mark_text = NULL;
  return false;
}

void watchdog_forget(shim_state *s) {
  if (s->watchdog == NULL) return;
  /* The watcher reads the state of a running slice with the lock held. */
  pthread_mutex_lock(&s->watchdog->lock);
  shim_state *running = s;
  atomic_compare_exchange_strong(&s->watchdog->state, &running, NULL);
  pthread_mutex_unlock(&s->watchdog->lock);
}

void shim_measure(shim_state *s) { s->measures = s->watchdog != NULL; }
const shim_usage *shim_usage_of(const shim_state *s) { return &s->usage; }

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void watchdog_enter(shim_state *s) {
  shim_watchdog *w = s->watchdog;
  if (w == NULL) return;
  if (s->measures) {
    s->slice_began = nanoseconds(CLOCK_MONOTONIC);
    s->slice_processor = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    s->usage.last_at[0] = 0;
  }
  if (current != w) {
    /* The first slice on this thread, which may have been created with every signal blocked. */
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, STOP_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    current = w;
  }
  atomic_store_explicit(&w->runner, pthread_self(), memory_order_relaxed);
  atomic_store_explicit(&w->state, s, memory_order_relaxed);
  atomic_store_explicit(&w->limit_ms, s->limit_ms, memory_order_relaxed);
  atomic_store_explicit(&w->fatal_ms, s->fatal_ms, memory_order_relaxed);
  atomic_fetch_add(&w->slice, 1);
  if (atomic_load(&w->asleep)) {
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->asleep, false);
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
  }
}

/* Counts the slice that has just ended, and reports one that took long. */
static void count_slice(shim_state *s) {
  shim_usage *usage = &s->usage;
  usage->last = nanoseconds(CLOCK_MONOTONIC) - s->slice_began;
  /* The system call takes half a microsecond. A short slice can't have waited for a processor for long. */
  uint64_t busy = usage->last < SHORT_NS ? usage->last : nanoseconds(CLOCK_THREAD_CPUTIME_ID) - s->slice_processor;
  usage->busy += busy;
  if (usage->last > usage->longest) {
    usage->longest = usage->last;
    memcpy(usage->longest_at, usage->last_at, sizeof usage->longest_at);
  }
  bool is_long = busy >= REPORTED_MS * 1000000ULL || usage->last >= WAITED_MS * 1000000ULL;
  if (is_long && s->owner != NULL) s->host.held(s->owner);
}

void watchdog_leave(shim_state *s) {
  shim_watchdog *w = s->watchdog;
  if (w == NULL) return;
  atomic_fetch_add(&w->slice, 1);
  /* A hook that came too late for its slice must not stop the next one. */
  if (lua_gethook(s->running) != NULL) lua_sethook(s->running, NULL, 0, 0);
  if (s->measures) count_slice(s);
}
