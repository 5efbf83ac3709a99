/* Error objects: tables with `code`, `message`, `hint`, `where`, `traceback` and facts, whose text is one line. */
#include "internal.h"

#include <string.h>

static const char metatable_key = 0, traceback_key = 0, traced_value_key = 0;

/* Returns the field as text, or NULL. The text stays on the stack. */
static const char *text_field(lua_State *L, int table, const char *name) {
  lua_pushstring(L, name);
  if (lua_rawget(L, table) != LUA_TSTRING) return NULL;
  return lua_tostring(L, -1);
}

/* Returns `where: message (code); hint`. */
static int error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  const char *where = text_field(L, 1, "where"), *message = text_field(L, 1, "message");
  const char *code = text_field(L, 1, "code"), *hint = text_field(L, 1, "hint");
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  if (where != NULL && where[0]) {
    luaL_addstring(&b, where);
    luaL_addstring(&b, ": ");
  }
  luaL_addstring(&b, message != NULL ? message : "an error without a message");
  if (code != NULL && strcmp(code, "argument") != 0) {
    luaL_addstring(&b, " (");
    luaL_addstring(&b, code);
    luaL_addstring(&b, ")");
  }
  if (hint != NULL && hint[0]) {
    luaL_addstring(&b, "; ");
    luaL_addstring(&b, hint);
  }
  luaL_pushresult(&b);
  return 1;
}

static int error_concat(lua_State *L) {
  push_readable(L, 1);
  push_readable(L, 2);
  lua_concat(L, 2);
  return 1;
}

static void push_metatable(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &metatable_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 4);
  lua_pushcfunction(L, error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, error_concat);
  lua_setfield(L, -2, "__concat");
  lua_pushliteral(L, "error");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "error");
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &metatable_key);
}

static char described_key;

static int described_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushliteral(L, "text");
  if (lua_rawget(L, 1) != LUA_TSTRING) lua_pushliteral(L, "table");
  return 1;
}

void shim_describe(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &described_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, described_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, "description");
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &described_key);
  }
  lua_setmetatable(L, -2);
}

void shim_make_error(lua_State *L) {
  push_metatable(L);
  lua_setmetatable(L, -2);
}

bool shim_is_error(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return false;
  push_metatable(L);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

void shim_push_where(lua_State *L, int level) {
  lua_Debug ar;
  for (int end = level + 32; level < end && lua_getstack(L, level, &ar); level++) {
    if (lua_getinfo(L, "Sl", &ar) && ar.currentline > 0) {
      lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
      return;
    }
  }
  lua_pushliteral(L, "");
}

static bool find_site(lua_State *L, const char *library, shim_site *site) {
  static const char embedded[] = "@stdlib/";
  lua_Debug ar;
  const char *called = NULL;
  for (int level = 0; level < 64 && lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "Snl", &ar)) return false;
    bool is_library = strncmp(ar.source, embedded, sizeof embedded - 1) == 0 ||
                      (library != NULL && strncmp(ar.source, library, strlen(library)) == 0);
    if (ar.currentline > 0 && !is_library) {
      bool is_named = ar.source[0] == '@' || ar.source[0] == '=';
      const char *file = is_named ? ar.source + 1 : "load";
      const char *slash = ar.source[0] == '@' ? strrchr(file, '/') : NULL;
      if (slash != NULL && slash[1] != 0) file = slash + 1;
      *site = (shim_site){ar.source[0] == '@' ? ar.source + 1 : NULL, file, strlen(file), called, ar.currentline};
      return true;
    }
    called = ar.name;
  }
  return false;
}

bool shim_find_site(lua_State *L, const char *library, shim_site *site) {
  lua_State *running = shim_of(L)->running;
  bool is_inside = running != NULL && running != L && lua_status(L) == LUA_OK;
  return (is_inside && find_site(running, library, site)) || find_site(L, library, site);
}

void shim_push_definition(lua_State *L) {
  lua_Debug ar;
  if (!lua_isfunction(L, -1)) {
    lua_pop(L, 1);
    lua_pushliteral(L, "");
    return;
  }
  lua_getinfo(L, ">S", &ar);
  if (ar.linedefined > 0) {
    lua_pushfstring(L, "%s:%d", ar.short_src, ar.linedefined);
  } else {
    lua_pushstring(L, ar.what[0] == 'C' ? "" : ar.short_src);
  }
}

bool shim_called_as_method(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && strcmp(ar.namewhat, "method") == 0;
}

bool shim_has_caller(lua_State *L) {
  lua_Debug ar;
  /* The body of a routine calls its function. */
  return lua_getstack(L, thread_has(L, THREAD_BASE) ? 2 : 1, &ar);
}

/* Adds `where` and `traceback` to the error object on the top, where they are missing. */
static void complete_error(lua_State *L, int level) {
  if (!shim_is_error(L, -1)) return;
  int object = lua_gettop(L);
  if (text_field(L, object, "where") == NULL) {
    shim_push_where(L, level);
    lua_pushliteral(L, "where");
    lua_insert(L, -2);
    lua_rawset(L, object);
  }
  lua_settop(L, object);
  if (text_field(L, object, "traceback") == NULL) {
    luaL_traceback(L, L, NULL, level);
    lua_pushliteral(L, "traceback");
    lua_insert(L, -2);
    lua_rawset(L, object);
  }
  lua_settop(L, object);
}

