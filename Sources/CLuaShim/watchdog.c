/* The time limit: a thread that sleeps while no Lua runs, and a signal to the thread that runs too long.
 *
 * The signal's handler sets a hook on the running coroutine, which is what lua_sethook may be called for from a
 * handler; the hook raises. There is no standing hook, which would double the time of every instruction.
 */
#include "internal.h"

#include <errno.h>
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

enum { STEP_MS = 100 };

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
};

static _Thread_local struct shim_watchdog *current;

static void stop_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  shim_state *s = state_of(L);
  /* Set a moment too late, on a coroutine that runs again in another slice: this one is not to blame. */
  if (s->routine == NULL || atomic_load(&s->watchdog->condemned) != atomic_load(&s->watchdog->slice)) return;
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

IN_HANDLER static void on_signal(int signal) {
  (void)signal;
  struct shim_watchdog *w = current;
  if (w == NULL || atomic_load(&w->condemned) != atomic_load(&w->slice)) return;
  shim_state *s = atomic_load(&w->state);
  lua_State *L = s == NULL ? NULL : s->running;
  if (L != NULL) {
    lua_sethook(L, stop_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
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
                        "takes for ever?); ending the process\n",
                        s == NULL ? "?" : s->name, atomic_load(&w->fatal_ms) / 1000);
  ssize_t written = write(STDERR_FILENO, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
  (void)written;
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

/* Time used by the running thread: of the processor, so that a busy machine condemns no script, or a fifth of the
 * elapsed time, so that a call that blocks ends too. */
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

static void *watch(void *argument) {
  shim_watchdog *w = argument;
  unsigned long long seen = 0;
  progress since = {0, 0};
  uint64_t warned = 0;
  pthread_mutex_lock(&w->lock);
  while (!w->quit) {
    unsigned long long slice = atomic_load(&w->slice);
    if (slice % 2 == 0) {
      atomic_store(&w->asleep, true);
      while (!w->quit && atomic_load(&w->slice) % 2 == 0 && atomic_load(&w->asleep)) {
        pthread_cond_wait(&w->changed, &w->lock);
      }
      atomic_store(&w->asleep, false);
      continue;
    }
    progress now = measure(w);
    if (slice != seen) {
      seen = slice;
      since = now;
      warned = 0;
    }
    uint64_t ran = time_between(since, now);
    if (ran >= atomic_load(&w->fatal_ms)) end_process(w);
    /* Repeated a step later each time: the hook may have met a coroutine that had just ended, and an unwinding
     * script gets a step for its <close> variables. */
    if (ran >= atomic_load(&w->limit_ms) && (warned == 0 || now.passed - warned >= 2 * STEP_MS)) {
      warned = now.passed;
      atomic_store(&w->condemned, slice);
      pthread_kill(atomic_load(&w->runner), STOP_SIGNAL);
    }
    wait_step(w);
  }
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

void watchdog_enter(shim_state *s) {
  shim_watchdog *w = s->watchdog;
  if (w == NULL) return;
  if (current != w) {
    /* The first slice on this thread, which may have been made with every signal blocked. */
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

void watchdog_leave(shim_state *s) {
  shim_watchdog *w = s->watchdog;
  if (w == NULL) return;
  atomic_fetch_add(&w->slice, 1);
  /* A hook that came too late for its slice must not stop the next one. */
  if (lua_gethook(s->running) != NULL) lua_sethook(s->running, NULL, 0, 0);
}
