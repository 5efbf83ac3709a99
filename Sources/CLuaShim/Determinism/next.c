/* next, in the order of sorted keys. */
#include "determinism.h"

static const char walks_key = 0, walk_metatable_key = 0;

/* A walk by `next` is a list of sorted keys, kept with the table until the walk ends, with these fields beside the
 * keys.
 *
 * `next(t)` restarts on an existing list, so that a test for an empty table, or emptying a table key by key, doesn't
  * sort each time. Such a list may lack keys that were added later: it is rebuilt at its end, and when the walk
  * continues beyond its first key. The list holds its keys weakly: only those in the table count. */
enum {
  WALK_POSITION = 0,   /* after the key that was returned last */
  WALK_COUNT = -1,  /* number of keys: some may be collected by now */
  WALK_FRONT = -2,  /* the keys before this position had no value when the last walk began */
  WALK_REUSED = -3, /* not 0: the walk reuses an earlier list, and has returned only its first key */
};

enum { TABLE = 1, KEY = 2, WALKS = 3, WALK = 4 }; /* stack of `next` */

static lua_Integer walk_field(lua_State *L, int field) {
  lua_rawgeti(L, WALK, field);
  lua_Integer value = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return value;
}

static void set_walk_field(lua_State *L, int field, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_rawseti(L, WALK, field);
}

/* Pushes a table of the registry, created with the mode at the first call. */
static void push_weak(lua_State *L, const void *key, const char *mode) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_pushvalue(L, -1);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

static void begin_new_walk(lua_State *L) {
  lua_settop(L, WALKS);
  lua_Integer count = push_sorted_keys(L, TABLE);
  push_weak(L, &walk_metatable_key, "v");
  lua_setmetatable(L, WALK);
  set_walk_field(L, WALK_COUNT, count);
  set_walk_field(L, WALK_FRONT, 1);
  lua_pushvalue(L, TABLE);
  lua_pushvalue(L, WALK);
  lua_rawset(L, WALKS);
}

static void forget_walk(lua_State *L) {
  lua_pushvalue(L, TABLE);
  lua_pushnil(L);
  lua_rawset(L, WALKS);
}

/* Returns the position of the key in the list, 0 when it isn't there. */
static lua_Integer position_of_key(lua_State *L) {
  lua_Integer count = walk_field(L, WALK_COUNT), last = walk_field(L, WALK_POSITION) - 1;
  for (lua_Integer i = last >= 1 ? 0 : 1; i <= count; i++) {
    lua_Integer at = i == 0 ? last : i; /* most often the key returned last */
    lua_rawgeti(L, WALK, at);
    bool same = lua_rawequal(L, -1, KEY);
    lua_pop(L, 1);
    if (same) return at;
  }
  return 0;
}

/* Returns the position after a key that has lost its value: a new list may lack the key, and the walk continues at
 * the key that would follow. */
static lua_Integer position_behind_lost_key(lua_State *L) {
  lua_pushvalue(L, KEY);
  if (lua_next(L, TABLE)) lua_pop(L, 2); /* raises for a key that never existed */
  lua_pushvalue(L, KEY);
  sort_key key = sort_key_of(L, 0);
  lua_Integer at = 1, count = walk_field(L, WALK_COUNT);
  for (bool is_before = true; is_before && at <= count; at += is_before) {
    lua_rawgeti(L, WALK, at);
    sort_key other = sort_key_of(L, 0);
    is_before = compare_keys(&other, &key) < 0;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return at;
}

/* Rebuilds the list after the first key, which was already returned. Returns the next position. */
static lua_Integer continue_behind_first(lua_State *L) {
  begin_new_walk(L);
  lua_Integer at = position_of_key(L);
  if (at == 0) return 1;
  for (; at > 1; at--) {
    lua_rawgeti(L, WALK, at - 1);
    lua_rawseti(L, WALK, at);
  }
  lua_pushvalue(L, KEY);
  lua_rawseti(L, WALK, 1);
  return 2;
}

static lua_Integer position_behind_key(lua_State *L) {
  if (lua_isnil(L, WALK)) begin_new_walk(L);
  lua_Integer at = position_of_key(L);
  if (at > 0 && at == walk_field(L, WALK_FRONT) && walk_field(L, WALK_REUSED) != 0) return continue_behind_first(L);
  if (at > 0) return at + 1;
  begin_new_walk(L); /* the key may have been added since */
  at = position_of_key(L);
  return at > 0 ? at + 1 : position_behind_lost_key(L);
}

static int first_key(lua_State *L) {
  bool is_reused = !lua_isnil(L, WALK);
  if (!is_reused) begin_new_walk(L);
  lua_Integer at = push_next(L, TABLE, WALK, walk_field(L, WALK_FRONT), walk_field(L, WALK_COUNT));
  if (at == 0 && is_reused) {
    is_reused = false;
    begin_new_walk(L);
    at = push_next(L, TABLE, WALK, 1, walk_field(L, WALK_COUNT));
  }
  if (at == 0) {
    forget_walk(L);
    return 1;
  }
  set_walk_field(L, WALK_FRONT, at - 1);
  set_walk_field(L, WALK_POSITION, at);
  set_walk_field(L, WALK_REUSED, is_reused);
  return 2;
}

int steady_next(lua_State *L) {
  luaL_checktype(L, TABLE, LUA_TTABLE);
  lua_settop(L, KEY);
  push_weak(L, &walks_key, "k");
  lua_pushvalue(L, TABLE);
  lua_rawget(L, WALKS);
  if (lua_isnil(L, KEY)) return first_key(L);
  lua_Integer at = position_behind_key(L);
  at = push_next(L, TABLE, WALK, at, walk_field(L, WALK_COUNT));
  if (at == 0) {
    forget_walk(L);
    return 1;
  }
  set_walk_field(L, WALK_POSITION, at);
  return 2;
}