static void set_text(lua_State *L, const char *name, const char *value) {
  if (value == NULL) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
}

void push_error(lua_State *L, const char *code, const char *message, const char *hint, int level) {
  lua_createtable(L, 0, 5);
  set_text(L, "code", code);
  set_text(L, "message", message);
  set_text(L, "hint", hint);
  shim_make_error(L);
  complete_error(L, level);
}

int raise_error(lua_State *L, const char *code, const char *message, const char *hint, int level) {
  push_error(L, code, message, hint, level);
  return lua_error(L);
}

void push_memory_error(lua_State *L) {
  shim_state *s = state_of(L);
  /* Memory for the error itself must not be refused: it uses a little more than the limit allows. */
  s->swift_depth++;
  lua_createtable(L, 0, 5);
  set_text(L, "code", "script.memory");
  lua_pushfstring(L, "the script's memory limit of %d MB is reached", (int)(s->limit >> 20));
  lua_setfield(L, -2, "message");
  set_text(L, "hint", "keep less, or raise limits { memory = … } in the configuration");
  if (s->refused_at[0]) set_text(L, "where", s->refused_at);
  shim_make_error(L);
  if (!s->refused_at[0]) complete_error(L, 1);
  s->refused_at[0] = 0;
  s->swift_depth--;
  s->overshot = false;
}

/* Continues after a suspension: returns its results, or raises its error. */
static int suspended_results(lua_State *L, int status, lua_KContext kept) {
  (void)status;
  if (lua_toboolean(L, (int)kept + 1)) return lua_gettop(L) - (int)kept - 1;
  complete_error(L, 1);
  return lua_error(L);
}

/* Stack: arguments, box, the host's values. */
static int enter_again(lua_State *L, int status, lua_KContext kept) {
  if (!lua_toboolean(L, (int)kept + 1)) return suspended_results(L, status, kept);
  void *box = lua_touserdata(L, (int)kept);
  lua_settop(L, (int)kept - 1);
  return enter_swift(L, box);
}

static int leave_swift(lua_State *L, shim_state *s, int code, void *box) {
  if (s->overshot) {
    s->overshot = false;
    if (s->bytes > s->limit) lua_gc(L, LUA_GCCOLLECT);
    if (s->bytes > s->limit && code != SHIM_SUSPEND && code != SHIM_SUSPEND_THEN_AGAIN) {
      s->refused_at[0] = 0;
      push_memory_error(L);
      code = SHIM_RAISE;
    }
  }
  if (code >= 0) return code;
  if (code == SHIM_SUSPEND) {
    s->yields_to_host = true;
    return lua_yieldk(L, 0, lua_gettop(L), suspended_results);
  }
  if (code == SHIM_SUSPEND_THEN_AGAIN) {
    s->yields_to_host = true;
    lua_pushlightuserdata(L, box);
    return lua_yieldk(L, 0, lua_gettop(L), enter_again);
  }
  complete_error(L, 1);
  return lua_error(L);
}

int enter_swift(lua_State *L, void *box) {
  shim_state *s = state_of(L);
  uint64_t since = s->unwindings;
  s->swift_depth++;
  int code = s->host.call(L, box);
  s->swift_depth--;
  if (s->unwindings != since && unwinding_after(s, since)) {
    /* The routine began to unwind during the call, perhaps inside script code whose error Swift caught: it continues
     * to unwind with the same error, which the end of the routine finds again. */
    if (code == SHIM_RAISE) {
      lua_pushvalue(L, -1);
      lua_rawsetp(L, LUA_REGISTRYINDEX, s->routine);
    } else if (lua_rawgetp(L, LUA_REGISTRYINDEX, s->routine) != LUA_TNIL) {
      code = SHIM_RAISE;
    }
  }
  if (code >= 0 && !s->overshot) return code;
  return leave_swift(L, s, code, box);
}

/* Keeps the traceback of the value at 1. Only an error object has a field for it; for any other value the registry
 * keeps it until the host requests it. */
int keep_traceback(lua_State *L) {
  shim_state *s = state_of(L);
  if (shim_is_error(L, 1)) {
    complete_error(L, 1);
    return 1;
  }
  if (s->traced) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &traced_value_key);
    bool same = lua_rawequal(L, 1, -1);
    lua_pop(L, 1);
    if (same) return 1; /* the same value, raised again on its way out: the first position is the relevant one */
  }
  luaL_traceback(L, L, NULL, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &traceback_key);
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &traced_value_key);
  s->traced = true;
  return 1;
}

void shim_push_traceback(lua_State *L) {
  shim_state *s = state_of(L);
  if (!s->traced) {
    lua_pushnil(L);
    return;
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &traceback_key);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &traceback_key);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &traced_value_key);
  s->traced = false;
}
