---@meta store

-- What a script finds again the next time it runs: values by key.
--
--   local store = require "store"
--   local skipped = store.get("skipped", {})
--   table.insert(skipped, os.date "%F")
--   store.set("skipped", skipped)
--   for _, key in ipairs(store.keys()) do print(key, store.get(key)) end
--
-- Each script has a store of its own: a file by its path from the root on, links followed, so a file that is moved
-- begins anew; `-e`, `-` and `repl` have one each. Several runs of a script share its store, and each sees at once what
-- another has set. It is kept in `$XDG_STATE_HOME/roomtone/store.db`; where there is no home folder, in memory. Under
-- `roomtone simulate` it begins empty, lives in memory, and what is kept for real is neither read nor changed.
--
-- A value is what JSON can hold: booleans, integers, finite floats, text in UTF-8, lists, and tables whose keys are all
-- text; at most 64 in one another, and 1 MiB of JSON in all. Integers and floats stay what they are. What is stored is
-- a copy: a table that was got and is changed has to be set again.
--
-- All of these raise `database.busy`, `database.full`, `database.unavailable` or `database.newer` when the file can't
-- be used. A damaged file is set aside, which is logged, and a new one begun.

error("stdlib/meta/store.lua is a description, not a module: require \"store\" finds the module itself")

---@class storelib
local store = {}

---What can be stored.
---@alias store.Value boolean|number|string|store.Value[]|table<string, store.Value>

---What was stored at a key, as a new table each time; `default` when nothing was. Raises `argument`.
---@param key string At most 1024 bytes, in UTF-8.
---@param default? any
---@return any
function store.get(key, default) end

---Stores a value, which outlives this run from now on; nil deletes the key.
---
---Raises `store.not_storable` (the message says what can't be stored and where: `value.alarms[2].fn is a function`),
---`store.too_large`, `argument`.
---@param key string At most 1024 bytes, in UTF-8.
---@param value store.Value?
function store.set(key, value) end

---Deletes what is stored at a key. Raises `argument`.
---@param key string
---@return boolean deleted Whether there was something.
function store.delete(key) end

---The keys at which something is stored, sorted by their bytes.
---@return string[]
function store.keys() end

return store
