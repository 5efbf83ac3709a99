/* The same script with the same inputs does the same in every process: order of keys, names of addresses, chance. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const char light_functions_key = 0, walks_key = 0;

/* ---- serial numbers instead of addresses ------------------------------------------------------------------- */

static bool is_light_function(lua_State *L, int index) {
  if (!lua_iscfunction(L, index)) return false;
  if (lua_getupvalue(L, index, 1) == NULL) return true;
  lua_pop(L, 1);
  return false;
}

/* When the value at `index` was created, counted in objects; C functions without a block of their own come first,
 * in the order of their names. */
static lua_Integer serial_of(lua_State *L, int index) {
  const char *address = lua_topointer(L, index);
  switch (lua_type(L, index)) {
    case LUA_TUSERDATA: address -= state_of(L)->userdata_offset; break;
    case LUA_TTHREAD: address -= LUA_EXTRASPACE; break;
    case LUA_TFUNCTION:
      if (is_light_function(L, index)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &light_functions_key);
        lua_rawgetp(L, -1, address);
        lua_Integer serial = lua_tointeger(L, -1);
        lua_pop(L, 2);
        return serial;
      }
  }
  return (lua_Integer)((const block_header *)address - 1)->serial;
}

static bool has_address(lua_State *L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TTABLE: case LUA_TFUNCTION: case LUA_TTHREAD: case LUA_TUSERDATA: return true;
    default: return false;
  }
}

/* What tostring gives, with a serial number in place of an address. */
static void push_text(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!has_address(L, index) || luaL_getmetafield(L, index, "__tostring") != LUA_TNIL) {
    luaL_tolstring(L, index, NULL);
    return;
  }
  const char *kind = luaL_typename(L, index);
  if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING) kind = lua_tostring(L, -1);
  lua_pushfstring(L, "%s: %d", kind, (int)serial_of(L, index));
}

static int steady_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  push_text(L, 1);
  return 1;
}

/* Upvalue: Lua's string.format. `%p` becomes `%s` of the serial number. */
static int steady_format(lua_State *L) {
  luaL_checkstring(L, 1);
  int n = lua_gettop(L);
  luaL_gsub(L, lua_tostring(L, 1), "%p", "%s");
  lua_replace(L, 1);
  for (int i = 2; i <= n; i++) {
    if (!has_address(L, i)) continue;
    push_text(L, i);
    lua_replace(L, i);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, n, 1);
  return 1;
}

/* ---- sorted keys ------------------------------------------------------------------------------------------- */

typedef struct sort_key {
  int type, at; /* Lua type; place in the list as collected */
  double number;
  lua_Integer integer;
  const char *text;
  size_t size;
} sort_key;

static int compare(const void *left, const void *right) {
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

/* Pushes a list of the keys of the table at `table`, sorted by type and value. */
static void push_sorted_keys(lua_State *L, int table) {
  table = lua_absindex(L, table);
  int count = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, ++count);
  }
  sort_key *keys = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof *keys, 0);
  memset(keys, 0, (size_t)(count + 1) * sizeof *keys);
  for (int i = 0; i < count; i++) {
    sort_key *k = &keys[i];
    k->at = i + 1;
    k->type = lua_rawgeti(L, list, i + 1);
    if (k->type == LUA_TNUMBER) {
      k->number = lua_tonumber(L, -1);
      k->integer = lua_tointeger(L, -1);
    } else if (k->type == LUA_TSTRING) {
      k->text = lua_tolstring(L, -1, &k->size); /* stays alive in the list */
    } else if (k->type == LUA_TBOOLEAN) {
      k->integer = lua_toboolean(L, -1);
    } else {
      k->integer = has_address(L, -1) ? serial_of(L, -1) : 0;
    }
    lua_pop(L, 1);
  }
  qsort(keys, (size_t)count, sizeof *keys, compare);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, keys[i].at);
    lua_rawseti(L, -2, i + 1);
  }
  lua_replace(L, list);
  lua_settop(L, list);
}

/* From place `at` in the list at `keys`: pushes the next key that still has a value, and the value; returns the
 * place after it, 0 at the end (one nil pushed). */
static lua_Integer push_next(lua_State *L, int table, int keys, lua_Integer at) {
  for (;; at++) {
    if (lua_rawgeti(L, keys, at) == LUA_TNIL) return 0;
    lua_pushvalue(L, -1);
    if (lua_rawget(L, table) != LUA_TNIL) return at + 1;
    lua_pop(L, 2);
  }
}

