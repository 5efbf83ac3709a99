/* Declarations shared by the functions of a deterministic state. */
#pragma once

#include "../internal.h"

/* Returns the creation number of the value at `index`, counted in objects; C functions without a block come before
 * them. */
lua_Integer serial_of(lua_State *L, int index);
bool has_address(lua_State *L, int index);
/* Prepares serial numbers; to be called before the first one is used. */
void open_serials(lua_State *L);

/* A key of a table in the form that is sorted: by type, then by value. */
typedef struct sort_key {
  int type, at; /* Lua type; position in the list as collected */
  double number;
  lua_Integer integer;
  const char *text;
  size_t size;
} sort_key;

/* Reads the sort key of the key on the top. Its text is valid as long as the key stays there. */
sort_key sort_key_of(lua_State *L, int at);
/* Compares two sort keys, in the form that qsort requires. */
int compare_keys(const void *left, const void *right);
/* Pushes a list of the keys of the table at `table`, sorted by type and value; returns their number. */
lua_Integer push_sorted_keys(lua_State *L, int table);
/* Pushes the next key that still has a value, and the value, from position `at` to `count` in the list at `keys`;
 * returns the position after it, 0 at the end (one nil pushed). */
lua_Integer push_next(lua_State *L, int table, int keys, lua_Integer at, lua_Integer count);

/* Functions that replace Lua's own. */
int steady_tostring(lua_State *L);
int file_tostring(lua_State *L); /* __tostring of files */
int steady_format(lua_State *L); /* upvalue: Lua's string.format */
int steady_pairs(lua_State *L);
int steady_next(lua_State *L);
int steady_sort(lua_State *L);
