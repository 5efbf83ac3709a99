/* Determinism: the same script with the same inputs behaves alike in every process: order of keys, text of
 * addresses, random numbers. */
#include "determinism.h"

/* Upvalues: Lua's math.randomseed, the seed. Without arguments it restarts at the seed, not at the time. */
static int steady_randomseed(lua_State *L) {
  int n = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (n == 0) lua_pushvalue(L, lua_upvalueindex(2));
  lua_call(L, n == 0 ? 1 : n, 0);
  return 0;
}

/* Numbers the C functions of the table on the top in the order of their names, and pops it. */
static void number_light_functions(lua_State *L) {
  int library = lua_gettop(L);
  push_sorted_keys(L, library);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    if (lua_rawget(L, library) == LUA_TFUNCTION) serial_of(L, -1);
    lua_pop(L, 1);
  }
  lua_settop(L, library - 1);
}

/* Numbers the function that `library.name(argument, true)` returns. */
static void number_iterator(lua_State *L, const char *library, const char *name, bool is_lax) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_pushliteral(L, "");
  lua_pushboolean(L, is_lax);
  lua_call(L, 2, 1);
  serial_of(L, -1);
  lua_pop(L, 2);
}

/* Numbers all C functions before a script can use them as keys, whose order would then be that of their addresses. */
static void number_all_light_functions(lua_State *L) {
  static const char *const libraries[] = {"_G",     "coroutine", "io",   "math",  "os",
                                          "string", "table",     "utf8", "debug", "package"};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    lua_getglobal(L, libraries[i]);
    number_light_functions(L);
  }
  luaL_getmetatable(L, LUA_FILEHANDLE);
  lua_getfield(L, -1, "__index");
  number_light_functions(L);
  number_light_functions(L);
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1); /* arithmetic on strings */
  number_light_functions(L);
  lua_pop(L, 1);
  number_iterator(L, "_G", "ipairs", false);
  number_iterator(L, "utf8", "codes", false);
  number_iterator(L, "utf8", "codes", true);
}

/* Replaces a function by `function`, which has the original as upvalue. */
static void replace(lua_State *L, const char *library, const char *name, lua_CFunction function) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

static void replace_randomseed(lua_State *L) {
  lua_getglobal(L, "math");
  lua_getfield(L, -1, "randomseed");
  lua_pushinteger(L, (lua_Integer)state_of(L)->seed);
  lua_pushcclosure(L, steady_randomseed, 2);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "randomseed");
  lua_call(L, 0, 0);
  lua_pop(L, 1);
}

void open_determinism(lua_State *L) {
  open_serials(L);
  lua_register(L, "pairs", steady_pairs);
  lua_register(L, "next", steady_next);
  lua_register(L, "tostring", steady_tostring);
  replace(L, "string", "format", steady_format);
  luaL_getmetatable(L, LUA_FILEHANDLE);
  lua_pushcfunction(L, file_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_settop(L, 0);
  number_all_light_functions(L);
  replace_randomseed(L);
}
