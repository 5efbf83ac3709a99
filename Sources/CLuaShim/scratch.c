/* Functions that open a file by its path, in a simulation: files that a script writes are kept in a layer above the
 * real files, so the path is replaced by that of the file to open. */
#include "internal.h"

#include <lualib.h>

/* Upvalues of `layered`: those of the function that it replaces, at their own positions, then these. */
enum { OWN_UPVALUES = 4, RESOLVER, OWN, MODE, RAISES };

/* Replaces the path in argument 1, then continues in the function that this one replaces, in the same frame. */
static int layered(lua_State *L) {
  lua_CFunction own = lua_tocfunction(L, lua_upvalueindex(OWN));
  if (lua_type(L, 1) != LUA_TSTRING) return own(L);
  int count = lua_gettop(L);
  shim_push_function(L, lua_touserdata(L, lua_upvalueindex(RESOLVER)));
  lua_pushvalue(L, 1);
  if (lua_isnil(L, lua_upvalueindex(MODE)) && count >= 2) {
    lua_pushvalue(L, 2);
  } else {
    lua_pushvalue(L, lua_upvalueindex(MODE));
  }
  lua_call(L, 2, 3);
  if (lua_isnil(L, -3)) {
    if (lua_toboolean(L, lua_upvalueindex(RAISES))) return luaL_error(L, "%s", lua_tostring(L, -2));
    return 3;
  }
  lua_pop(L, 2);
  lua_replace(L, 1);
  return own(L);
}

/* Replaces a function of the table on the top.
 * `mode`: the mode in which it opens the file; NULL for its argument 2. `raises`: it fails by an error, else by nil and
 * a message. */
static void layer(lua_State *L, const char *name, const char *mode, bool raises, void *resolve) {
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION) {
    lua_pop(L, 1);
    return;
  }
  int function = lua_gettop(L);
  for (int number = 1; number <= OWN_UPVALUES; number++) {
    if (lua_getupvalue(L, function, number) == NULL) lua_pushnil(L);
  }
  lua_pushlightuserdata(L, resolve);
  lua_pushvalue(L, function);
  lua_pushstring(L, mode);
  lua_pushboolean(L, raises);
  lua_pushcclosure(L, layered, RAISES);
  lua_setfield(L, function - 1, name);
  lua_settop(L, function - 1);
}

void shim_layer_files(lua_State *L, void *resolve) {
  int top = lua_gettop(L);
  if (lua_getglobal(L, "io") == LUA_TTABLE) {
    layer(L, "open", NULL, false, resolve);
    layer(L, "lines", "r", true, resolve);
    layer(L, "input", "r", true, resolve);
    layer(L, "output", "w", true, resolve);
  }
  lua_pushglobaltable(L);
  layer(L, "loadfile", "r", false, resolve);
  layer(L, "dofile", "r", true, resolve);
  lua_settop(L, top);
}
