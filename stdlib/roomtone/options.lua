-- Checks of the table of options that a function of the library takes.
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

local options = checks.module "roomtone.options"
local misuse = checks.raise

local UNITS = { { "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 }, { "ms", 0.001 } }

-- Returns the seconds of a duration: a number, or text such as "1h30m"; nil for anything else.
function options.seconds(value)
  if type(value) == "number" then
    return value >= 0 and value < math.huge and value or nil
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

-- Kinds of values beside Lua's types: functions that return the value to use, or nil and a message. A module
-- may pass a function of its own in place of the name of a kind.
local kinds = {}

function kinds.duration(value)
  return options.seconds(value),
    ("%s is no duration (as in 90s, 5m, 1h30m expected)"):format(tostring(value))
end

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

-- Returns the kind of an option that is a whole number in a range.
function options.whole(least, most)
  return function(value)
    local number = math.type(value) and math.tointeger(value)
    return number and number >= least and number <= most and number or nil,
      ("whole number from %d to %d expected, got %s"):format(least, most, tostring(value))
  end
end

kinds.volume = options.whole(0, 50)

-- Returns an option as messages name it: a name, or the position of one that has none.
local function label(key, name)
  local form = type(key) == "number" and "value %d in the options of '%s'" or "option '%s' of '%s'"
  return form:format(key, name)
end

-- Returns a value of the kind of an option; raises misuse for any other.
local function converted(key, name, value, kind)
  local convert = kinds[kind] or type(kind) == "function" and kind
  if not convert then
    if type(value) ~= kind then
      misuse(("%s: %s expected, got %s"):format(label(key, name), kind, type(value)))
    end
    return value
  end
  local result, message = convert(value)
  if result == nil then
    misuse(label(key, name) .. ": " .. message)
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
    result[key] = converted(key, name, value, known[key])
  end
  for _, key in ipairs(required or {}) do
    if result[key] == nil then
      misuse(label(key, name) .. " is missing")
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
