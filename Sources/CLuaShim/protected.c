/* Protected calls: a script can catch every error except the one that unwinds its routine. */
#include "internal.h"

#include <string.h>

/* Replaces the error value on the top by its form for scripts: Lua's memory error is a bare text. */
static void present_error(lua_State *L, int status) {
  if (status == LUA_ERRMEM) {
    lua_pop(L, 1);
    push_memory_error(L);
  }
}

/* ---- pcall -------------------------------------------------------------------------------------------- */

static int pcall_ended(lua_State *L, int status, lua_KContext since) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L);
  if (unwinding_after(state_of(L), (uint64_t)since)) return lua_error(L);
  present_error(L, status);
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

static int protected_call(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  lua_KContext since = (lua_KContext)state_of(L)->unwindings;
  return pcall_ended(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, since, pcall_ended), since);
}

/* ---- try ---------------------------------------------------------------------------------------------- */

static int try_ended(lua_State *L, int status, lua_KContext since) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L);
  if (unwinding_after(state_of(L), (uint64_t)since)) return lua_error(L);
  present_error(L, status);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

static int try_call(lua_State *L) {
  luaL_checkany(L, 1);
  lua_KContext since = (lua_KContext)state_of(L)->unwindings;
  return try_ended(L, lua_pcallk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, since, try_ended), since);
}

void shim_push_try(lua_State *L) { lua_pushcfunction(L, try_call); }

/* ---- xpcall ------------------------------------------------------------------------------------------- */

/* Upvalues: the script's handler, the count of unwindings at entry. */
static int guarded_handler(lua_State *L) {
  uint64_t since = (uint64_t)lua_tointeger(L, lua_upvalueindex(2));
  lua_settop(L, 1);
  if (unwinding_after(state_of(L), since)) return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

/* Stack: f, handler, true, results… */
static int xpcall_ended(lua_State *L, int status, lua_KContext since) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - 2;
  if (unwinding_after(state_of(L), (uint64_t)since)) return lua_error(L);
  present_error(L, status);
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

static int protected_call_with_handler(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  uint64_t since = state_of(L)->unwindings;
  int arguments = lua_gettop(L) - 2;
  lua_pushvalue(L, 2);
  lua_pushinteger(L, (lua_Integer)since);
  lua_pushcclosure(L, guarded_handler, 2);
  lua_replace(L, 2);
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2); /* f, handler, true, f, arguments… */
  int status = lua_pcallk(L, arguments, LUA_MULTRET, 2, (lua_KContext)since, xpcall_ended);
  return xpcall_ended(L, status, (lua_KContext)since);
}

/* ---- load, loadfile, dofile: text only ------------------------------------------------------------------ */

static int refuse_binary(lua_State *L, int argument) {
  const char *mode = luaL_optstring(L, argument, "t");
  if (strchr(mode, 't') == NULL) return luaL_argerror(L, argument, "only text can be loaded");
  return 0;
}

static int load_text(lua_State *L) {
  bool has_environment = lua_gettop(L) >= 4;
  refuse_binary(L, 3);
  uint64_t since = state_of(L)->unwindings;
  lua_settop(L, 5);
  size_t size;
  const char *text = lua_tolstring(L, 1, &size);
  if (text == NULL) luaL_checktype(L, 1, LUA_TFUNCTION);
  int status = text != NULL ? load_pieces(L, text, size, luaL_optstring(L, 2, text))
                            : load_from_reader(L, luaL_optstring(L, 2, "=(load)"));
  /* The error of an interrupted reader function has been turned into a result. */
  if (unwinding_after(state_of(L), since)) return lua_error(L);
  if (status != LUA_OK) {
    present_error(L, status);
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  if (has_environment) {
    lua_pushvalue(L, 4);
    if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
  }
  return 1;
}

static int loadfile_text(lua_State *L) {
  luaL_checkstring(L, 1);
  refuse_binary(L, 2);
  const char *path = check_file_argument(L);
  bool has_environment = !lua_isnone(L, 3);
  bool is_refused = is_definition_file(path);
  if (is_refused) push_definition_message(L, path);
  if (is_refused || load_file(L, path) != LUA_OK) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  if (has_environment) {
    lua_pushvalue(L, 3);
    if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
  }
  return 1;
}

static int dofile_ended(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return lua_gettop(L) - 1;
}

static int dofile_text(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  const char *path = check_file_argument(L);
  if (is_definition_file(path)) return raise_definition_error(L, path);
  if (load_file(L, path) != LUA_OK) return lua_error(L);
  lua_callk(L, 0, LUA_MULTRET, 0, dofile_ended);
  return dofile_ended(L, LUA_OK, 0);
}

/* ---- setmetatable -------------------------------------------------------------------------------------- */

static int set_metatable(lua_State *L) {
  int type = lua_type(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
  if (type == LUA_TTABLE) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) != LUA_TNIL)
      return luaL_argerror(L, 2, "'__gc' isn't there for scripts: use a variable with <close>");
    lua_pop(L, 1);
  }
  if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
    return luaL_error(L, "cannot change a protected metatable");
  lua_settop(L, 2);
  lua_setmetatable(L, 1);
  return 1;
}

void open_protected(lua_State *L) {
  lua_register(L, "pcall", protected_call);
  lua_register(L, "xpcall", protected_call_with_handler);
  lua_register(L, "load", load_text);
  lua_register(L, "loadfile", loadfile_text);
  lua_register(L, "dofile", dofile_text);
  lua_register(L, "setmetatable", set_metatable);
}

/* ---- for the host -------------------------------------------------------------------------------------- */

/* The fields of the state that a call outside of a routine changes, to be restored. Between slices the call is a slice
 * of its own, so that it is watched. */
typedef struct entry {
  shim_routine own;
  bool is_slice;
  int depth;
  lua_State *running;
} entry;

static void enter(lua_State *L, entry *call) {
  shim_state *s = state_of(L);
  *call = (entry){{0}, s->routine == NULL, s->swift_depth, s->running};
  s->swift_depth = 0;
  s->running = L;
  if (!call->is_slice) return;
  s->routine = &call->own;
  s->stack_base = __builtin_frame_address(0);
  watchdog_enter(s);
}

static void leave(lua_State *L, entry *call) {
  shim_state *s = state_of(L);
  if (call->is_slice) {
    watchdog_leave(s);
    s->routine = NULL;
  }
  s->running = call->running;
  s->swift_depth = call->depth;
  if (!call->is_slice || call->own.unwinding_since == 0) return;
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &call->own);
}

int shim_call(lua_State *L, int arguments, int results) {
  entry call;
  enter(L, &call);
  int status = lua_pcall(L, arguments, results, 0);
  leave(L, &call);
  if (status == LUA_ERRMEM) present_error(L, status);
  return status;
}

int shim_load(lua_State *L, const char *text, size_t size, const char *chunk_name) {
  entry call;
  enter(L, &call);
  int status = load_pieces(L, text, size, chunk_name);
  leave(L, &call);
  if (status == LUA_ERRMEM) present_error(L, status);
  return status;
}

static int tostring_inside(lua_State *L) {
  push_readable(L, 1);
  return 1;
}

void shim_tostring(lua_State *L, int index) {
  lua_pushvalue(L, index);
  lua_pushcfunction(L, tostring_inside);
  lua_insert(L, -2);
  if (shim_call(L, 1, 1) == LUA_OK) return;
  lua_pop(L, 1);
  lua_pushfstring(L, "<%s: tostring failed>", luaL_typename(L, index));
}
