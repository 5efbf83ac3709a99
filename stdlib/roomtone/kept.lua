-- Values that a script keeps under names in its store, of one kind each.
--
--   local kept = require "roomtone.kept"
--   local lamps = kept.kind { name = "lamp", prefix = "lamp.", verb = "define", done = "defined",
--     is_valid = function(value) return type(value) == "number" end }
--   lamps.set("hall", 20)
--   print(lamps.get "hall", #lamps.names())
--
-- Errors are raised at the script's line that called into the library.

local checks = require "roomtone.misuse"
local store = require "store"

local kept = checks.module "roomtone.kept"
local misuse, at = checks.raise, checks.attribute

-- The most bytes of a name.
local LONGEST_NAME = 100

-- Returns nil if a value can be a name; else the reason why not.
local function problem(name)
  if type(name) ~= "string" then
    return "string expected, got " .. type(name)
  elseif name == "" or #name > LONGEST_NAME or not utf8.len(name) then
    return ("1 to %d bytes of UTF-8 expected"):format(LONGEST_NAME)
  elseif name:find "%c" then
    return "text without control characters expected"
  end
end

-- Raises misuse unless the first argument of the function `fn` can be a name.
function kept.check_name(name, fn)
  local reason = problem(name)
  if reason then
    misuse(("bad argument #1 to '%s' (%s)"):format(fn, reason))
  end
end

-- Returns the functions of a kind of values: `name`, the kind in messages; `prefix`, of the store's keys;
-- `verb` and `done`, the words for keeping one; `code`, of the errors for a name without a value and for a
-- value that is not one (default: "argument"); `is_valid`, returns true if a value of the store is one.
function kept.kind(kind)
  local values = {}

  -- Keeps a value under a name; nil deletes it.
  function values.set(name, value)
    at(checks.where(), store.set, kind.prefix .. name, value)
  end

  -- Returns true if there was a value of that name.
  function values.delete(name)
    return (at(checks.where(), store.delete, kind.prefix .. name))
  end

  -- Returns the names, sorted.
  function values.names()
    local list = {}
    for _, key in ipairs(at(checks.where(), store.keys, kind.prefix)) do
      list[#list + 1] = key:sub(#kind.prefix + 1)
    end
    return list
  end

  -- Returns the value of a name; nil without a value.
  function values.find(name)
    if problem(name) then
      return nil
    end
    local value = at(checks.where(), store.get, kind.prefix .. name)
    if value ~= nil and not kind.is_valid(value) then
      misuse(("the store's value '%s%s' is not a %s"):format(kind.prefix, name, kind.name), kind.code,
        ("%s the %s again"):format(kind.verb, kind.name))
    end
    return value
  end

  -- Returns the value of a name; raises if the name has no value.
  function values.get(name)
    local value = values.find(name)
    if value == nil then
      local known = {}
      for _, each in ipairs(values.names()) do
        known[each] = true
      end
      misuse(next(known) and checks.unknown(kind.name, name, known)
        or ("no %s is called '%s', as no %s is %s"):format(kind.name, name, kind.name, kind.done), kind.code)
    end
    return value
  end

  return values
end

return checks.sealed("roomtone.kept", kept)
