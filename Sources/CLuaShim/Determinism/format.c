/* string.format without addresses. */
#include "determinism.h"

#include <stdio.h>
#include <string.h>

/* Returns the number in place of a string's address: the same for the same bytes. */
static lua_Integer digest(const char *text, size_t size) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3;
  return (lua_Integer)(sum >> 1);
}

/* Replaces argument `index` by its serial number as text; returns `false` when it has no address. */
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

/* `true` if `%p` accepts the characters between % and the letter; Lua's own function raises for all others. */
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

/* Raises the error on the top as an error of `format`, a name that Lua's own function did not know. */
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
int steady_format(lua_State *L) {
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
