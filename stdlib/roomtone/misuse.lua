-- Errors of the library's own modules, as those of the built-in ones: with a code, at the line of the script.
--
--   local misuse = require "roomtone.misuse"
--   local module = misuse.module "lamp"
--   function module.set(options)
--     if type(options) ~= "table" then
--       misuse.raise "table expected"               -- at the script's line that called set
--     end
--   end
--   return misuse.sealed("lamp", module)

local host = require "roomtone.host"

local misuse = {}

-- Files of the library: what goes wrong in them is told of who called.
local own = { [debug.getinfo(1, "S").source] = true }

-- A new module of the library, in which reading a name that it has not is misuse. Called by its file,
-- which returns it sealed: then assigning is misuse too.
function misuse.module(name)
  own[debug.getinfo(2, "S").source] = true
  return host.strict(name, {})
end

misuse.sealed = host.sealed

-- The level, as this function's caller counts it, of the script's nearest function; nil without one.
-- Functions that are not Lua, as `task.try`, are passed over.
local function level()
  local frame = 2
  local info = debug.getinfo(frame, "Sl")
  while info and (info.currentline <= 0 or own[info.source]) do
    frame = frame + 1
    info = debug.getinfo(frame, "Sl")
  end
  return info and frame - 1, info
end

-- `file:line` of the script's function that called into the library; nil when a routine began there.
function misuse.where()
  local _, info = level()
  return info and ("%s:%d"):format(info.short_src, info.currentline)
end

-- Raises at a place that `where` gave.
function misuse.raise_at(where, message, code, hint)
  local frame = level()
  error(host.failure {
    code = code or "argument", message = message, hint = hint, where = where,
    traceback = frame and debug.traceback(nil, frame),
  }, 0)
end

-- Raises where the script called into the library.
function misuse.raise(message, code, hint)
  local where = misuse.where()
  misuse.raise_at(where, message, code, hint)
end

-- That nothing is called so, with the nearest of the keys of `set`, or all of them.
function misuse.unknown(kind, name, set)
  local list = {}
  for key in pairs(set) do
    list[#list + 1] = key
  end
  return host.unknown(kind, tostring(name), list)
end

return misuse
