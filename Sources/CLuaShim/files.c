/* Files whose open or read may block, which the host opens: FIFOs, sockets, devices. */
#include "internal.h"

#include <fcntl.h>
#include <lualib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Returns the path in argument 1; raises if it has a zero byte, at which the system would end it. */
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
  luaL_argcheck(L, !may_block(path), 1, "is a FIFO or a device; open it with io.open");
  return path;
}

/* ---- Functions that open or change files ------------------------------------------------------------------- */

/* Upvalues: Lua's own function, box. */

static int own_ended(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return lua_gettop(L);
}

static int enter_own(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, own_ended);
  return lua_gettop(L);
}

/* Calls Lua's own function, which opens the file at the path in argument 1; programs that are started do not inherit
 * it. */
static int open_own(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  for (int index = 1; index <= lua_gettop(L); index++) {
    luaL_Stream *stream = luaL_testudata(L, index, LUA_FILEHANDLE);
    if (stream != NULL) fcntl(fileno(stream->f), F_SETFD, FD_CLOEXEC);
  }
  return lua_gettop(L);
}

static int open_file(lua_State *L) {
  if (may_block(path_argument(L))) return enter_swift(L, lua_touserdata(L, lua_upvalueindex(2)));
  return open_own(L);
}

static int lines_of_file(lua_State *L) { return lua_isnoneornil(L, 1) ? enter_own(L) : open_file(L); }

static int set_default(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING) return enter_own(L);
  check_file_argument(L);
  return open_own(L);
}

static int remove_file(lua_State *L) {
  path_argument(L);
  return enter_own(L);
}

/* Replaces a function of the table on the top; `box` is its second upvalue. */
static void replace(lua_State *L, const char *name, lua_CFunction function, void *box) {
  lua_getfield(L, -1, name);
  lua_pushlightuserdata(L, box);
  lua_pushcclosure(L, function, 2);
  lua_setfield(L, -2, name);
}

void replace_by_own(lua_State *L) {
  for (int number = 1; lua_getupvalue(L, -1, number) != NULL; number++) {
    if (lua_iscfunction(L, -1)) {
      lua_remove(L, -2);
      return;
    }
    lua_pop(L, 1);
  }
}

void shim_replace_files(lua_State *L, void *open, void *lines) {
  int top = lua_gettop(L);
  if (lua_getglobal(L, "io") == LUA_TTABLE) {
    replace(L, "open", open_file, open);
    replace(L, "lines", lines_of_file, lines);
    replace(L, "input", set_default, NULL);
    replace(L, "output", set_default, NULL);
  }
  if (lua_getglobal(L, "os") == LUA_TTABLE) {
    replace(L, "remove", remove_file, NULL);
    replace(L, "rename", remove_file, NULL);
  }
  lua_settop(L, top);
}

/* ---- package.searchpath ------------------------------------------------------------------------------------ */

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
  const char *file = *separator != 0 ? luaL_gsub(L, name, separator, replacement) : name;
  push_readable_templates(L, file, path);
  if (*path != 0 && lua_rawlen(L, -1) == 0) {
    const char *blocked = luaL_gsub(L, path, "?", file);
    lua_pushnil(L);
    lua_pushfstring(L, "'%s' is a FIFO or a device", blocked);
    return 2;
  }
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
