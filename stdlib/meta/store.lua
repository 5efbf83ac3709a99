---@meta store
---@search save persist persistent database variable memory remember settings

-- Values by key that persist between the runs of a script.
--
--   local store = require "store"
--   local skipped = store.get("skipped", {})
--   table.insert(skipped, os.date "%F")
--   store.set("skipped", skipped)
--   for _, key in ipairs(store.keys()) do print(key, store.get(key)) end
--
-- Each script has a store of its own, identified by the absolute path of its file with links resolved: a file that is
-- moved begins with an empty one; `-e`, `-` and `repl` have one each. Several runs of a script share its store, and
-- each reads at once the values that another has set. The data is in `$XDG_STATE_HOME/roomtone/store.db`; without a
-- home folder, in memory. Under `roomtone simulate` the store begins empty and lives in memory; the stored data is
-- neither read nor changed.
--
-- A value is one that JSON can represent: booleans, integers, finite floats, text in UTF-8, lists, and tables whose keys
-- are all text; nested at most 64 deep, and at most 1 MiB of JSON. Integers and floats keep their types. The stored
-- value is a copy: a table that was read and changed has to be set again.
--
-- A script may keep 100 MB of keys and values (`limits { store = MB }` in the configuration). `store.set` raises
-- `store.full` beyond that, and when the disk would have less free space than `recordings { min_free = }` says.
--
-- Every function raises `database.busy`, `database.full`, `database.unavailable`, `database.damaged` or
-- `database.newer` if the file can't be used. A damaged file is set aside, which is logged, and a new one begun.

---@class storelib
local store = {}

---A value that can be stored.
---@alias store.Value boolean|number|string|store.Value[]|table<string, store.Value>

---Returns the value at a key, a table as a new copy each time; `default` if nothing is stored there. Raises `argument`.
---@param key string A key of at most 1024 bytes, in UTF-8.
---@param default? any Returned if nothing is stored at the key (default: nil).
---@return any
function store.get(key, default) end

---Stores a value, on disk when the function returns; nil deletes the key.
---
---Raises `store.not_storable` (the message names the part that can't be stored: `value.alarms[2].fn is a function`),
---`store.too_large`, `store.full`, `argument`.
---@param key string A key of at most 1024 bytes, in UTF-8.
---@param value store.Value?
function store.set(key, value) end

---Deletes the value at a key. Raises `argument`.
---@param key string
---@return boolean deleted `true` if there was a value.
function store.delete(key) end

---Returns the keys of the stored values, sorted by their bytes. Raises `argument`.
---@param prefix? string Beginning of the keys (default: all keys).
---@return string[]
function store.keys(prefix) end

return store
