/* Determinism: the same script with the same inputs does the same in every process: order of keys, text of
 * addresses, random numbers. */
#include "internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char light_functions_key = 0, walks_key = 0, walk_metatable_key = 0;

/* ---- serial numbers instead of addresses ------------------------------------------------------------------- */

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

/* Returns the creation number of the value at `index`, counted in objects; C functions without a block come before
 * them. */
static lua_Integer serial_of(lua_State *L, int index) {
  const char *address = lua_topointer(L, index);
  switch (lua_type(L, index)) {
    case LUA_TUSERDATA: address -= state_of(L)->userdata_offset; break;
    case LUA_TTHREAD: address -= LUA_EXTRASPACE; break;
    case LUA_TFUNCTION:
      if (is_light_function(L, index)) return light_function_serial(L, address);
  }
  return (lua_Integer)((const block_header *)address - 1)->serial;
}

static bool has_address(lua_State *L, int index) {
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

static int steady_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  push_readable(L, 1);
  return 1;
}

static int file_tostring(lua_State *L) {
  const luaL_Stream *file = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  if (file->closef == NULL) lua_pushliteral(L, "file (closed)");
  else lua_pushfstring(L, "file (%I)", (LUAI_UACINT)serial_of(L, 1));
  return 1;
}

/* ---- string.format ------------------------------------------------------------------------------------------- */

/* Returns the number in place of a string's address: the same for the same bytes. */
static lua_Integer digest(const char *text, size_t size) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3;
  return (lua_Integer)(sum >> 1);
}

/* Replaces argument `index` by its serial number as text; false when it has no address. */
static bool replace_address(lua_State *L, int index) {
  size_t size;
  if (has_address(L, index)) lua_pushinteger(L, serial_of(L, index));
  else if (lua_type(L, index) == LUA_TSTRING) {
    const char *text = lua_tolstring(L, index, &size);
    lua_pushinteger(L, digest(text, size));
  } else return false;
  lua_tostring(L, -1);
  lua_replace(L, index);
  return true;
}

/* True if `%p` accepts the characters between % and the letter; Lua's own function raises for others. */
static bool is_width(const char *from, const char *letter) {
  from += strspn(from, "-");
  return *from != '0' && letter - from <= 2 && from + strspn(from, "0123456789") == letter;
}

/* Changes the format and its arguments, so that no conversion sees an address. */
static void hide_addresses(lua_State *L, char *format, size_t size, int last) {
  const char *end = format + size;
  for (int argument = 2; (format = memchr(format, '%', (size_t)(end - format))) != NULL;) {
    const char *flags = ++format;
    char *letter = format + strspn(format, "-+ #0123456789.");
    if (letter == end) return;
    format = letter + 1;
    if (*letter == '%' || argument > last) continue;
    if (*letter == 's' && has_address(L, argument)) {
      push_readable(L, argument);
      lua_replace(L, argument);
    } else if (*letter == 'p' && is_width(flags, letter) && replace_address(L, argument)) {
      *letter = 's';
    }
    argument++;
  }
}

