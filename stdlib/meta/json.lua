---@meta json
---@search parse serialize

-- JSON (RFC 8259): values as text, and text as values.
--
--   local json = require "json"
--   local text = json.encode({ room = "Kitchen", levels = { 10, 20 } })
--   print(text) --> {"levels":[10,20],"room":"Kitchen"}
--   local value = json.decode '{ "next": null, "items": [1, 2.5] }'
--   if value.next == json.null then print(value.items[2]) end
--
-- Integers and floats keep their types: `2` is an integer, `2.0` and `2e0` are floats. A whole number beyond 64 bits is
-- read as a float, as in Lua. `null` is read as `json.null`, so that a list keeps its places and a table its names; a
-- nil at the top is written as `null`. A table without any element is written as the list `[]`. The names of a table
-- are written in order of their bytes: the same value is the same text. Texts of at most 4 MiB are written and read,
-- nested at most 64 deep.

---@class jsonlib
local json = {}

---The value of `null`, equal to itself alone; true as a condition.
json.null = nil

---Options of `json.encode`.
---@class json.Format
---@field pretty? boolean A line for each element and member, indented by two spaces a level (default: false, one line).

---Returns a value as JSON: booleans, integers, finite floats, text in UTF-8, `json.null`, lists, and tables whose keys
---are all text. Raises `json.not_json` (the message names the part: `value.alarms[2].fn is a function`),
---`json.too_large`, `argument`.
---@param value any
---@param options? json.Format
---@return string text
function json.encode(value, options) end

---Returns the value of a JSON text. Raises `json.syntax` (the message has line and column), `json.too_large`, `argument`.
---@param text string
---@return any value
function json.decode(text) end

return json
