/* `os.time()` and `os.date()` by the clock that timers follow. The C library's `time` reads a clock that lags by up to
 * some milliseconds: a job at midnight would see the previous second, and the previous date. */
#include "internal.h"

#include <time.h>

static lua_Integer now_in_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec;
}

/* Upvalue: Lua's own function. */
static int precise_time(lua_State *L) {
  if (!lua_isnoneornil(L, 1)) return lua_tocfunction(L, lua_upvalueindex(1))(L);
  lua_pushinteger(L, now_in_seconds());
  return 1;
}

/* Upvalue: Lua's own function. */
static int precise_date(lua_State *L) {
  if (lua_isnoneornil(L, 2)) {
    lua_settop(L, 1);
    lua_pushinteger(L, now_in_seconds());
  }
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void open_clock(lua_State *L) {
  lua_getglobal(L, "os");
  lua_getfield(L, -1, "time");
  lua_pushcclosure(L, precise_time, 1);
  lua_setfield(L, -2, "time");
  lua_getfield(L, -1, "date");
  lua_pushcclosure(L, precise_date, 1);
  lua_setfield(L, -2, "date");
  lua_pop(L, 1);
}
