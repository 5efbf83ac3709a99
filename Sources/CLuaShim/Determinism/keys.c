/* Tables whose keys are visited in sorted order: by pairs, and as lists. */
#include "determinism.h"

#include <stdlib.h>
#include <string.h>

int compare_keys(const void *left, const void *right) {
  const sort_key *a = left, *b = right;
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  if (a->type == LUA_TSTRING) {
    size_t common = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->text, b->text, common);
    if (order != 0) return order;
    return a->size < b->size ? -1 : a->size > b->size;
  }
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return a->integer < b->integer ? -1 : a->integer > b->integer;
}

sort_key sort_key_of(lua_State *L, int at) {
  sort_key k = {.type = lua_type(L, -1), .at = at};
  if (k.type == LUA_TNUMBER) {
    k.number = lua_tonumber(L, -1);
    k.integer = lua_tointeger(L, -1);
  } else if (k.type == LUA_TSTRING) {
    k.text = lua_tolstring(L, -1, &k.size);
  } else if (k.type == LUA_TBOOLEAN) {
    k.integer = lua_toboolean(L, -1);
  } else {
    k.integer = has_address(L, -1) ? serial_of(L, -1) : 0;
  }
  return k;
}

lua_Integer push_sorted_keys(lua_State *L, int table) {
  table = lua_absindex(L, table);
  int count = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, ++count);
  }
  sort_key *keys = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof *keys, 0);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, i + 1);
    keys[i] = sort_key_of(L, i + 1);
    lua_pop(L, 1);
  }
  qsort(keys, (size_t)count, sizeof *keys, compare_keys);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, keys[i].at);
    lua_rawseti(L, -2, i + 1);
  }
  lua_replace(L, list);
  lua_settop(L, list);
  return count;
}

lua_Integer push_next(lua_State *L, int table, int keys, lua_Integer at, lua_Integer count) {
  for (; at <= count; at++) {
    lua_rawgeti(L, keys, at);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, table) != LUA_TNIL) return at + 1;
    lua_pop(L, 2);
  }
  lua_pushnil(L);
  return 0;
}

/* Upvalues: sorted keys, position, number of keys. */
static int steady_step(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  lua_Integer at = push_next(L, 1, lua_upvalueindex(1), lua_tointeger(L, lua_upvalueindex(2)),
                             lua_tointeger(L, lua_upvalueindex(3)));
  if (at == 0) return 1;
  lua_pushinteger(L, at);
  lua_replace(L, lua_upvalueindex(2));
  return 2;
}

static int pairs_ended(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 3;
}

int steady_pairs(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 3, 0, pairs_ended);
    return 3;
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer count = push_sorted_keys(L, 1);
  lua_pushinteger(L, 1);
  lua_pushinteger(L, count);
  lua_pushcclosure(L, steady_step, 3);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}
