/* Serial numbers in place of addresses: in tostring, and for the order of keys. */
#include "determinism.h"

static const char light_functions_key = 0;

static bool is_light_function(lua_State *L, int index) {
  if (!lua_iscfunction(L, index)) return false;
  if (lua_getupvalue(L, index, 1) == NULL) return true;
  lua_pop(L, 1);
  return false;
}

/* Returns the number of a C function without a block: they count down from -1, in the order in which they are first
 * used; 0 in the table holds the last number. */
static lua_Integer light_function_serial(lua_State *L, const void *address) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &light_functions_key);
  if (lua_rawgetp(L, -1, address) == LUA_TNIL) {
    lua_rawgeti(L, -2, 0);
    lua_Integer serial = lua_tointeger(L, -1) - 1;
    lua_pushinteger(L, serial);
    lua_rawsetp(L, -4, address);
    lua_pushinteger(L, serial);
    lua_rawseti(L, -4, 0);
    lua_pop(L, 3);
    return serial;
  }
  lua_Integer serial = lua_tointeger(L, -1);
  lua_pop(L, 2);
  return serial;
}

lua_Integer serial_of(lua_State *L, int index) {
  const char *address = lua_topointer(L, index);
  switch (lua_type(L, index)) {
    case LUA_TUSERDATA: address -= state_of(L)->userdata_offset; break;
    case LUA_TTHREAD: address -= LUA_EXTRASPACE; break;
    case LUA_TFUNCTION:
      if (is_light_function(L, index)) return light_function_serial(L, address);
  }
  return (lua_Integer)((const block_header *)address - 1)->serial;
}

bool has_address(lua_State *L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TTABLE: case LUA_TFUNCTION: case LUA_TTHREAD: case LUA_TUSERDATA: return true;
    default: return false;
  }
}

/* Pushes the result of tostring, with a serial number in place of an address. */
void push_readable(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!state_of(L)->deterministic || !has_address(L, index)) {
    luaL_tolstring(L, index, NULL);
    return;
  }
  if (luaL_getmetafield(L, index, "__tostring") != LUA_TNIL) {
    lua_pop(L, 1);
    luaL_tolstring(L, index, NULL);
    return;
  }
  int top = lua_gettop(L);
  const char *kind = luaL_typename(L, index);
  if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING) kind = lua_tostring(L, -1);
  lua_pushfstring(L, "%s: %I", kind, (LUAI_UACINT)serial_of(L, index));
  lua_insert(L, top + 1);
  lua_settop(L, top + 1);
}

int steady_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  push_readable(L, 1);
  return 1;
}

int file_tostring(lua_State *L) {
  const luaL_Stream *file = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  if (file->closef == NULL) lua_pushliteral(L, "file (closed)");
  else lua_pushfstring(L, "file (%I)", (LUAI_UACINT)serial_of(L, 1));
  return 1;
}

/* Finds the distance from a userdata's block to its memory. */
static void measure_userdata(lua_State *L) {
  shim_state *s = state_of(L);
  const char *memory = lua_newuserdatauv(L, 1, 0);
  /* The block of the userdata has the newest number. It begins a whole number of words before the memory. */
  for (size_t offset = 0; offset <= 128; offset += 8) {
    if (((const block_header *)(memory - offset) - 1)->serial == s->created) {
      s->userdata_offset = offset;
      break;
    }
  }
  lua_pop(L, 1);
}

void open_serials(lua_State *L) {
  measure_userdata(L);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &light_functions_key);
}
