std = "lua54"
max_line_length = 110
-- Roomtone's modules come through require; the one global of a script besides Lua's own is the list of its arguments.
read_globals = { "arg" }
-- The shipped definitions describe modules; they are read by tools and never run.
exclude_files = { "stdlib/meta" }
-- A stations file declares stations.
files["stdlib/spec/stations.lua"] = { read_globals = { "station" } }
-- The runner of specs offers these.
files["stdlib/spec"] = { read_globals = { "describe", "it", "expect" } }
files["scripts/spec"] = { read_globals = { "describe", "it", "expect" }, globals = { "arg" } }
-- A triggers file declares triggers and messages.
files["scripts/spec/*_triggers.lua"] = { read_globals = { "mqtt", "trigger" } }
