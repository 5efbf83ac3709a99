/* Routines of the host and coroutines of the script.
 *
 * A function that suspends yields "to the host": every coroutine between it and the routine's own thread yields in
  * turn, hidden from the script's `resume` or `wrap`, and on the way back each one resumes the next inner one.
 */
#include "internal.h"

/* ---- running a coroutine of the script's own ------------------------------------------------------------- */

enum { DIED = -1, YIELDED_TO_HOST = -2 };

/* Resumes `co` with `arguments` values from its stack. Returns the number of results on its stack; DIED, with the
 * error on its stack; or YIELDED_TO_HOST. */
static int run(lua_State *L, lua_State *co, int arguments) {
  shim_state *s = state_of(L);
  int results = 0;
  thread_set(co, THREAD_SHUT, !lua_isyieldable(L) || thread_has(L, THREAD_SHUT));
  lua_State *running = s->running;
  s->running = co;
  int status = lua_resume(co, L, arguments, &results);
  s->running = running;
  if (status == LUA_OK) return results;
  if (status != LUA_YIELD) return DIED;
  if (!s->yields_to_host) return results;
  thread_set(co, THREAD_WAITING, true);
  return YIELDED_TO_HOST;
}

/* Moves the host's values from the outer thread to the inner one, and resumes it. */
static int run_on(lua_State *L, lua_State *co, int kept) {
  int brought = lua_gettop(L) - kept;
  thread_set(co, THREAD_WAITING, false);
  if (!lua_checkstack(co, brought)) return luaL_error(L, "too many values to resume with");
  lua_xmove(L, co, brought);
  return run(L, co, brought);
}

/* Returns NULL if `co` can be resumed, else the reason why it can't. */
static const char *unresumable(lua_State *L, lua_State *co) {
  if (L == co || thread_has(co, THREAD_WAITING)) return "cannot resume non-suspended coroutine";
  if (lua_status(co) == LUA_YIELD) return NULL;
  lua_Debug ar;
  if (lua_status(co) == LUA_OK && !lua_getstack(co, 0, &ar)) {
    return lua_gettop(co) > 0 ? NULL : "cannot resume dead coroutine";
  }
  return lua_status(co) == LUA_OK ? "cannot resume non-suspended coroutine" : "cannot resume dead coroutine";
}

static int take_results(lua_State *L, lua_State *co, int results) {
  if (!lua_checkstack(L, results + 1)) {
    lua_pop(co, results);
    return luaL_error(L, "too many results to resume");
  }
  lua_xmove(co, L, results);
  return results;
}

/* ---- coroutine.create: a body that closes its variables when it fails, while it can still suspend ---------- */

static int body_ended(lua_State *L, int status, lua_KContext context) {
  (void)context;
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - 1;
  if (status == LUA_ERRMEM) push_memory_error(L);
  return lua_error(L);
}

static int body(lua_State *L) {
  lua_pushcfunction(L, keep_traceback);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_rotate(L, 1, 2);
  return body_ended(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, body_ended), 0);
}

static lua_State *new_thread(lua_State *L, int function) {
  lua_State *co = lua_newthread(L);
  *thread_space(co) = (uintptr_t)state_of(L);
  lua_pushvalue(L, function);
  lua_xmove(L, co, 1);
  lua_pushcclosure(co, body, 1);
  return co;
}

static int co_create(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  new_thread(L, 1);
  return 1;
}

/* ---- coroutine.resume ------------------------------------------------------------------------------------ */

static lua_State *check_thread(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  return co;
}

/* `true` for threads that only the host resumes and ends: a routine's own, and the state's main thread. */
static bool is_host_thread(lua_State *L, lua_State *co) {
  return co == state_of(L)->main || thread_has(co, THREAD_BASE);
}

/* Returns the coroutine in argument 1; raises for a thread of the host, whose results and stack are not the
 * script's. */
