/* Compilation of text, which counts as time of the script: the text comes in pieces, and a script whose time is over is
 * stopped between two of them. */
#include "internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1024 };

typedef struct source {
  const char *rest;
  size_t size; /* of the rest; for a reader the bytes so far */
} source;

static const char *next_piece(lua_State *L, void *data, size_t *size) {
  source *text = data;
  check_time(L);
  *size = text->size < PIECE ? text->size : PIECE;
  const char *piece = text->rest;
  text->rest += *size;
  text->size -= *size;
  return piece;
}

/* Pushes the error of a text that is too large, and returns its status. */
static int refuse_size(lua_State *L, const char *name) {
  const char *shown = name[0] == '@' || name[0] == '=' ? name + 1 : "the text";
  lua_pushfstring(L, "%s is larger than 1 MB: no source is", shown);
  return LUA_ERRSYNTAX;
}

int load_pieces(lua_State *L, const char *text, size_t size, const char *chunk_name) {
  if (size > LARGEST_SOURCE) return refuse_size(L, chunk_name);
  source source = {text, size};
  return lua_load(L, next_piece, &source, chunk_name, "t");
}

/* The reader of `load` with a function, which is argument 1; its last piece is kept in slot 5. */
static const char *call_reader(lua_State *L, void *data, size_t *size) {
  source *text = data;
  check_time(L);
  luaL_checkstack(L, 2, "too many nested functions");
  lua_pushvalue(L, 1);
  lua_call(L, 0, 1);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    *size = 0;
    return NULL;
  }
  if (!lua_isstring(L, -1)) luaL_error(L, "reader function must return a string");
  lua_replace(L, 5);
  const char *piece = lua_tolstring(L, 5, size);
  text->size += *size;
  if (text->size > LARGEST_SOURCE) luaL_error(L, "the text is larger than 1 MB: no source is");
  return piece;
}

int load_from_reader(lua_State *L, const char *chunk_name) {
  source source = {NULL, 0};
  return lua_load(L, call_reader, &source, chunk_name, "t");
}

/* Skips a byte order mark, and a first line that begins with `#`, but not its line end. */
static source body_of(const char *text, size_t size) {
  source body = {text, size};
  if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) body = (source){text + 3, size - 3};
  if (body.size == 0 || body.rest[0] != '#') return body;
  const char *end = memchr(body.rest, '\n', body.size);
  size_t skipped = end == NULL ? body.size : (size_t)(end - body.rest);
  return (source){body.rest + skipped, body.size - skipped};
}

int load_file(lua_State *L, const char *path) {
  struct stat status;
  /* A path that leads to no regular file gets Lua's own error. */
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return luaL_loadfilex(L, path, "t");
  const char *name = lua_pushfstring(L, "@%s", path);
  if (status.st_size > LARGEST_SOURCE) {
    int refused = refuse_size(L, name);
    lua_remove(L, -2);
    return refused;
  }
  char *text = lua_newuserdatauv(L, (size_t)status.st_size + 1, 0);
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    lua_pop(L, 2);
    return luaL_loadfilex(L, path, "t");
  }
  size_t size = fread(text, 1, (size_t)status.st_size, file);
  fclose(file);
  source body = body_of(text, size);
  int result = lua_load(L, next_piece, &body, name, "t");
  lua_replace(L, -3);
  lua_pop(L, 1);
  return result;
}
