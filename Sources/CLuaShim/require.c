/* `require`: text modules only, found on package.path, that may suspend while they load. */
#include "internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char loading_key = 0;

static const char definition_mark[] = "---@meta";

bool is_definition(const char *text, size_t size) {
  size_t length = sizeof definition_mark - 1;
  return size >= length && memcmp(text, definition_mark, length) == 0;
}

bool is_definition_file(const char *path) {
  char start[sizeof definition_mark];
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  size_t size = fread(start, 1, sizeof start, file);
  fclose(file);
  return is_definition(start, size);
}

const char *push_definition_message(lua_State *L, const char *path) {
  return lua_pushfstring(L, "%s is a description, not a module: editors read it, and nothing runs it", path);
}

int raise_definition_error(lua_State *L, const char *path) {
  const char *hint = "require the module by its own name, without its folder";
  return raise_error(L, "script.module", push_definition_message(L, path), hint, 1);
}

/* Pushes the table of modules that are being loaded: name → the routine that loads it, as light userdata. */
static void push_loading(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &loading_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &loading_key);
}

static void *loader_of(lua_State *L, const char *name) {
  push_loading(L);
  lua_getfield(L, -1, name);
  void *routine = lua_touserdata(L, -1);
  lua_pop(L, 2);
  return routine;
}

static void set_loader(lua_State *L, const char *name, void *routine) {
  push_loading(L);
  if (routine != NULL) {
    lua_pushlightuserdata(L, routine);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* `true` if a path leads to the script's own file. */
static int is_script(const shim_state *s, const char *path) {
  struct stat status;
  return s->script_file != 0 && stat(path, &status) == 0 && status.st_ino == s->script_file &&
         status.st_dev == s->script_device;
}

/* Pushes the path of a module's file; or nil, and the failures at the places tried. Stack: name, package. The script
   itself is not a module: a party.lua finds the library's "party". */
static void search(lua_State *L, const char *name) {
  if (lua_getfield(L, 2, "path") != LUA_TSTRING) luaL_error(L, "package.path must be a string");
  const char *pattern = lua_tostring(L, 3);
  lua_pushliteral(L, "");
  while (*pattern != '\0') {
    size_t length = strcspn(pattern, ";");
    lua_getfield(L, 2, "searchpath");
    lua_pushstring(L, name);
    lua_pushlstring(L, pattern, length);
    lua_call(L, 2, 2);
    const char *path = lua_tostring(L, 5);
    if (path == NULL && !lua_isnil(L, 5)) luaL_error(L, "package.searchpath must return a path");
    if (path != NULL && !is_script(state_of(L), path)) {
      lua_settop(L, 5);
      lua_replace(L, 3);
      lua_settop(L, 3);
      return;
    }
    const char *reason = path != NULL ? lua_pushfstring(L, "'%s' is the script itself", path) : lua_tostring(L, 6);
    const char *before = lua_tostring(L, 4);
    lua_pushfstring(L, "%s%s%s", before, *before != '\0' ? ", " : "", reason != NULL ? reason : "");
    lua_replace(L, 4);
    lua_settop(L, 4);
    pattern += length;
    pattern += *pattern == ';';
  }
  lua_pushnil(L);
  lua_replace(L, 3);
}

/* Pushes the loader and its second argument, or raises. A module of the library precedes a file of its name. */
static void find_loader(lua_State *L, const char *name) {
  lua_getglobal(L, "package");
  if (lua_getfield(L, -1, "preload") == LUA_TTABLE && lua_getfield(L, -1, name) == LUA_TFUNCTION) {
    lua_replace(L, -3);
    lua_pop(L, 1);
    lua_pushliteral(L, ":preload:");
    return;
  }
  lua_settop(L, 2);
  shim_push_function(L, state_of(L)->require_library);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 2); /* the text of a module of the library and the name of its chunk, or nil */
  if (!lua_isnil(L, 3)) {
    size_t length;
    const char *text = lua_tolstring(L, -2, &length);
    if (is_definition(text, length)) raise_definition_error(L, lua_tostring(L, -1) + 1);
    if (load_pieces(L, text, length, lua_tostring(L, -1)) != LUA_OK)
      raise_error(L, "script.syntax", lua_tostring(L, -1), NULL, 1);
    lua_pushvalue(L, -2);
    return;
  }
  lua_settop(L, 2);
  search(L, name);
  if (lua_isnil(L, 3)) {
    const char *message = lua_pushfstring(L, "module '%s' is not found: %s", name, lua_tostring(L, -1));
    message = luaL_gsub(L, luaL_gsub(L, message, "\n\t", ", "), ": , ", ": ");
    lua_pushstring(L, message);
    shim_push_function(L, state_of(L)->require_missing);
    lua_pushstring(L, name);
    lua_pushvalue(L, -3);
    lua_call(L, 2, 0); /* raises */
  }
  const char *path = lua_tostring(L, 3);
  if (is_definition_file(path)) raise_definition_error(L, path);
  if (load_file(L, path) != LUA_OK) raise_error(L, "script.syntax", lua_tostring(L, -1), NULL, 1);
  lua_pushstring(L, path);
}

static void tell(lua_State *L, void *box, const char *name) {
  if (box == NULL) return;
  shim_push_function(L, box);
  lua_pushstring(L, name);
  lua_call(L, 1, 0);
}

/* Ends the loading of a module, however it ends: with a value, with an error, or as its coroutine was closed. */
static int loading_closed(lua_State *L) {
  lua_rawgeti(L, 1, 1);
  const char *name = lua_tostring(L, -1);
  set_loader(L, name, NULL);
  tell(L, state_of(L)->require_loaded, name);
  return 0;
}

/* Pushes the guard for the loading of `name`, to be closed with the function that loads it. */
static void push_loading_guard(lua_State *L, const char *name) {
  lua_createtable(L, 1, 0);
  lua_pushstring(L, name);
  lua_rawseti(L, -2, 1);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, loading_closed);
  lua_setfield(L, -2, "__close");
  lua_setmetatable(L, -2);
}

