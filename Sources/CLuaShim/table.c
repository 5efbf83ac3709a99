/* `insert`, `remove`, `move`, `concat` and `sort` of `table`, and `find` and `rep` of `string`: the time of Lua's own
 * functions grows with a length or a count, and in C no hook can stop a script that runs too long. */
#define _GNU_SOURCE /* memmem */
#include "Determinism/determinism.h"

#include <string.h>

enum { READS = 1, WRITES = 2, MEASURES = 4 };

/* Raises unless the argument is a table, or has the metamethods of one. */
static void check_list(lua_State *L, int argument, int uses) {
  static const char *const needed[] = {"__index", "__newindex", "__len"};
  if (lua_type(L, argument) == LUA_TTABLE) return;
  for (int i = 0; i < 3; i++) {
    if (!(uses & 1 << i)) continue;
    if (luaL_getmetafield(L, argument, needed[i]) == LUA_TNIL) luaL_checktype(L, argument, LUA_TTABLE);
    lua_pop(L, 1);
  }
}

static lua_Integer length_of(lua_State *L, int argument, int uses) {
  check_list(L, argument, uses | MEASURES);
  return luaL_len(L, argument);
}

/* Copies the element `from` of one table to `to` of another; counts the steps, and stops a script whose time is over. */
static void copy(lua_State *L, int source, lua_Integer from, int target, lua_Integer to, unsigned *steps) {
  count_step(L, steps);
  lua_geti(L, source, from);
  lua_seti(L, target, to);
}

static int insert(lua_State *L) {
  lua_Unsigned end = (lua_Unsigned)length_of(L, 1, READS | WRITES) + 1;
  unsigned steps = 0;
  switch (lua_gettop(L)) {
  case 2: lua_seti(L, 1, (lua_Integer)end); return 0;
  case 3: break;
  default: return luaL_error(L, "wrong number of arguments to 'insert'");
  }
  lua_Integer position = luaL_checkinteger(L, 2);
  luaL_argcheck(L, (lua_Unsigned)position - 1 < end, 2, "position out of bounds");
  for (lua_Integer i = (lua_Integer)end; i > position; i--) copy(L, 1, i - 1, 1, i, &steps);
  lua_seti(L, 1, position);
  return 0;
}

static int remove_element(lua_State *L) {
  lua_Integer count = length_of(L, 1, READS | WRITES), position = luaL_optinteger(L, 2, count);
  unsigned steps = 0;
  bool is_inside = position == count || (lua_Unsigned)position - 1 <= (lua_Unsigned)count;
  luaL_argcheck(L, is_inside, 2, "position out of bounds");
  lua_geti(L, 1, position);
  for (; position < count; position++) copy(L, 1, position + 1, 1, position, &steps);
  lua_pushnil(L);
  lua_seti(L, 1, position);
  return 1;
}

static int move(lua_State *L) {
  lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3), to = luaL_checkinteger(L, 4);
  int target = lua_isnoneornil(L, 5) ? 1 : 5;
  unsigned steps = 0;
  check_list(L, 1, READS);
  check_list(L, target, WRITES);
  if (last >= first) {
    luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
    lua_Integer count = last - first + 1;
    luaL_argcheck(L, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
    bool overlaps = to > first && to <= last && (target == 1 || lua_compare(L, 1, target, LUA_OPEQ));
    if (overlaps) {
      for (lua_Integer i = count - 1; i >= 0; i--) copy(L, 1, first + i, target, to + i, &steps);
    } else {
      for (lua_Integer i = 0; i < count; i++) copy(L, 1, first + i, target, to + i, &steps);
    }
  }
  lua_pushvalue(L, target);
  return 1;
}

static int concat(lua_State *L) {
  lua_Integer count = length_of(L, 1, READS);
  size_t length;
  const char *separator = luaL_optlstring(L, 2, "", &length);
  lua_Integer at = luaL_optinteger(L, 3, 1), last = luaL_optinteger(L, 4, count);
  unsigned steps = 0;
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (bool is_first = true; at <= last; is_first = false) {
    count_step(L, &steps);
    if (!is_first) luaL_addlstring(&text, separator, length);
    lua_geti(L, 1, at);
    if (!lua_isstring(L, -1)) {
      return luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1),
                        (LUAI_UACINT)at);
    }
    luaL_addvalue(&text);
    if (at++ == LUA_MAXINTEGER) break;
  }
  luaL_pushresult(&text);
  return 1;
}

/* ---- string ---------------------------------------------------------------------------------------------- */

static int call_own(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(1))(L); }

/* Upvalue: Lua's `rep`, which counts to the end even for an empty text. */
static int rep(lua_State *L) {
  size_t length, separator;
  luaL_checklstring(L, 1, &length);
  luaL_checkinteger(L, 2);
  luaL_optlstring(L, 3, "", &separator);
  if (length > 0 || separator > 0) return call_own(L);
  lua_pushliteral(L, "");
  return 1;
}

static bool is_plain(const char *pattern, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (pattern[i] != 0 && strchr("^$*+?.([%-", pattern[i]) != NULL) return false;
  }
  return true;
}

/* Upvalue: Lua's `find`, whose search for a plain text takes time by the product of both lengths. */
static int find(lua_State *L) {
  size_t length, sought;
  const char *text = luaL_checklstring(L, 1, &length), *part = luaL_checklstring(L, 2, &sought);
  if (!lua_toboolean(L, 4) && !is_plain(part, sought)) return call_own(L);
  lua_Integer start = luaL_optinteger(L, 3, 1);
  if (start < 0) start = start < -(lua_Integer)length ? 1 : (lua_Integer)length + start + 1;
  size_t skipped = start > 0 ? (size_t)start - 1 : 0;
  const char *found = skipped > length ? NULL : memmem(text + skipped, length - skipped, part, sought);
  if (found == NULL) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, found - text + 1);
  lua_pushinteger(L, found - text + (lua_Integer)sought);
  return 2;
}

static void replace(lua_State *L, const char *name, lua_CFunction function) {
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
}

void open_bounded(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"insert", insert}, {"remove", remove_element}, {"move", move},
      {"concat", concat}, {"sort", steady_sort},      {NULL, NULL},
  };
  lua_getglobal(L, "table");
  luaL_setfuncs(L, functions, 0);
  lua_getglobal(L, "string");
  replace(L, "rep", rep);
  replace(L, "find", find);
  lua_pop(L, 2);
}
