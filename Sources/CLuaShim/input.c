/* Standard input and output of Lua's `io`: calls that would block every routine, or bypass the host, enter Swift.
 * All other files stay Lua's. */
#include "internal.h"

/* Upvalues of all functions here: box, Lua's own function, the handle of standard input or output. */

/* Calls Lua's own function in the frame of the caller. */
static int enter_own(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(2))(L); }

/* `true` if `io.input()` is standard input. */
static bool reads_standard_input(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "_IO_input");
  bool same = lua_rawequal(L, -1, lua_upvalueindex(3));
  lua_pop(L, 1);
  return same;
}

static int read_default(lua_State *L) {
  if (!reads_standard_input(L)) return enter_own(L);
  return enter_swift(L, lua_touserdata(L, lua_upvalueindex(1)));
}

/* `io.lines(nil, …)` reads the file of `io.input()`. */
static int lines_default(lua_State *L) {
  if (!lua_isnoneornil(L, 1) || !reads_standard_input(L)) return enter_own(L);
  if (lua_gettop(L) > 0) lua_remove(L, 1);
  return enter_swift(L, lua_touserdata(L, lua_upvalueindex(1)));
}

/* The methods `file:read(…)` and `file:lines(…)`. */
static int method_of_file(lua_State *L) {
  if (lua_gettop(L) == 0 || !lua_rawequal(L, 1, lua_upvalueindex(3))) return enter_own(L);
  lua_remove(L, 1);
  return enter_swift(L, lua_touserdata(L, lua_upvalueindex(1)));
}

/* Enters Swift with the text of the arguments from `first` on; the result is standard output. */
static int write_text(lua_State *L, int first) {
  luaL_Buffer text;
  int count = lua_gettop(L);
  for (int number = first; number <= count; number++) luaL_checkstring(L, number);
  luaL_buffinit(L, &text);
  for (int number = first; number <= count; number++) {
    lua_pushvalue(L, number);
    luaL_addvalue(&text);
  }
  luaL_pushresult(&text);
  lua_replace(L, 1);
  lua_settop(L, 1);
  int code = enter_swift(L, lua_touserdata(L, lua_upvalueindex(1)));
  (void)code;
  lua_pushvalue(L, lua_upvalueindex(3));
  return 1;
}

static int write_default(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "_IO_output");
  bool same = lua_rawequal(L, -1, lua_upvalueindex(3));
  lua_pop(L, 1);
  if (!same) return enter_own(L);
  lua_pushnil(L);
  lua_insert(L, 1);
  return write_text(L, 2);
}

static int write_of_file(lua_State *L) {
  if (lua_gettop(L) == 0 || !lua_rawequal(L, 1, lua_upvalueindex(3))) return enter_own(L);
  return write_text(L, 2);
}

/* Replaces a function of the table on the top, if the table has one of this name; `standard` is the field of `io` with
 * the file. */
static void replace(lua_State *L, const char *name, const char *standard, lua_CFunction function, void *box) {
  lua_pushlightuserdata(L, box);
  if (lua_getfield(L, -2, name) != LUA_TFUNCTION) {
    lua_pop(L, 2);
    return;
  }
  replace_by_own(L);
  lua_getglobal(L, "io");
  lua_getfield(L, -1, standard);
  lua_remove(L, -2);
  lua_pushcclosure(L, function, 3);
  lua_setfield(L, -2, name);
}

void shim_replace_input(lua_State *L, void *read, void *lines) {
  int top = lua_gettop(L);
  if (lua_getglobal(L, "io") == LUA_TTABLE) {
    replace(L, "read", "stdin", read_default, read);
    replace(L, "lines", "stdin", lines_default, lines);
  }
  if (luaL_getmetatable(L, LUA_FILEHANDLE) == LUA_TTABLE && lua_getfield(L, -1, "__index") == LUA_TTABLE) {
    replace(L, "read", "stdin", method_of_file, read);
    replace(L, "lines", "stdin", method_of_file, lines);
  }
  lua_settop(L, top);
}

void shim_replace_output(lua_State *L, void *write) {
  int top = lua_gettop(L);
  if (lua_getglobal(L, "io") == LUA_TTABLE) replace(L, "write", "stdout", write_default, write);
  if (luaL_getmetatable(L, LUA_FILEHANDLE) == LUA_TTABLE && lua_getfield(L, -1, "__index") == LUA_TTABLE)
    replace(L, "write", "stdout", write_of_file, write);
  lua_settop(L, top);
}
