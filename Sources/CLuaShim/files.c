/* Files whose open or read may block: FIFOs, sockets, devices, which the host opens; and files of remote mounts, which
 * have to answer before each call. */
#include "internal.h"

#include <fcntl.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
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
  luaL_argcheck(L, !may_block(path), 1, "is a FIFO or a device; open it with io.open");
  return path;
}

/* ---- Mounts ------------------------------------------------------------------------------------------------ */

/* Pops `count` paths, and enters the host with them, which may suspend the routine until their remote mounts have
 * answered: `stat` would stop the loop for as long as one does not. Then continues with `answered`, whose arguments are
 * followed by true if a path is on a remote mount, or nil, and by two nils, or a failure and its number. */
int await_mounts(lua_State *L, int count, lua_KFunction answered, lua_KContext context) {
  void *box = state_of(L)->mounts_answer;
  if (box == NULL) {
    lua_pop(L, count);
    lua_settop(L, lua_gettop(L) + 3);
  } else {
    shim_push_function(L, box);
    lua_insert(L, -count - 1);
    lua_callk(L, count, 3, context, answered);
  }
  return answered(L, LUA_OK, context);
}

static int await_mount(lua_State *L, lua_KFunction answered) {
  path_argument(L);
  lua_pushvalue(L, 1);
  return await_mounts(L, 1, answered, 0);
}

bool mount_is_silent(lua_State *L) { return !lua_isnil(L, -2); }

/* ---- Open files of remote mounts --------------------------------------------------------------------------- */

/* The address is the key of the registry's table of these files and their paths; its keys are weak. */
static const char remote_files;

static void push_remote_files(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &remote_files) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &remote_files);
}

/* Keeps the path, argument 1, of the open file at `file`. */
static void keep_remote_file(lua_State *L, int file) {
  push_remote_files(L);
  lua_pushvalue(L, file);
  lua_pushvalue(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Pushes the path of the file that a function uses, argument 1 or else the standard one, if it is on a remote mount. */
static bool push_remote_path(lua_State *L, const char *standard) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &remote_files) != LUA_TTABLE) {
    lua_pop(L, 1);
    return false;
  }
  if (luaL_testudata(L, 1, LUA_FILEHANDLE) != NULL || standard == NULL) {
    lua_pushvalue(L, 1);
  } else {
    lua_getfield(L, LUA_REGISTRYINDEX, standard);
  }
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (lua_isstring(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

/* The iterator of `lines`. Upvalues: Lua's own, the path. */

static int line_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return luaL_error(L, "%s", lua_tostring(L, -2));
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L);
}

static int next_line(lua_State *L) {
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(2));
  return await_mounts(L, 1, line_answered, 0);
}

/* Replaces the iterator at `index` by one whose lines wait for the mount with the path at `path`. */
static void guard_lines(lua_State *L, int index, int path) {
  lua_pushvalue(L, index);
  lua_pushvalue(L, path);
  lua_pushcclosure(L, next_line, 2);
  lua_replace(L, index);
}

static int file_answered(lua_State *L, int status, lua_KContext own) {
  (void)status;
  if (mount_is_silent(L)) return 3;
  lua_pop(L, 3);
  int count = ((lua_CFunction)own)(L), first = lua_gettop(L) - count + 1;
  if (count > 0 && lua_iscfunction(L, first)) {
    if (!push_remote_path(L, "_IO_input")) return count; /* closed meanwhile */
    guard_lines(L, first, lua_gettop(L));
    lua_pop(L, 1);
  }
  return count;
}

int call_file_function(lua_State *L, lua_CFunction own, const char *standard) {
  if (!push_remote_path(L, standard)) return own(L);
  return await_mounts(L, 1, file_answered, (lua_KContext)own);
}

/* Upvalues: Lua's own function, the registry's field with the file that it uses without one, or nil. */
static int guarded(lua_State *L) {
  return call_file_function(L, lua_tocfunction(L, lua_upvalueindex(1)), lua_tostring(L, lua_upvalueindex(2)));
}

static void *close_file(void *file) {
  fclose(file);
  return NULL;
}

/* Closes a file on a thread of its own, as its mount may not answer. */
static void close_aside(luaL_Stream *stream) {
  pthread_t thread;
  FILE *file = stream->f;
  if (stream->closef == NULL) return;
  stream->closef = NULL; /* Lua's mark of a closed file */
  if (start_thread(&thread, close_file, file) != 0) {
    fclose(file);
  } else {
    pthread_detach(thread);
  }
}

static int closing_answered(lua_State *L, int status, lua_KContext own) {
  (void)status;
  if (mount_is_silent(L)) {
    close_aside(luaL_checkudata(L, 1, LUA_FILEHANDLE));
    return 0;
  }
  lua_settop(L, 1);
  return ((lua_CFunction)own)(L);
}

