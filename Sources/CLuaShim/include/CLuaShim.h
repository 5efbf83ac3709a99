/* Lua for a Swift host: everything that may raise, yield or jump stays on the C side of the border.
 *
 * Swift functions are entered through one trampoline, return a code, and never see a longjmp. `pcall`, `xpcall`,
 * `coroutine.*`, `load` and `require` are ours, so that a Swift async function can suspend a routine through all
  * of them, and so that a script that is cancelled or has run too long can't go on by catching the error.
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

/* The callbacks of Swift: plain functions, the same for all states. None of them may be left by a longjmp. */
typedef struct shim_host {
  /* Runs the function in `box`; returns the number of results on the stack, or one of the codes below. */
  int (*call)(lua_State *L, void *box);
  /* Releases the +1 of an object that `shim_push_object` received. Must not touch Lua. */
  void (*release)(void *object);
  /* Reports a whole warning of Lua's; `owner` is the pointer that `shim_set_owner` has set. */
  void (*warn)(void *owner, const char *text);
  /* Pushes the name of the routine that runs in `routine`, a text. `owner` as above. */
  void (*push_routine_name)(lua_State *L, void *owner, lua_State *routine);
  /* Reports that the slice that has just ended took long, see `shim_usage`. Must not touch Lua. `owner` as above. */
  void (*held)(void *owner);
} shim_host;

/* Lua's macros, for Swift. */
enum {
  SHIM_REGISTRY = LUA_REGISTRYINDEX,
  SHIM_OK = LUA_OK,
  SHIM_YIELD = LUA_YIELD,
};

enum {
  SHIM_RAISE = -1,   /* the value on the top of the stack is raised */
  SHIM_SUSPEND = -2, /* the routine yields to the host; `shim_resume` supplies the results */
  SHIM_SUSPEND_THEN_AGAIN = -3, /* as SHIM_SUSPEND, and then the function is entered once more with its arguments */
};

/* ---- states ------------------------------------------------------------------------------------------ */

/* Opens a state with the standard library for scripts; returns NULL without memory. `limit` in bytes. With a
 * seed, `pairs` and `next` visit keys sorted by type and value, addresses print as serial numbers, and `math.random`
 * starts at the seed. */
shim_state *shim_open(const shim_host *host, const char *name, size_t limit, const uint64_t *seed);
void shim_set_owner(shim_state *state, void *owner);
void shim_close(shim_state *state);
/* Returns the main thread, for the host's own use of a stack; scripts run in routines. */
lua_State *shim_main(shim_state *state);
shim_state *shim_of(lua_State *L);
void *shim_owner(lua_State *L);
/* Collects all unreferenced values. */
void shim_collect(lua_State *L);
size_t shim_bytes(const shim_state *state);
size_t shim_peak(const shim_state *state);

/* ---- functions and objects --------------------------------------------------------------------------- */

/* Pushes a function that enters Swift with `box`, which must live as long as the state. */
void shim_push_function(lua_State *L, void *box);
/* Pushes `print`: makes one line of its arguments, then enters Swift with it. */
void shim_push_print(lua_State *L, void *box);

/* Pushes `try`: calls its first argument with the others; returns the results, or nil and the error. */
void shim_push_try(lua_State *L);

/* Creates a userdata type. `unknown` and `assign` are entered for a name that is neither field nor method, and for
 * an assignment: (object, key[, value]). `describe` is `tostring`. Returns the type's number, -1 without memory. */
int shim_new_type(lua_State *L, const char *name, void *unknown, void *assign, void *describe);
/* Sets the name of a type in the definitions of the Lua API: the field `__definition` of its metatable. */
void shim_define_type(lua_State *L, int type, const char *definition);
/* Pushes the metatable of a type; its fields `fields` and `methods` are tables. */
void shim_push_type(lua_State *L, int type);
void shim_add_method(lua_State *L, int type, const char *name, void *box);
void shim_add_field(lua_State *L, int type, const char *name, void *box);
/* Pushes the only userdata of `object`, which is +1 retained; released at collection, or at once when the userdata
 * already existed. */
void shim_push_object(lua_State *L, int type, void *object);
/* Returns the object at `index` when it is one of `type`, else NULL. */
void *shim_test_object(lua_State *L, int index, int type);

/* ---- errors ------------------------------------------------------------------------------------------ */

/* Sets the error metatable on the table on the top of the stack. */
void shim_make_error(lua_State *L);
/* Makes the table at the top print as its field `text`. */
void shim_describe(lua_State *L);
/* `true` if the value at `index` is a table with that metatable. */
bool shim_is_error(lua_State *L, int index);
/* Pushes the traceback of the failure that `shim_resume` last returned, a string or nil. */
void shim_push_traceback(lua_State *L);
/* `true` if the function now running was called as `object:name(…)`. */
bool shim_called_as_method(lua_State *L);
/* `true` if code of the script, or of Lua, called the running function: a routine's first function has no caller. */
bool shim_has_caller(lua_State *L);
/* Pushes `file:line` of the Lua function nearest to the running one, from `level` on, or an empty string. */
void shim_push_where(lua_State *L, int level);
/* A line of a script, and the name of the function that it calls, NULL without one. The texts are valid until the
 * stack is changed. */