static lua_State *check_own_thread(lua_State *L, const char *verb) {
  lua_State *co = check_thread(L);
  if (!is_host_thread(L, co)) return co;
  shim_state *s = state_of(L);
  s->swift_depth++;
  s->host.push_routine_name(L, s->owner, co);
  s->swift_depth--;
  lua_pushfstring(L, "cannot %s the routine \"%s\": it belongs to the host, no script created it", verb,
                  lua_tostring(L, -1));
  return (raise_error(L, "argument", lua_tostring(L, -1),
                      "only coroutines of coroutine.create can be resumed and closed; task.spawn starts a routine", 1),
          NULL);
}

static int resume_ran(lua_State *L, lua_State *co, int outcome, uint64_t since);

/* The context is the count of unwindings at entry; the stack holds the coroutine and the host's values. */
static int resume_continues(lua_State *L, int status, lua_KContext since) {
  (void)status;
  lua_State *co = lua_tothread(L, 1);
  return resume_ran(L, co, run_on(L, co, 1), (uint64_t)since);
}

static int resume_ran(lua_State *L, lua_State *co, int outcome, uint64_t since) {
  if (outcome == YIELDED_TO_HOST) {
    lua_settop(L, 1);
    return lua_yieldk(L, 0, (lua_KContext)since, resume_continues);
  }
  lua_settop(L, 1);
  if (outcome == DIED) {
    lua_xmove(co, L, 1);
    if (unwinding_after(state_of(L), since)) return lua_error(L);
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
  }
  lua_pushboolean(L, 1);
  return take_results(L, co, outcome) + 1;
}

static int co_resume(lua_State *L) {
  lua_State *co = check_own_thread(L, "resume");
  const char *refused = unresumable(L, co);
  int arguments = lua_gettop(L) - 1;
  if (refused == NULL && !lua_checkstack(co, arguments)) refused = "too many arguments to resume";
  if (refused != NULL) {
    lua_pushboolean(L, 0);
    lua_pushstring(L, refused);
    return 2;
  }
  lua_xmove(L, co, arguments);
  uint64_t since = state_of(L)->unwindings;
  return resume_ran(L, co, run(L, co, arguments), since);
}

/* ---- coroutine.wrap -------------------------------------------------------------------------------------- */

static int wrap_ran(lua_State *L, lua_State *co, int outcome);

static int wrap_continues(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  return wrap_ran(L, co, run_on(L, co, 0));
}