/* `__close`. Upvalue: Lua's own. */
static int close_variable(lua_State *L) {
  lua_CFunction own = lua_tocfunction(L, lua_upvalueindex(1));
  lua_settop(L, 1);
  if (!push_remote_path(L, NULL)) return own(L);
  return await_mounts(L, 1, closing_answered, (lua_KContext)own);
}

/* `__gc`, which may not wait. Upvalue: Lua's own. */
static int collect_file(lua_State *L) {
  lua_settop(L, 1);
  if (!push_remote_path(L, NULL)) return lua_tocfunction(L, lua_upvalueindex(1))(L);
  close_aside(luaL_checkudata(L, 1, LUA_FILEHANDLE));
  return 0;
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

/* Calls Lua's own function, which opens the file at the path in argument 1; programs that are started do not inherit it.
 * Returns the index of its first result, as its results come behind the arguments. */
static int open_own(lua_State *L, bool is_remote) {
  int count = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  for (int number = 1; number <= count; number++) lua_pushvalue(L, number);
  lua_call(L, count, LUA_MULTRET);
  for (int index = count + 1; index <= lua_gettop(L); index++) {
    luaL_Stream *stream = luaL_testudata(L, index, LUA_FILEHANDLE);
    if (stream == NULL) continue;
    fcntl(fileno(stream->f), F_SETFD, FD_CLOEXEC);
    if (is_remote) keep_remote_file(L, index);
  }
  return count + 1;
}

static int open_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return 3;
  bool is_remote = lua_toboolean(L, -3);
  lua_pop(L, 3);
  if (may_block(path_argument(L))) return enter_swift(L, lua_touserdata(L, lua_upvalueindex(2)));
  int first = open_own(L, is_remote);
  return lua_gettop(L) - first + 1;
}

static int open_file(lua_State *L) { return await_mount(L, open_answered); }

static int lines_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return luaL_error(L, "%s", lua_tostring(L, -2));
  bool is_remote = lua_toboolean(L, -3);
  lua_pop(L, 3);
  if (may_block(path_argument(L))) return enter_swift(L, lua_touserdata(L, lua_upvalueindex(2)));
  int first = open_own(L, is_remote);
  if (is_remote) guard_lines(L, first, 1);
  return lua_gettop(L) - first + 1;
}

static int lines_of_file(lua_State *L) {
  if (lua_isnoneornil(L, 1)) return enter_own(L);
  return await_mount(L, lines_answered);
}

static int default_answered(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (mount_is_silent(L)) return luaL_error(L, "%s", lua_tostring(L, -2));
  bool is_remote = lua_toboolean(L, -3);
  lua_pop(L, 3);
  check_file_argument(L);
  int first = open_own(L, is_remote);
  return lua_gettop(L) - first + 1;
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
  return await_mounts(L, 2, change_answered, 0);
}

/* Replaces a function of the table on the top; `box` is its second upvalue. */
static void replace(lua_State *L, const char *name, lua_CFunction function, void *box) {
  lua_getfield(L, -1, name);
  lua_pushlightuserdata(L, box);
  lua_pushcclosure(L, function, 2);
  lua_setfield(L, -2, name);
}

/* Lets a function of the table on the top wait for the mount of its file; `standard` is the registry's field with the
 * file that it uses without one. Functions of standard input and output do so already. */
static void guard(lua_State *L, const char *name, const char *standard) {
  lua_getfield(L, -1, name);
  if (lua_getupvalue(L, -1, 1) != NULL) {
    lua_pop(L, 2);
    return;
  }
  lua_pushstring(L, standard);
  lua_pushcclosure(L, guarded, 2);
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

void shim_replace_files(lua_State *L, void *open, void *lines, void *answer) {
  int top = lua_gettop(L);
  state_of(L)->mounts_answer = answer;
  if (lua_getglobal(L, "io") == LUA_TTABLE) {
    replace(L, "open", open_file, open);
    replace(L, "lines", lines_of_file, lines);
    replace(L, "input", set_default, NULL);
    replace(L, "output", set_default, NULL);
    guard(L, "close", "_IO_output");
    guard(L, "flush", "_IO_output");
    guard(L, "write", "_IO_output");
  }
  if (lua_getglobal(L, "os") == LUA_TTABLE) {
    replace(L, "remove", remove_file, NULL);
    replace(L, "rename", rename_file, NULL);
  }
  if (luaL_getmetatable(L, LUA_FILEHANDLE) == LUA_TTABLE) {
    replace(L, "__close", close_variable, NULL);
    replace(L, "__gc", collect_file, NULL);
    if (lua_getfield(L, -1, "__index") == LUA_TTABLE) {
      for (const char *const *name = (const char *const[]){"close", "flush", "seek", "setvbuf", "write", NULL}; *name; name++)
        guard(L, *name, NULL);
    }
  }
  lua_settop(L, top);
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