/* Upvalues: sorted keys, place. */
static int steady_step(lua_State *L) {
  lua_settop(L, 2);
  lua_Integer at = push_next(L, 1, lua_upvalueindex(1), lua_tointeger(L, lua_upvalueindex(2)));
  if (at == 0) return 1;
  lua_pushinteger(L, at);
  lua_replace(L, lua_upvalueindex(2));
  return 2;
}

static int pairs_ended(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 3;
}

static int steady_pairs(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 3, 0, pairs_ended);
    return 3;
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  push_sorted_keys(L, 1);
  lua_pushinteger(L, 1);
  lua_pushcclosure(L, steady_step, 2);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static void push_weak_keyed(lua_State *L, const void *key) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

/* A walk by `next` sorts once, when it starts with nil, and keeps the order with the table. */
static int steady_next(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  push_weak_keyed(L, &walks_key); /* 3 */
  lua_pushvalue(L, 1);
  if (lua_isnil(L, 2) || (lua_rawget(L, 3) != LUA_TTABLE)) {
    lua_settop(L, 3);
    push_sorted_keys(L, 1); /* 4 */
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 4);
    lua_rawset(L, 3);
  }
  lua_Integer at = 1;
  if (!lua_isnil(L, 2)) {
    /* The place of the last key is kept in the list at 0. */
    lua_rawgeti(L, 4, 0);
    at = lua_tointeger(L, -1);
    lua_rawgeti(L, 4, at - 1);
    if (at < 2 || !lua_rawequal(L, -1, 2)) {
      for (at = 1;; at++) {
        if (lua_rawgeti(L, 4, at) == LUA_TNIL) return luaL_error(L, "invalid key to 'next'");
        if (lua_rawequal(L, -1, 2)) break;
        lua_pop(L, 1);
      }
      at++;
    }
    lua_settop(L, 4);
  }
  at = push_next(L, 1, 4, at);
  if (at == 0) return 1;
  lua_pushinteger(L, at);
  lua_rawseti(L, 4, 0);
  return 2;
}

/* ---- chance -------------------------------------------------------------------------------------------------- */

/* Upvalues: Lua's math.randomseed, the seed. Without arguments it starts again at the seed, not at the time. */
static int steady_randomseed(lua_State *L) {
  int n = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (n == 0) lua_pushvalue(L, lua_upvalueindex(2));
  lua_call(L, n == 0 ? 1 : n, 0);
  return 0;
}

/* Numbers the C functions of the table on the top, by name; they are counted down from 0. */
static void number_light_functions(lua_State *L, lua_Integer *last) {
  int library = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &light_functions_key);
  push_sorted_keys(L, library);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    if (lua_rawget(L, library) == LUA_TFUNCTION && is_light_function(L, -1)) {
      const void *address = lua_topointer(L, -1);
      lua_pushinteger(L, --*last);
      lua_rawsetp(L, library + 1, address);
    }
    lua_pop(L, 1);
  }
  lua_settop(L, library - 1);
}

static void measure_userdata(lua_State *L) {
  shim_state *s = state_of(L);
  const char *memory = lua_newuserdatauv(L, 1, 0);
  /* Its block is the one that bears the newest number: a whole number of words before its memory. */
  for (size_t offset = 0; offset <= 128; offset += 8) {
    if (((const block_header *)(memory - offset) - 1)->serial == s->created) {
      s->userdata_offset = offset;
      break;
    }
  }
  lua_pop(L, 1);
}

void open_determinism(lua_State *L) {
  measure_userdata(L);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &light_functions_key);
  lua_register(L, "pairs", steady_pairs);
  lua_register(L, "next", steady_next);
  lua_register(L, "tostring", steady_tostring);
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "format");
  lua_pushcclosure(L, steady_format, 1);
  lua_setfield(L, -2, "format");
  lua_settop(L, 0);
  static const char *const libraries[] = {"_G", "coroutine", "io", "math", "os", "string", "table", "utf8", "debug"};
  lua_Integer last = 0;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    lua_getglobal(L, libraries[i]);
    number_light_functions(L, &last);
  }
  lua_getglobal(L, "math");
  lua_getfield(L, -1, "randomseed");
  lua_pushinteger(L, (lua_Integer)state_of(L)->seed);
  lua_pushcclosure(L, steady_randomseed, 2);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "randomseed");
  lua_call(L, 0, 0);
  lua_settop(L, 0);
}