typedef struct shim_site {
  const char *path; /* of the file, NULL for text that is not from a file */
  const char *file;
  size_t length;
  const char *called;
  int line;
} shim_site;
/* Finds the innermost Lua function on the stack of `L` that is not of the library; the names of the library's chunks
 * begin with `@stdlib/` or with `library`, which may be NULL. `L` is a routine, which may be suspended; a coroutine that
 * it runs is searched first. Returns `false` without such a function. */
bool shim_find_site(lua_State *L, const char *library, shim_site *site);
/* Replaces the function on the top by `file:line` of its text, by `file` when it is a whole chunk, or by an empty
 * string when it is not a Lua function. */
void shim_push_definition(lua_State *L);

/* ---- protected forms: 0 or a Lua status; the result or the error value is pushed ----------------------- */

int shim_load(lua_State *L, const char *text, size_t size, const char *chunk_name);
int shim_call(lua_State *L, int arguments, int results);
/* Pushes the result of `tostring` for the value at `index`, or a text with the failure. Never raises. */
void shim_tostring(lua_State *L, int index);

/* ---- routines ---------------------------------------------------------------------------------------- */

typedef struct shim_routine {
  /* The state's unwinding count when this routine last had to unwind; 0 = never. */
  uint64_t unwinding_since;
} shim_routine;

/* Pushes a new thread that will run the function on the top of `from`'s stack (popped). */
lua_State *shim_new_routine(lua_State *from);
/* Starts the routine with `arguments` values from its stack, or continues it with a boolean and then results (true)
 * or an error value (false). Returns LUA_YIELD while it waits for the host, LUA_OK with results on its stack, or an
 * error status with the error value on the top. */
int shim_resume(lua_State *routine, shim_routine *self, int arguments, int *results);
/* Disables catching in the routine from here on: to be called before it is resumed with the error. */
void shim_begin_unwinding(lua_State *L, shim_routine *self);
/* `true` if a function called now may suspend its routine. */
bool shim_can_suspend(lua_State *L);

/* ---- time limit -------------------------------------------------------------------------------------- */

/* Starts a watchdog, one per thread that runs states; its own thread sleeps while no Lua runs. NULL without
 * resources. */
shim_watchdog *shim_watchdog_start(void);
void shim_watchdog_stop(shim_watchdog *watchdog);
/* Starts to watch `state`: `milliseconds` without suspending raise script.blocked, `fatal` end the process. */
void shim_watch(shim_state *state, shim_watchdog *watchdog, uint32_t milliseconds, uint32_t fatal);

/* Makes the watchdog write `text` into the file at `path` when a slice of `state` has run for half of its fatal time,
 * and remove the file when the slice ends: it stays when the process ends first. Returns `false` for a path that is too
 * long, or without memory. */
bool shim_set_mark(shim_state *state, const char *path, const char *text);

/* Measured times of the slices of a state, in nanoseconds: `busy` is processor time, the others are elapsed time; and
 * the position of long slices in a script, `file:line`, or an empty text. */
typedef struct shim_usage {
  uint64_t busy, last, longest;
  char last_at[96], longest_at[96];
} shim_usage;
/* Starts to measure the slices of a watched state. */
void shim_measure(shim_state *state);
const shim_usage *shim_usage_of(const shim_state *state);

/* ---- modules ----------------------------------------------------------------------------------------- */

/* Replaces `io.read` and `io.lines`, and the same methods of files, where they read standard input: `read` and `lines`
 * are entered with the formats, and `lines` returns an iterator. */
void shim_replace_input(lua_State *L, void *read, void *lines);

/* Replaces `io.open` and `io.lines` for paths of FIFOs, sockets and devices: `open` and `lines` are entered with the
 * arguments. `io.input` and `io.output` refuse them. */
void shim_replace_files(lua_State *L, void *open, void *lines);

/* Makes `io.open`, `io.lines`, `io.input`, `io.output`, `loadfile` and `dofile` open another file: `resolve` is entered
 * with the path and the mode, or nil for "r", and returns the path to open; or nil, a failure and its number. */
void shim_layer_files(lua_State *L, void *resolve);

/* Replaces `io.write`, and the same method of files, where they write to standard output: `write` is entered with the
 * text. */
void shim_replace_output(lua_State *L, void *write);

/* Sets the host's functions for `require`: `library` is entered with a module's name before files are searched, and
 * returns its text and the name of its chunk, or nil; `wait` is entered with the name while another routine loads the
 * module, `loaded` with the name when the loading has ended; `missing` is entered with the name of a module that is not
 * found and the paths that were tried, and raises. */
void shim_set_require(lua_State *L, void *library, void *wait, void *loaded, void *missing);

/* Sets the script's own file, by its device and inode, which `require` does not find; 0, 0 if there is no file. */
void shim_set_script_file(lua_State *L, unsigned long long device, unsigned long long file);