/* Stack: name, loading guard, …, message handler, loader's result or the error. */
static int module_ended(lua_State *L, int status, lua_KContext context) {
  (void)context;
  const char *name = lua_tostring(L, 1);
  if (status != LUA_OK && status != LUA_YIELD) {
    if (status == LUA_ERRMEM) push_memory_error(L);
    return lua_error(L);
  }
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_isnil(L, -2)) {
    /* The chunk may have set package.loaded itself. */
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushboolean(L, 1);
    }
    lua_replace(L, -3);
  }
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
  return 1;
}

static int require(lua_State *L);

static int load_module(lua_State *L, const char *name) {
  lua_settop(L, 1);
  find_loader(L, name);
  push_loading_guard(L, name);
  lua_insert(L, 2);
  set_loader(L, name, state_of(L)->routine);
  lua_toclose(L, 2);
  lua_pushcfunction(L, keep_traceback);
  lua_insert(L, -3); /* …, handler, loader, where */
  lua_pushvalue(L, 1);
  lua_insert(L, -2); /* …, handler, loader, name, where */
  int handler = lua_gettop(L) - 3;
  return module_ended(L, lua_pcallk(L, 2, 1, handler, 0, module_ended), 0);
}

/* Continues when the other routine has loaded the module, or failed to. */
static int waited(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, 1);
  return require(L);
}

static int require(lua_State *L) {
  size_t size;
  const char *name = luaL_checklstring(L, 1, &size);
  luaL_argcheck(L, strlen(name) == size, 1, "the name contains a zero byte");
  luaL_argcheck(L, size <= 255, 1, "the name of a module has at most 255 bytes");
  lua_settop(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, name);
  if (lua_toboolean(L, -1)) return 1;
  lua_settop(L, 1);
  shim_state *s = state_of(L);
  void *loader = loader_of(L, name);
  if (loader != NULL && loader == s->routine)
    return raise_error(L, "script.module", lua_pushfstring(L, "module '%s' requires itself while it loads", name),
                       "require the other module inside the function that needs it", 1);
  if (loader != NULL) {
    shim_push_function(L, s->require_wait);
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 0, 0, waited);
    return waited(L, LUA_OK, 0);
  }
  return load_module(L, name);
}

void shim_set_require(lua_State *L, void *library, void *wait, void *loaded, void *missing) {
  state_of(L)->require_library = library;
  state_of(L)->require_missing = missing;
  state_of(L)->require_wait = wait;
  state_of(L)->require_loaded = loaded;
}

void shim_set_script_file(lua_State *L, unsigned long long device, unsigned long long file) {
  state_of(L)->script_device = (dev_t)device;
  state_of(L)->script_file = (ino_t)file;
}

void open_require(lua_State *L) { lua_register(L, "require", require); }
