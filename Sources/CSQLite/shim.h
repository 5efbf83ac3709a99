#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast that Swift can't see: SQLite copies the values that it receives.
static inline int shim_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 length) {
  return sqlite3_bind_text64(statement, index, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
}
static inline int shim_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 length) {
  return length ? sqlite3_bind_blob64(statement, index, bytes, length, SQLITE_TRANSIENT)
                : sqlite3_bind_zeroblob(statement, index, 0);
}

// A function of many forms: this one turns an option of a connection on or off.
static inline int shim_set_option(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}
