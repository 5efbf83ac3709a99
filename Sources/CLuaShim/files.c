/* Files whose open or read may block: FIFOs, sockets, devices. The host opens those. */
#include "internal.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Returns the path of argument 1; raises for one with a zero byte, where the system would end it. */
static const char *path_argument(lua_State *L) {
  size_t size;
  const char *path = luaL_checklstring(L, 1, &size);
  luaL_argcheck(L, strlen(path) == size, 1, "contains a zero byte");
  return path;
}

static bool may_block(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return false;
  if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) return true;
  /* The devices of memory, such as /dev/null and /dev/urandom, never block. */
  return S_ISCHR(info.st_mode) && major(info.st_rdev) != 1;
}

const char *check_file_argument(lua_State *L) {
  const char *path = path_argument(L);
  luaL_argcheck(L, !may_block(path), 1, "is a FIFO or a device; io.open takes it");
  return path;
}

/* ---- Mounts ------------------------------------------------------------------------------------------------ */

/* Pops `count` paths, and enters the host with them, which may suspend the routine until their remote mounts have
 * answered: `stat` would stop the loop for as long as one does not. Then continues with `answered`, whose arguments are
 * followed by three nils, or by nil, a failure and its number. */
int await_mounts(lua_State *L, int count, lua_KFunction answered) {
  void *box = state_of(L)->mounts_answer;
  if (box == NULL) {
    lua_pop(L, count);
    lua_settop(L, lua_gettop(L) + 3);
  } else {
    shim_push_function(L, box);
    lua_insert(L, -count - 1);
    lua_callk(L, count, 3, 0, answered);
  }
  return answered(L, LUA_OK, 0);
}

static int await_mount(lua_State *L, lua_KFunction answered) {
  path_argument(L);
  lua_pushvalue(L, 1);
  return await_mounts(L, 1, answered);
}

bool mount_is_silent(lua_State *L) { return !lua_isnil(L, -2); }

/* ---- Functions that open or change files ------------------------------------------------------------------- */

/* Upvalues: Lua's own function, box. */

static int enter_own(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int open_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return 3;
  lua_pop(L, 3);
  if (!may_block(path_argument(L))) return enter_own(L);
  return enter_swift(L, lua_touserdata(L, lua_upvalueindex(2)));
}

static int open_file(lua_State *L) { return await_mount(L, open_answered); }

static int lines_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return luaL_error(L, "%s", lua_tostring(L, -2));
  lua_pop(L, 3);
  if (!may_block(path_argument(L))) return enter_own(L);
  return enter_swift(L, lua_touserdata(L, lua_upvalueindex(2)));
}

static int lines_of_file(lua_State *L) {
  if (lua_isnoneornil(L, 1)) return enter_own(L);
  return await_mount(L, lines_answered);
}

static int default_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return luaL_error(L, "%s", lua_tostring(L, -2));
  lua_pop(L, 3);
  check_file_argument(L);
  return enter_own(L);
}

static int set_default(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING) return enter_own(L);
  return await_mount(L, default_answered);
}

static int change_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return 3;
  lua_pop(L, 3);
  return enter_own(L);
}

static int remove_file(lua_State *L) { return await_mount(L, change_answered); }

static int rename_file(lua_State *L) {
  path_argument(L);
  luaL_checkstring(L, 2);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  return await_mounts(L, 2, change_answered);
}

/* Replaces a function of the table on the top. */
static void replace(lua_State *L, const char *name, lua_CFunction function, void *box) {
  lua_getfield(L, -1, name);
  lua_pushlightuserdata(L, box);
  lua_pushcclosure(L, function, 2);
  lua_setfield(L, -2, name);
}

void shim_replace_files(lua_State *L, void *open, void *lines, void *answer) {
  state_of(L)->mounts_answer = answer;
  if (lua_getglobal(L, "io") == LUA_TTABLE) {
    replace(L, "open", open_file, open);
    replace(L, "lines", lines_of_file, lines);
    replace(L, "input", set_default, NULL);
    replace(L, "output", set_default, NULL);
  }
  lua_pop(L, 1);
  if (lua_getglobal(L, "os") == LUA_TTABLE) {
    replace(L, "remove", remove_file, NULL);
    replace(L, "rename", rename_file, NULL);
  }
  lua_pop(L, 1);
}

/* ---- package.searchpath ------------------------------------------------------------------------------------ */

/* Pushes the candidates for the file of a module; returns their number. */
int push_candidates(lua_State *L, const char *name, const char *path) {
  int count = 0;
  while (*path != 0) {
    size_t length = strcspn(path, ";");
    luaL_checkstack(L, 4, "path");
    const char *template = lua_pushlstring(L, path, length);
    luaL_gsub(L, template, "?", name);
    lua_remove(L, -2);
    count++;
    path += length + (path[length] == ';');
  }
  return count;
}

/* Pushes the path with the templates whose file, if it exists, can be read at once. */
static void push_readable_templates(lua_State *L, const char *name, const char *path) {
  int top = lua_gettop(L), kept = 0;
  while (*path != 0) {
    size_t length = strcspn(path, ";");
    luaL_checkstack(L, 4, "path");
    const char *template = lua_pushlstring(L, path, length);
    if (may_block(luaL_gsub(L, template, "?", name))) {
      lua_pop(L, 2);
    } else {
      lua_pop(L, 1);
      lua_pushliteral(L, ";");
      kept += 2;
    }
    path += length + (path[length] == ';');
  }
  if (kept > 0) lua_pop(L, 1);
  lua_concat(L, kept > 0 ? kept - 1 : 0);
  lua_insert(L, top + 1);
}

/* `package.searchpath`, which opens each file to find out whether it exists. */
static int search_path(lua_State *L) {
  const char *name = luaL_checkstring(L, 1), *path = luaL_checkstring(L, 2);
  const char *separator = luaL_optstring(L, 3, "."), *replacement = luaL_optstring(L, 4, "/");
  lua_settop(L, 4);
  push_readable_templates(L, *separator != 0 ? luaL_gsub(L, name, separator, replacement) : name, path);
  lua_replace(L, 2);
  lua_settop(L, 4);
  return enter_own(L);
}

void open_files(lua_State *L) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchpath");
  lua_pushcclosure(L, search_path, 1);
  lua_setfield(L, -2, "searchpath");
  lua_pop(L, 1);
}
