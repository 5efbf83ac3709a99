/* States: the counting allocator, opening and closing, the standard library for scripts. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Records the script's position when memory is refused: Lua raises memory errors without a position. Reads call
 * frames only, which is safe in the middle of an allocation. */
static void note_refusal(shim_state *s) {
  lua_Debug ar;
  s->refused_at[0] = 0;
  if (s->running == NULL) return;
  for (int level = 0; level < 16 && lua_getstack(s->running, level, &ar); level++) {
    if (lua_getinfo(s->running, "Sl", &ar) && ar.currentline > 0) {
      snprintf(s->refused_at, sizeof s->refused_at, "%s:%d", ar.short_src, ar.currentline);
      return;
    }
  }
}

/* Resizes a block as `realloc` does, with a header before every block of a deterministic state. When `block` is NULL,
 * `kind` is the kind of the object. */
static void *resize(shim_state *s, void *block, size_t kind, size_t size) {
  if (!s->deterministic) return realloc(block, size);
  block_header *header = realloc(block == NULL ? NULL : (block_header *)block - 1, sizeof *header + size);
  if (header == NULL) return NULL;
  if (block == NULL) {
    bool is_object = kind == LUA_TTABLE || kind == LUA_TFUNCTION || kind == LUA_TUSERDATA || kind == LUA_TTHREAD;
    header->serial = is_object ? ++s->created : 0;
  }
  return header + 1;
}

/* Lua's allocator. Beyond the limit memory is refused, so that Lua collects and then raises. Below a Swift frame it is
 * never refused, as the raise would jump over that frame: the count exceeds the limit, and the trampoline raises when
 * Swift has returned. */
static void *allocate(void *owner, void *block, size_t old_size, size_t new_size) {
  shim_state *s = owner;
  size_t kind = old_size;
  if (block == NULL) old_size = 0;
  if (new_size == 0) {
    if (block != NULL) free(s->deterministic ? (block_header *)block - 1 : block);
    s->bytes -= old_size;
    return NULL;
  }
  if (new_size > old_size && s->bytes - old_size + new_size > s->limit) {
    if (s->swift_depth == 0) {
      note_refusal(s);
      return NULL;
    }
    s->overshot = true;
  }
  void *result = resize(s, block, kind, new_size);
  if (result == NULL) {
    if (new_size <= old_size) return block; /* Lua relies on shrinking to succeed */
    if (s->swift_depth > 0) {
      fprintf(stderr, "roomtone: script %s: the machine has no memory left; ending\n", s->name);
      abort();
    }
    note_refusal(s);
    return NULL;
  }
  s->bytes += new_size - old_size;
  if (s->bytes > s->peak) s->peak = s->bytes;
  return result;
}

static int panic(lua_State *L) {
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error that is no text";
  fprintf(stderr, "roomtone: script %s: a raise outside every protected call: %s\n", state_of(L)->name, text);
  return 0;
}

/* Collects the pieces in which Lua passes a warning; the last one has `more` = 0. */
static void warn_in_pieces(void *owner, const char *piece, int more) {
  shim_state *s = owner;
  static _Thread_local char text[512];
  static _Thread_local size_t used;
  if (used == 0 && !more && piece[0] == '@') return; /* control messages: the host turns warnings on and off */
  size_t length = strlen(piece), room = sizeof text - 1 - used;
  if (length > room) length = room;
  memcpy(text + used, piece, length);
  used += length;
  text[used] = 0;
  if (!more) {
    used = 0;
    if (s->owner != NULL) s->host.warn(s->owner, text);
  }
}

static void remove_field(lua_State *L, const char *library, const char *field) {
  lua_getglobal(L, library);
  lua_pushnil(L);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

static int open_all(lua_State *L) {
  luaL_openlibs(L);
  remove_field(L, "os", "setlocale");
  remove_field(L, "package", "loadlib");
  remove_field(L, "package", "cpath");
  remove_field(L, "package", "searchers");
  /* debug can inspect but not modify. */
  lua_getglobal(L, "debug");
  lua_createtable(L, 0, 2);
  lua_getfield(L, -2, "traceback");
  lua_setfield(L, -2, "traceback");
  lua_getfield(L, -2, "getinfo");
  lua_setfield(L, -2, "getinfo");
  lua_pushvalue(L, -1);
  lua_setglobal(L, "debug");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "debug");
  lua_settop(L, 0);
  /* A file's finalizer can't be replaced by a script's function. */
  luaL_getmetatable(L, LUA_FILEHANDLE);
  lua_pushliteral(L, "file");
  lua_setfield(L, -2, "__metatable");
  lua_settop(L, 0);
  open_protected(L);
  open_coroutine(L);
  open_require(L);
  open_files(L);
  open_bounded(L);
  if (state_of(L)->deterministic) {
    open_determinism(L);
  } else {
    open_clock(L);
  }
  return 0;
}

shim_state *shim_open(const shim_host *host, const char *name, size_t limit, const uint64_t *seed) {
  /* The low bits of its address are a thread's flags. */
  shim_state *s = aligned_alloc(16, (sizeof(shim_state) + 15) / 16 * 16);
  if (s == NULL) return NULL;
  memset(s, 0, sizeof *s);
  s->host = *host;
  s->limit = SIZE_MAX / 2;
  s->swift_depth = 1;
  snprintf(s->name, sizeof s->name, "%s", name);
  s->deterministic = seed != NULL;
  s->seed = seed != NULL ? *seed : 0;
  lua_State *L = lua_newstate(allocate, s);
  if (L == NULL) {
    free(s);
    return NULL;
  }
  s->main = L;
  *thread_space(L) = (uintptr_t)s;
  lua_atpanic(L, panic);
  lua_setwarnf(L, warn_in_pieces, s);
  lua_pushcfunction(L, open_all);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
    shim_close(s);
    return NULL;
  }
  s->limit = limit;
  return s;
}

void shim_close(shim_state *s) {
  lua_close(s->main);
  watchdog_forget(s);
  free(s->mark);
  free(s->mark_text);
  free(s->types);
  free(s);
}

void shim_set_owner(shim_state *s, void *owner) { s->owner = owner; }
lua_State *shim_main(shim_state *s) { return s->main; }
shim_state *shim_of(lua_State *L) { return state_of(L); }
void *shim_owner(lua_State *L) { return state_of(L)->owner; }
void shim_collect(lua_State *L) { lua_gc(L, LUA_GCCOLLECT); }
size_t shim_bytes(const shim_state *s) { return s->bytes; }
size_t shim_peak(const shim_state *s) { return s->peak; }