/* Raises the error on the top, which Lua's function could not name, as an error of `format`. */
static int raise_format_error(lua_State *L) {
  int argument = 0, begin = 0;
  size_t size = 0;
  const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : "";
  if (sscanf(message, "bad argument #%d to '?' (%n", &argument, &begin) == 1 && begin > 0) {
    lua_pushlstring(L, message + begin, size - (size_t)begin - 1);
    return luaL_argerror(L, argument, lua_tostring(L, -1));
  }
  if (lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

/* Upvalue: Lua's string.format. `%p` becomes `%s` of the serial number. */
static int steady_format(lua_State *L) {
  size_t size;
  const char *format = luaL_checklstring(L, 1, &size);
  int n = lua_gettop(L);
  luaL_Buffer b;
  char *copy = memcpy(luaL_buffinitsize(L, &b, size + 1), format, size + 1);
  hide_addresses(L, copy, size, n);
  luaL_pushresultsize(&b, size);
  lua_replace(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (shim_call(L, n, 1) != LUA_OK) return raise_format_error(L);
  return 1;
}

/* ---- sorted keys ------------------------------------------------------------------------------------------- */

typedef struct sort_key {
  int type, at; /* Lua type; position in the list as collected */
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

/* Reads the sort key of the key on the top. Its text is valid as long as that. */
static sort_key sort_key_of(lua_State *L, int at) {
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

/* Pushes a list of the keys of the table at `table`, sorted by type and value; returns their number. */
static lua_Integer push_sorted_keys(lua_State *L, int table) {
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
  qsort(keys, (size_t)count, sizeof *keys, compare);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, keys[i].at);
    lua_rawseti(L, -2, i + 1);
  }
  lua_replace(L, list);
  lua_settop(L, list);
  return count;
}

/* Pushes the next key that still has a value, and the value, from position `at` to `count` in the list at `keys`;
 * returns the position after it, 0 at the end (one nil pushed). */
static lua_Integer push_next(lua_State *L, int table, int keys, lua_Integer at, lua_Integer count) {
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

static int steady_pairs(lua_State *L) {
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

/* ---- next ---------------------------------------------------------------------------------------------------- */

/* A walk by `next` is a list of sorted keys, kept with the table until the walk ends, with these fields beside the
 * keys.
 *
 * `next(t)` restarts on an existing list, so that a test for an empty table, or emptying a table key by key, doesn't
 * sort each time. Such a list may lack keys that were added later: it is rebuilt when it runs out, and when the walk
 * continues beyond its first key. The list holds its keys weakly: only those of the table count. */
enum {
  WALK_PLACE = 0,   /* after the key that was returned last */
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
static lua_Integer place_of_key(lua_State *L) {
  lua_Integer count = walk_field(L, WALK_COUNT), last = walk_field(L, WALK_PLACE) - 1;
  for (lua_Integer i = last >= 1 ? 0 : 1; i <= count; i++) {
    lua_Integer at = i == 0 ? last : i; /* most often the key returned last */
    lua_rawgeti(L, WALK, at);
    bool same = lua_rawequal(L, -1, KEY);
    lua_pop(L, 1);
    if (same) return at;
  }
  return 0;
}

/* Returns the position behind a key that has lost its value: a new list may lack it, and the walk continues from
 * there. */
static lua_Integer place_behind_lost_key(lua_State *L) {
  lua_pushvalue(L, KEY);
  if (lua_next(L, TABLE)) lua_pop(L, 2); /* raises for a key that never existed */
  lua_pushvalue(L, KEY);
  sort_key key = sort_key_of(L, 0);
  lua_Integer at = 1, count = walk_field(L, WALK_COUNT);
  for (bool is_before = true; is_before && at <= count; at += is_before) {
    lua_rawgeti(L, WALK, at);
    sort_key other = sort_key_of(L, 0);
    is_before = compare(&other, &key) < 0;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return at;
}

/* Rebuilds the list behind the first key, which was already returned. Returns the next position. */
static lua_Integer go_on_behind_first(lua_State *L) {
  begin_new_walk(L);
  lua_Integer at = place_of_key(L);
  if (at == 0) return 1;
  for (; at > 1; at--) {
    lua_rawgeti(L, WALK, at - 1);
    lua_rawseti(L, WALK, at);
  }
  lua_pushvalue(L, KEY);
  lua_rawseti(L, WALK, 1);
  return 2;
}

static lua_Integer place_behind_key(lua_State *L) {
  if (lua_isnil(L, WALK)) begin_new_walk(L);
  lua_Integer at = place_of_key(L);
  if (at > 0 && at == walk_field(L, WALK_FRONT) && walk_field(L, WALK_REUSED) != 0) return go_on_behind_first(L);
  if (at > 0) return at + 1;
  begin_new_walk(L); /* the key may have been added since */
  at = place_of_key(L);
  return at > 0 ? at + 1 : place_behind_lost_key(L);
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
  set_walk_field(L, WALK_PLACE, at);
  set_walk_field(L, WALK_REUSED, is_reused);
  return 2;
}

static int steady_next(lua_State *L) {
  luaL_checktype(L, TABLE, LUA_TTABLE);
  lua_settop(L, KEY);
  push_weak(L, &walks_key, "k");
  lua_pushvalue(L, TABLE);
  lua_rawget(L, WALKS);
  if (lua_isnil(L, KEY)) return first_key(L);
  lua_Integer at = place_behind_key(L);
  at = push_next(L, TABLE, WALK, at, walk_field(L, WALK_COUNT));
  if (at == 0) {
    forget_walk(L);
    return 1;
  }
  set_walk_field(L, WALK_PLACE, at);
  return 2;
}

/* ---- table.sort ---------------------------------------------------------------------------------------------- */

/* Lua's quicksort, whose pivot in a large and lopsided part depends on the clock; here it comes from a fixed
 * pseudorandom sequence. So equal elements come in the same order, mostly that of Lua. */

enum { ELEMENTS = 1, LESS = 2, LARGE_PART = 100 };

/* True if the value at `a` comes before the one at `b`. */
static bool comes_before(lua_State *L, int a, int b) {
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

/* Stores the two values on the top: the upper one at `i`. */
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

static lua_Integer choose_pivot(lua_Integer low, lua_Integer high, uint32_t chance) {
  if (high - low <= LARGE_PART) return (low + high) / 2;
  lua_Integer quarter = (high - low) / 4;
  return low + quarter + chance % (quarter * 2);
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
static lua_Integer partition(lua_State *L, lua_Integer low, lua_Integer high, uint32_t chance) {
  lua_Integer pivot = choose_pivot(low, high, chance);
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
static void sort_part(lua_State *L, lua_Integer low, lua_Integer high, uint32_t chance) {
  while (low < high) {
    if (high - low < 2) return order_two(L, low, high);
    lua_Integer pivot = partition(L, low, high, chance), size = high - low, smaller;
    if (pivot - low < high - pivot) {
      sort_part(L, low, pivot - 1, chance);
      smaller = pivot - low;
      low = pivot + 1;
    } else {
      sort_part(L, pivot + 1, high, chance);
      smaller = high - pivot;
      high = pivot - 1;
    }
    if (size / 128 > smaller) chance = chance * 1664525 + 1013904223;
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

static int steady_sort(lua_State *L) {
  check_list(L);
  lua_Integer count = luaL_len(L, ELEMENTS);
  if (count < 2) return 0;
  luaL_argcheck(L, count < INT_MAX, ELEMENTS, "array too big");
  if (!lua_isnoneornil(L, LESS)) luaL_checktype(L, LESS, LUA_TFUNCTION);
  lua_settop(L, LESS);
  sort_part(L, 1, count, 0);
  return 0;
}

/* ---- random numbers ------------------------------------------------------------------------------------------ */

/* Upvalues: Lua's math.randomseed, the seed. Without arguments it restarts at the seed, not at the time. */
static int steady_randomseed(lua_State *L) {
  int n = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (n == 0) lua_pushvalue(L, lua_upvalueindex(2));
  lua_call(L, n == 0 ? 1 : n, 0);
  return 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

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

static void measure_userdata(lua_State *L) {
  shim_state *s = state_of(L);
  const char *memory = lua_newuserdatauv(L, 1, 0);
  /* Its block has the newest number: a whole number of words before its memory. */
  for (size_t offset = 0; offset <= 128; offset += 8) {
    if (((const block_header *)(memory - offset) - 1)->serial == s->created) {
      s->userdata_offset = offset;
      break;
    }
  }
  lua_pop(L, 1);
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
  measure_userdata(L);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &light_functions_key);
  lua_register(L, "pairs", steady_pairs);
  lua_register(L, "next", steady_next);
  lua_register(L, "tostring", steady_tostring);
  replace(L, "string", "format", steady_format);
  replace(L, "table", "sort", steady_sort);
  luaL_getmetatable(L, LUA_FILEHANDLE);
  lua_pushcfunction(L, file_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_settop(L, 0);
  number_all_light_functions(L);
  replace_randomseed(L);
}
