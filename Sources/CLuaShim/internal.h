/* Declarations shared by the files of the shim. */
#pragma once

#include "CLuaShim.h"

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

typedef struct shim_type {
  const void *metatable;
} shim_type;

struct shim_state {
  lua_State *main;
  shim_host host;
  void *owner;
  char name[96];

  /* Memory. */
  size_t bytes, peak, limit;
  bool overshot;               /* an allocation for Swift went beyond the limit */
  char refused_at[LUA_IDSIZE + 16]; /* file:line of the last refused allocation */
  int swift_depth;             /* Swift frames above the nearest protected call */

  /* Running. */
  lua_State *volatile running; /* the innermost coroutine, on which the watchdog's hook is set */
  shim_routine *routine;       /* the routine of this slice, NULL between slices */
  char *stack_base;            /* of the C stack, at the start of the slice */
  uint64_t unwindings;         /* counts cancellations and condemnations */
  bool yields_to_host;         /* the yield that is under way is for the host */
  bool traced;                 /* the registry holds a traceback */

  /* Watchdog. */
  shim_watchdog *watchdog;
  uint32_t limit_ms, fatal_ms;
  char *mark, *mark_text;      /* path and content of the file that reports a slice near the fatal limit; NULL if unset */
  bool measures;               /* slices are measured, and long ones reported */
  uint64_t slice_began;        /* nanoseconds */
  uint64_t slice_processor;    /* the thread's processor time at that moment, in nanoseconds */
  shim_usage usage;

  /* Userdata types. */
  shim_type *types;
  int type_count;

  void *require_library, *require_wait, *require_loaded, *require_missing; /* boxes */
  dev_t script_device;                                                     /* the script's own file, not a module */
  ino_t script_file;                                                       /* 0 without one */

  /* Determinism: every block has a header; the headers of objects are numbered in order of creation. */
  bool deterministic;
  uint64_t seed, created;
  size_t userdata_offset; /* from a userdata's block to its memory */
};

/* The header before a block in a deterministic state; keeps the block aligned. */
typedef struct block_header {
  uint64_t serial, unused;
} block_header;

/* Flags of a thread share its extra space with the state's address. */
enum {
  THREAD_BASE = 1,    /* a routine's own thread */
  THREAD_WAITING = 2, /* suspended for the host, not for the script */
  THREAD_SHUT = 4,    /* resumed from a function that can't suspend */
  THREAD_FLAGS = 15,
};

static inline uintptr_t *thread_space(lua_State *L) { return (uintptr_t *)lua_getextraspace(L); }
static inline shim_state *state_of(lua_State *L) {
  return (shim_state *)(*thread_space(L) & ~(uintptr_t)THREAD_FLAGS);
}
static inline bool thread_has(lua_State *L, uintptr_t flag) { return (*thread_space(L) & flag) != 0; }
static inline void thread_set(lua_State *L, uintptr_t flag, bool on) {
  *thread_space(L) = on ? *thread_space(L) | flag : *thread_space(L) & ~flag;
}

/* `true` if the running routine began to unwind after `since`, so that no call entered before may catch. */
static inline bool unwinding_after(const shim_state *s, uint64_t since) {
  return s->routine != NULL && s->routine->unwinding_since > since;
}

/* The only entry into Swift: counts the frame, and turns the code returned into results, a yield or a raise. */
int enter_swift(lua_State *L, void *box);
/* Pushes, or raises, a new error object. `level` is the call level at which the search for `where` starts. */
void push_error(lua_State *L, const char *code, const char *message, const char *hint, int level);
int raise_error(lua_State *L, const char *code, const char *message, const char *hint, int level);
/* `true` for a text that begins with `---@meta`, and for a file with such a text: definitions for editors, which are
   never run, wherever they are. */
bool is_definition(const char *text, size_t size);
bool is_definition_file(const char *path);
/* Pushes the message about an attempt to run definitions; the second function raises it. */
const char *push_definition_message(lua_State *L, const char *path);
int raise_definition_error(lua_State *L, const char *path);
/* Pushes script.memory, with the position where memory was refused. */
void push_memory_error(lua_State *L);
/* The message handler of routines and modules: keeps the traceback of an error that has none. */
int keep_traceback(lua_State *L);

/* Pushes the result of tostring; in a deterministic state with a serial number in place of an address. */
void push_readable(lua_State *L, int index);

/* Numbers the values without a header; to be called after the standard library is open. */
void open_determinism(lua_State *L);
void open_protected(lua_State *L);  /* pcall, xpcall, load…, setmetatable */
void open_coroutine(lua_State *L);
void open_require(lua_State *L);
void open_files(lua_State *L);      /* package.searchpath */
void open_clock(lua_State *L);      /* os.time, os.date */
void open_bounded(lua_State *L);    /* table.insert…, string.find, string.rep */

/* The largest source of a script or a module, in bytes. */
enum { LARGEST_SOURCE = 1 << 20 };
/* Compile text, a file, or the pieces that the function in argument 1 of `load` returns. Push the chunk or the error,
 * and return the status; raise when the running script is to unwind. */
int load_pieces(lua_State *L, const char *text, size_t size, const char *chunk_name);
int load_file(lua_State *L, const char *path);
int load_from_reader(lua_State *L, const char *chunk_name);

/* Returns the path in argument 1, for a function that can't wait for the file: raises for a FIFO or a device. */
const char *check_file_argument(lua_State *L);
/* Replaces a function of `io` on the top by Lua's own, if it has been replaced. */
void replace_by_own(lua_State *L);

/* Starts a thread that receives no signals. Returns 0, or the error number. */
int start_thread(pthread_t *thread, void *(*body)(void *), void *argument);

/* Raises script.blocked if the time of the running slice is over: for loops in C, in which no hook runs. */
void check_time(lua_State *L);
/* Counts a step of such a loop, and looks at the time now and then. */
static inline void count_step(lua_State *L, unsigned *steps) {
  if ((++*steps & 1023) == 0) check_time(L);
}

void watchdog_enter(shim_state *s);
void watchdog_leave(shim_state *s);
/* Makes the watcher forget a state that closes. */
void watchdog_forget(shim_state *s);
