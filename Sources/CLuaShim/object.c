/* Functions and objects of Swift's as Lua values. */
#include "internal.h"

#include <stdlib.h>

static int call_function(lua_State *L) { return enter_swift(L, lua_touserdata(L, lua_upvalueindex(1))); }

void shim_push_function(lua_State *L, void *box) {
  lua_pushlightuserdata(L, box);
  lua_pushcclosure(L, call_function, 1);
}

static int print_line(lua_State *L) {
  int n = lua_gettop(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&b, '\t');
    /* The upvalue is the global `tostring`, which is the deterministic one in a deterministic state. */
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    if (!lua_isstring(L, -1)) return luaL_error(L, "'__tostring' must return a string");
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  lua_insert(L, 1);
  lua_settop(L, 1);
  return enter_swift(L, lua_touserdata(L, lua_upvalueindex(1)));
}

void shim_push_print(lua_State *L, void *box) {
  lua_pushlightuserdata(L, box);
  lua_getglobal(L, "tostring");
  lua_pushcclosure(L, print_line, 2);
}

/* ---- objects: a userdata that knows its type ------------------------------------------------------------ */

/* The content of the userdata. No script can write into it, so the type is reliable. */
typedef struct object_slot {
  void *object;          /* +1 retained; NULL once it was released */
  const void *metatable; /* of its type: an address that no foreign userdata holds */
} object_slot;

static const char cache_key = 0, types_key = 0;

/* Upvalues: methods, fields, box of the function for unknown names. */
static int object_index(lua_State *L) {
  /* Methods first, with as little work as possible: every call of a method comes through here. A missing key reads
   * as nil. */
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(2)) == LUA_TLIGHTUSERDATA) {
    void *box = lua_touserdata(L, -1);
    lua_settop(L, 1);
    return enter_swift(L, box);
  }
  lua_settop(L, 2);
  return enter_swift(L, lua_touserdata(L, lua_upvalueindex(3)));
}

static int object_release(lua_State *L) {
  object_slot *slot = lua_touserdata(L, 1);
  if (slot == NULL || !lua_getmetatable(L, 1)) return 0;
  if (lua_rawlen(L, 1) == sizeof *slot && slot->metatable == lua_topointer(L, -1) && slot->object != NULL) {
    void *object = slot->object;
    slot->object = NULL;
    state_of(L)->host.release(object);
  }
  return 0;
}

static void push_types(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &types_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &types_key);
}

/* Pushes the metatable of a type. */
static void push_type(lua_State *L, int type) {
  push_types(L);
  lua_rawgeti(L, -1, type + 1);
  lua_remove(L, -2);
}

void shim_push_type(lua_State *L, int type) { push_type(L, type); }

int shim_new_type(lua_State *L, const char *name, void *unknown, void *assign, void *describe) {
  shim_state *s = state_of(L);
  shim_type *types = realloc(s->types, (size_t)(s->type_count + 1) * sizeof *types);
  if (types == NULL) return -1;
  s->types = types;
  int type = s->type_count++;

  push_types(L);
  lua_createtable(L, 0, 8);
  types[type].metatable = lua_topointer(L, -1);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__metatable");
  lua_newtable(L); /* methods */
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "methods");
  lua_newtable(L); /* fields */
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "fields");
  lua_pushlightuserdata(L, unknown);
  lua_pushcclosure(L, object_index, 3);
  lua_setfield(L, -2, "__index");
  shim_push_function(L, assign);
  lua_setfield(L, -2, "__newindex");
  shim_push_function(L, describe);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, object_release);
  lua_setfield(L, -2, "__gc");
  lua_rawseti(L, -2, type + 1);
  lua_pop(L, 1);
  return type;
}

void shim_define_type(lua_State *L, int type, const char *definition) {
  push_type(L, type);
  lua_pushstring(L, definition);
  lua_setfield(L, -2, "__definition");
  lua_pop(L, 1);
}

void shim_add_method(lua_State *L, int type, const char *name, void *box) {
  push_type(L, type);
  lua_getfield(L, -1, "methods");
  shim_push_function(L, box);
  lua_setfield(L, -2, name);
  /* `<close>` finds its method in the metatable, not through __index. */
  if (name[0] == '_' && name[1] == '_') {
    lua_getfield(L, -1, name);
    lua_setfield(L, -3, name);
    lua_pushnil(L);
    lua_setfield(L, -2, name);
  }
  lua_pop(L, 2);
}

void shim_add_field(lua_State *L, int type, const char *name, void *box) {
  push_type(L, type);
  lua_getfield(L, -1, "fields");
  lua_pushlightuserdata(L, box);
  lua_setfield(L, -2, name);
  lua_pop(L, 2);
}

/* Pushes the table of userdata by object, with weak values. */
static void push_cache(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &cache_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &cache_key);
}

void shim_push_object(lua_State *L, int type, void *object) {
  push_cache(L);
  if (lua_rawgetp(L, -1, object) == LUA_TUSERDATA) {
    lua_remove(L, -2);
    state_of(L)->host.release(object);
    return;
  }
  lua_pop(L, 1);
  object_slot *slot = lua_newuserdatauv(L, sizeof *slot, 0);
  *slot = (object_slot){object, state_of(L)->types[type].metatable};
  push_type(L, type);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, -3, object);
  lua_remove(L, -2);
}

void *shim_test_object(lua_State *L, int index, int type) {
  const object_slot *slot = lua_touserdata(L, index);
  /* A light userdata has no length. */
  if (slot == NULL || lua_rawlen(L, index) != sizeof *slot) return NULL;
  const shim_state *s = state_of(L);
  if (type < 0 || type >= s->type_count) return NULL;
  return slot->metatable == s->types[type].metatable ? slot->object : NULL;
}