static int wrap_ran(lua_State *L, lua_State *co, int outcome) {
  lua_settop(L, 0);
  if (outcome == YIELDED_TO_HOST) return lua_yieldk(L, 0, 0, wrap_continues);
  if (outcome != DIED) return take_results(L, co, outcome);
  lua_xmove(co, L, 1);
  if (lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  const char *refused = unresumable(L, co);
  if (refused != NULL) return luaL_error(L, "%s", refused);
  int arguments = lua_gettop(L);
  if (!lua_checkstack(co, arguments)) return luaL_error(L, "too many arguments to resume");
  lua_xmove(L, co, arguments);
  return wrap_ran(L, co, run(L, co, arguments));
}

static int co_wrap(lua_State *L) {
  if (lua_isthread(L, 1)) check_own_thread(L, "wrap");
  co_create(L);
  lua_pushcclosure(L, wrapped, 1);
  return 1;
}

/* ---- the rest of the library ------------------------------------------------------------------------------ */

static int co_yield(lua_State *L) {
  if (thread_has(L, THREAD_BASE)) return luaL_error(L, "attempt to yield from outside a coroutine");
  return lua_yield(L, lua_gettop(L));
}

static const char *status_name(lua_State *L, lua_State *co) {
  if (L == co) return "running";
  if (thread_has(co, THREAD_WAITING)) return "normal";
  if (is_host_thread(L, co) && lua_status(co) == LUA_YIELD) return "normal";
  if (unresumable(L, co) == NULL) return "suspended";
  lua_Debug ar;
  return lua_status(co) == LUA_OK && lua_getstack(co, 0, &ar) ? "normal" : "dead";
}

static int co_status(lua_State *L) {
  lua_pushstring(L, status_name(L, check_thread(L)));
  return 1;
}

static int co_running(lua_State *L) {
  lua_pushboolean(L, lua_pushthread(L) || thread_has(L, THREAD_BASE));
  return 2;
}

static int co_isyieldable(lua_State *L) {
  lua_State *co = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
  lua_pushboolean(L, lua_isyieldable(co) && !thread_has(co, THREAD_BASE));
  return 1;
}

/* Bytes of C stack that a slice may have used when it closes a coroutine. Lua 5.4.4 restarts its count of C calls in
 * the closed coroutine, so its own limit of nested C calls does not hold across `close`. */
enum { CLOSE_STACK = 256 << 10 };

static int co_close(lua_State *L) {
  lua_State *co = check_own_thread(L, "close");
  const char *status = status_name(L, co);
  if (status[0] == 'r' || status[0] == 'n') return luaL_error(L, "cannot close a %s coroutine", status);
  shim_state *s = state_of(L);
  if (s->stack_base - (char *)__builtin_frame_address(0) > CLOSE_STACK) return luaL_error(L, "C stack overflow");
  uint64_t since = s->unwindings;
  lua_State *running = s->running;
  s->running = co;
  thread_set(co, THREAD_SHUT, true);
  int result = lua_resetthread(co);
  s->running = running;
  if (result == LUA_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushboolean(L, 0);
  lua_xmove(co, L, 1);
  if (unwinding_after(s, since)) return lua_error(L);
  return 2;
}

void open_coroutine(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"create", co_create}, {"resume", co_resume},   {"wrap", co_wrap},
      {"yield", co_yield},   {"status", co_status},   {"running", co_running},
      {"close", co_close},   {"isyieldable", co_isyieldable}, {NULL, NULL},
  };
  lua_getglobal(L, "coroutine");
  luaL_setfuncs(L, functions, 0);
  lua_pop(L, 1);
}

/* ---- routines ---------------------------------------------------------------------------------------------- */

/* Stack: message handler, results or the error. */
static int routine_ended(lua_State *L, int status, lua_KContext context) {
  (void)context;
  shim_routine *self = state_of(L)->routine;
  bool is_unwinding = lua_rawgetp(L, LUA_REGISTRYINDEX, self) != LUA_TNIL;
  if (is_unwinding) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, self);
    return lua_error(L);
  }
  lua_pop(L, 1);
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - 1;
  if (status == LUA_ERRMEM) push_memory_error(L);
  return lua_error(L);
}

static int routine_body(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushcfunction(L, keep_traceback);
  lua_insert(L, 1);
  return routine_ended(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, routine_ended), 0);
}

lua_State *shim_new_routine(lua_State *from) {
  lua_State *routine = lua_newthread(from);
  *thread_space(routine) = (uintptr_t)state_of(from) | THREAD_BASE;
  lua_insert(from, -2);
  lua_pushcfunction(routine, routine_body);
  lua_xmove(from, routine, 1);
  return routine;
}

int shim_resume(lua_State *L, shim_routine *self, int arguments, int *results) {
  shim_state *s = state_of(L);
  if (lua_status(L) == LUA_OK) arguments++; /* at the start the function is an argument of the body's */
  int depth = s->swift_depth;
  s->swift_depth = 0;
  s->routine = self;
  s->running = L;
  s->stack_base = __builtin_frame_address(0);
  s->yields_to_host = false;
  watchdog_enter(s);
  int status = lua_resume(L, NULL, arguments, results);
  watchdog_leave(s);
  s->yields_to_host = false;
  s->running = NULL;
  s->routine = NULL;
  s->swift_depth = depth;
  return status;
}

void shim_begin_unwinding(lua_State *L, shim_routine *self) {
  self->unwinding_since = ++state_of(L)->unwindings;
}

bool shim_can_suspend(lua_State *L) {
  return state_of(L)->routine != NULL && lua_isyieldable(L) && !thread_has(L, THREAD_SHUT);
}
