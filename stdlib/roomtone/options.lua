-- Checks of the tables of options that functions of the library receive.
--
--   local options = require "roomtone.options"
--   function lamp.set(given)
--     local known = { to = "volume", over = "duration" }
--     local wanted = options.check("set", given, known, { "to" }, { over = 0 })
--     task.sleep(wanted.over)                       -- a duration is a number of seconds now
--   end
--
-- Errors name the option, and are raised at the script's line that called into the library.

local checks = require "roomtone.misuse"
local speaker = require "speaker"

local options = checks.module "roomtone.options"
local misuse = checks.raise

-- The longest duration in seconds, a hundred years: the limit of the host's functions.
options.LONGEST = 3155760000

local UNITS = { { "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 }, { "ms", 0.001 } }

-- Returns the seconds of a duration, a number or text such as "1h30m", of any length; nil for anything else.
local function seconds(value)
  if type(value) == "number" then
    return value >= 0 and value or nil
  elseif type(value) ~= "string" or value == "" then
    return nil
  end
  local total, position, unit = 0, 1, 1
  while position <= #value do
    local number, name, next_position = value:match("^(%d+%.?%d*)(%a+)()", position)
    while unit <= #UNITS and UNITS[unit][1] ~= name do
      unit = unit + 1
    end
    if not number or number:sub(-1) == "." or unit > #UNITS then
      return nil
    end
    total, position, unit = total + tonumber(number) * UNITS[unit][2], next_position, unit + 1
  end
  return total
end

-- Returns the seconds of a duration; nil and a message for anything else.
function options.seconds(value)
  local length = seconds(value)
  if not length then
    return nil, ("%s is not a duration (as in 90s, 5m, 1h30m expected)"):format(tostring(value))
  elseif length > options.LONGEST then
    return nil, ("at most a hundred years expected, got %s"):format(tostring(value))
  end
  return length
end

-- Returns the kind of an option that is a whole number in a range.
function options.whole(least, most)
  return function(value)
    local number = math.type(value) and math.tointeger(value)
    if not number or number < least or number > most then
      local got = type(value) == "number" and tostring(value) or type(value)
      return nil, ("whole number from %d to %d expected, got %s"):format(least, most, got)
    end
    return number
  end
end

-- Returns a volume as an integer; nil and a message for anything else.
options.volume = options.whole(0, speaker.MAX_VOLUME)

-- Kinds of values beside Lua's types: functions that return the value to use, or nil and a message. A module
-- may pass a function of its own in place of the name of a kind.
local kinds = {}

kinds.duration, kinds.volume = options.seconds, options.volume

function kinds.any(value)
  return value
end

-- Returns the kind of an option that has one of these values.
function options.one_of(...)
  local list, is_known = { ... }, {}
  for _, value in ipairs(list) do
    is_known[value] = true
  end
  return function(value)
    return is_known[value] and value or nil,
      ("%s expected, got %s"):format(table.concat(list, " or "), tostring(value))
  end
end

-- Words for options that have a position instead of a name, by the table of kinds.
local words = setmetatable({}, { __mode = "k" })

-- Sets the words for the options by position of a table of kinds: "the text".
function options.describe(known, list)
  words[known] = list
end

-- Returns an option as messages name it: by its name, or by its words and its position.
function options.label(key, name, known)
  if type(key) ~= "number" then
    return ("option '%s' of '%s'"):format(key, name)
  end
  local own = words[known] and words[known][key]
  return ("%svalue %d in the options of '%s'"):format(own and own .. ", " or "", key, name)
end
local label = options.label

-- Returns a value of the kind of an option; raises misuse for any other.
local function converted(key, name, value, known)
  local kind = known[key]
  local convert = kinds[kind] or type(kind) == "function" and kind
  if not convert then
    if type(value) ~= kind then
      misuse(("%s: %s expected, got %s"):format(label(key, name, known), kind, type(value)))
    end
    return value
  end
  local result, message = convert(value)
  if result == nil then
    misuse(label(key, name, known) .. ": " .. message)
  end
  return result
end

-- Returns a copy of the options given to the function `name`, with converted values and the defaults.
-- `known`: the kind of each option, by its name or position; `required`: list of those that can't be absent.
function options.check(name, given, known, required, defaults)
  if type(given) ~= "table" then
    misuse(("bad argument #1 to '%s' (table expected, got %s)"):format(name, type(given)))
  end
  local result = {}
  for key, value in pairs(given) do
    if not known[key] then
      misuse(checks.unknown(("option of '%s'"):format(name), key, known))
    end
    result[key] = converted(key, name, value, known)
  end
  for _, key in ipairs(required or {}) do
    if result[key] == nil then
      misuse(label(key, name, known) .. " is missing")
    end
  end
  for key, value in pairs(defaults or {}) do
    if result[key] == nil then
      result[key] = value
    end
  end
  return result
end

return checks.sealed("roomtone.options", options)
