#pragma once
#include <lua.h>
#include <lualib.h>
#include <lauxlib.h>

// A macro that joins literals.
static inline const char *lua_release_name(void) { return LUA_RELEASE; }
