/* table.sort, with the same pivots in every process. */
#include "determinism.h"

#include <limits.h>

/* Lua's quicksort, whose pivot in a large and unbalanced part depends on the clock; here the pivot comes from a fixed
 * pseudorandom sequence. So equal elements always have the same order, mostly that of Lua. */

enum { ELEMENTS = 1, LESS = 2, LARGE_PART = 100 };

/* `true` if the value at `a` comes before the one at `b`. Stops a script whose time is over. */
static bool comes_before(lua_State *L, int a, int b) {
  check_time(L);
  if (lua_isnil(L, LESS)) return lua_compare(L, a, b, LUA_OPLT);
  a = lua_absindex(L, a), b = lua_absindex(L, b);
  lua_pushvalue(L, LESS);
  lua_pushvalue(L, a);
  lua_pushvalue(L, b);
  lua_call(L, 2, 1);
  bool result = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return result;
}

/* Stores the two values on the top: the upper one at `i`, the lower one at `j`. */
static void store_two(lua_State *L, lua_Integer i, lua_Integer j) {
  lua_seti(L, ELEMENTS, i);
  lua_seti(L, ELEMENTS, j);
}

/* Puts the elements at `low` and `high` in order. */
static void order_two(lua_State *L, lua_Integer low, lua_Integer high) {
  lua_geti(L, ELEMENTS, low);
  lua_geti(L, ELEMENTS, high);
  if (comes_before(L, -1, -2)) store_two(L, low, high);
  else lua_pop(L, 2);
}

static lua_Integer choose_pivot(lua_Integer low, lua_Integer high, uint32_t random) {
  if (high - low <= LARGE_PART) return (low + high) / 2;
  lua_Integer quarter = (high - low) / 4;
  return low + quarter + random % (quarter * 2);
}

/* Splits the elements strictly between `low` and `high` by the pivot, which is on the top and at `high - 1`; pops it
 * and returns its index. */
static lua_Integer split(lua_State *L, lua_Integer low, lua_Integer high) {
  lua_Integer i = low, j = high - 1;
  for (;;) {
    while (lua_geti(L, ELEMENTS, ++i), comes_before(L, -1, -2)) {
      if (i == high - 1) luaL_error(L, "invalid order function for sorting");
      lua_pop(L, 1);
    }
    while (lua_geti(L, ELEMENTS, --j), comes_before(L, -3, -1)) {
      if (j < i) luaL_error(L, "invalid order function for sorting");
      lua_pop(L, 1);
    }
    if (j < i) {
      lua_pop(L, 1); /* the element at j; the one at i is swapped with the pivot */
      lua_remove(L, -2);
      lua_geti(L, ELEMENTS, high - 1);
      store_two(L, i, high - 1);
      return i;
    }
    store_two(L, i, j);
  }
}

/* Puts the first, the last and the pivot in order, then splits; returns the pivot's index. */
static lua_Integer partition(lua_State *L, lua_Integer low, lua_Integer high, uint32_t random) {
  lua_Integer pivot = choose_pivot(low, high, random);
  order_two(L, low, pivot);
  order_two(L, pivot, high);
  order_two(L, low, pivot);
  lua_geti(L, ELEMENTS, pivot);
  lua_pushvalue(L, -1);
  lua_geti(L, ELEMENTS, high - 1);
  store_two(L, pivot, high - 1);
  return split(L, low, high);
}

/* Recurs into the smaller part only, so that the depth stays low. */
static void sort_part(lua_State *L, lua_Integer low, lua_Integer high, uint32_t random) {
  while (low < high) {
    if (high - low < 2) return order_two(L, low, high);
    lua_Integer pivot = partition(L, low, high, random), size = high - low, smaller;
    if (pivot - low < high - pivot) {
      sort_part(L, low, pivot - 1, random);
      smaller = pivot - low;
      low = pivot + 1;
    } else {
      sort_part(L, pivot + 1, high, random);
      smaller = high - pivot;
      high = pivot - 1;
    }
    if (size / 128 > smaller) random = random * 1664525 + 1013904223;
  }
}

/* Raises unless the argument is a table, or has the metamethods of one. */
static void check_list(lua_State *L) {
  static const char *const needed[] = {"__index", "__newindex", "__len"};
  if (lua_type(L, ELEMENTS) == LUA_TTABLE) return;
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (luaL_getmetafield(L, ELEMENTS, needed[i]) == LUA_TNIL) luaL_checktype(L, ELEMENTS, LUA_TTABLE);
    lua_pop(L, 1);
  }
}

int steady_sort(lua_State *L) {
  check_list(L);
  lua_Integer count = luaL_len(L, ELEMENTS);
  if (count < 2) return 0;
  luaL_argcheck(L, count < INT_MAX, ELEMENTS, "array too big");
  if (!lua_isnoneornil(L, LESS)) luaL_checktype(L, LESS, LUA_TFUNCTION);
  lua_settop(L, LESS);
  sort_part(L, 1, count, 0);
  return 0;
}
