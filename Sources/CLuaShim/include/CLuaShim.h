/* Lua for a Swift host: everything that may raise, yield or jump stays on this side of the border.
 *
 * Swift functions are entered through one trampoline, return a code, and never see a longjmp. `pcall`, `xpcall`,
 * `coroutine.*`, `load` and `require` are ours, so that a Swift async function can suspend a routine through all
 * of them, and so that a script that is cancelled or has run too long can't catch its way out.
 */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shim_state shim_state;
typedef struct shim_watchdog shim_watchdog;

/* What Swift gives: plain functions, the same for all states. None of them may be left by a longjmp. */
typedef struct shim_host {
  /* Runs the function in `box`; returns the number of results on the stack, or one of the codes below. */
  int (*call)(lua_State *L, void *box);
  /* Ends the +1 of an object that `shim_push_object` was given. Must not touch Lua. */
  void (*release)(void *object);
  /* A warning of Lua's, whole: `owner` is what `shim_set_owner` was given. */
  void (*warn)(void *owner, const char *text);
  /* Pushes the name of the routine that runs in `routine`, a text. `owner` as above. */
  void (*push_routine_name)(lua_State *L, void *owner, lua_State *routine);
} shim_host;

/* Lua's macros, for Swift. */
enum {
  SHIM_REGISTRY = LUA_REGISTRYINDEX,
  SHIM_OK = LUA_OK,
  SHIM_YIELD = LUA_YIELD,
};

enum {
  SHIM_RAISE = -1,   /* the value on the top of the stack is raised */
  SHIM_SUSPEND = -2, /* the routine yields to the host; `shim_resume` brings the results */
  SHIM_SUSPEND_THEN_AGAIN = -3, /* the same, and then the function is entered once more with its arguments */
};

/* ---- states ------------------------------------------------------------------------------------------ */

/* A new state with the standard library as scripts see it, or NULL without memory. `limit` in bytes. With a seed,
 * `pairs` and `next` visit keys sorted by type and value, addresses print as serial numbers, and `math.random`
 * starts at the seed. */
shim_state *shim_open(const shim_host *host, const char *name, size_t limit, const uint64_t *seed);
void shim_set_owner(shim_state *state, void *owner);
void shim_close(shim_state *state);
/* The main thread: for the host's own stack work; scripts run in routines. */
lua_State *shim_main(shim_state *state);
shim_state *shim_of(lua_State *L);
void *shim_owner(lua_State *L);
/* Collects all that nothing refers to. */
void shim_collect(lua_State *L);
size_t shim_bytes(const shim_state *state);
size_t shim_peak(const shim_state *state);

/* ---- functions and objects --------------------------------------------------------------------------- */

/* Pushes a function that enters Swift with `box`, which must live as long as the state. */
void shim_push_function(lua_State *L, void *box);
/* Pushes `print`: makes one line of its arguments, then enters Swift with it. */
void shim_push_print(lua_State *L, void *box);

/* Pushes `try`: calls its first argument with the others; results, or nil and the error. */
void shim_push_try(lua_State *L);

/* A userdata type. `unknown` and `assign` are entered for a name that is neither field nor method, and for an
 * assignment: (object, key[, value]). `describe` is `tostring`. Returns the type's number, -1 without memory. */
int shim_new_type(lua_State *L, const char *name, void *unknown, void *assign, void *describe);
void shim_add_method(lua_State *L, int type, const char *name, void *box);
void shim_add_field(lua_State *L, int type, const char *name, void *box);
/* Pushes the one userdata that stands for `object`, which is +1 retained; released at collection or at once when
 * the userdata existed already. */
void shim_push_object(lua_State *L, int type, void *object);
/* The object at `index` when it is one of `type`, else NULL. */
void *shim_test_object(lua_State *L, int index, int type);

/* ---- errors ------------------------------------------------------------------------------------------ */

/* Gives the table on the top of the stack the error metatable. */
void shim_make_error(lua_State *L);
/* Whether the value at `index` is a table with that metatable. */
bool shim_is_error(lua_State *L, int index);
/* The traceback of the failure that `shim_resume` last returned: pushes a string or nil. */
void shim_push_traceback(lua_State *L);
/* Whether the function now running was called as `object:name(…)`. */
bool shim_called_as_method(lua_State *L);
/* Whether anything of the script's, or of Lua's, calls it: the function that a routine begins with has no caller. */
bool shim_has_caller(lua_State *L);
/* Pushes `file:line` of the Lua function nearest to the running one, from `level` on, or an empty string. */
void shim_push_where(lua_State *L, int level);
/* Replaces the function on the top by `file:line` of its text, by `file` when it is a whole chunk, or by an empty
 * string when it is no function of Lua's. */
void shim_push_definition(lua_State *L);

/* ---- protected forms: 0 or a Lua status; the result or the error value is pushed ----------------------- */

int shim_load(lua_State *L, const char *text, size_t size, const char *chunk_name);
int shim_call(lua_State *L, int arguments, int results);
/* Pushes what `tostring` gives for the value at `index`, or a text that says why it failed. Never raises. */
void shim_tostring(lua_State *L, int index);

/* ---- routines ---------------------------------------------------------------------------------------- */

typedef struct shim_routine {
  /* The state's unwinding count when this routine was last told to unwind; 0 = never. */
  uint64_t unwinding_since;
} shim_routine;

/* Pushes a new thread that will run the function on the top of `from`'s stack (popped). */
lua_State *shim_new_routine(lua_State *from);
/* Starts it with `arguments` values from its stack, or continues it with a boolean and then results (true) or an
 * error value (false). Returns LUA_YIELD while it waits for the host, LUA_OK with results on its stack, or an
 * error status with the error value on the top. */
int shim_resume(lua_State *routine, shim_routine *self, int arguments, int *results);
/* From here on nothing in the routine can catch its way out: to be called before resuming with the error. */
void shim_begin_unwinding(lua_State *L, shim_routine *self);
/* Whether a function called now may suspend its routine. */
bool shim_can_suspend(lua_State *L);

/* ---- time limit -------------------------------------------------------------------------------------- */

/* One watchdog per thread that runs states; its own thread sleeps while no Lua runs. NULL without resources. */
shim_watchdog *shim_watchdog_start(void);
void shim_watchdog_stop(shim_watchdog *watchdog);
/* From now on `state` is watched: `milliseconds` without suspending raise script.blocked, `fatal` end the process. */
void shim_watch(shim_state *state, shim_watchdog *watchdog, uint32_t milliseconds, uint32_t fatal);

/* ---- modules ----------------------------------------------------------------------------------------- */

/* Replaces `io.read` and `io.lines`, and the same methods of files, where they read standard input: `read` is entered
 * with the formats, `lines` with them too and returns an iterator. */
void shim_replace_input(lua_State *L, void *read, void *lines);

/* Replaces `io.open` and `io.lines` for paths of FIFOs, sockets and devices: `open` and `lines` are entered with the
 * arguments. `io.input` and `io.output` refuse them. */
void shim_replace_files(lua_State *L, void *open, void *lines);

/* Replaces `io.write`, and the method of files, where they write to standard output: `write` is entered with the
 * text. */
void shim_replace_output(lua_State *L, void *write);

/* `wait` is entered with a module's name while another routine loads it, `loaded` when that has ended,
 * `missing` with the name and what was tried for a module that is nowhere, to raise. */
void shim_set_require(lua_State *L, void *wait, void *loaded, void *missing);
