-- Errors of the library's Lua modules, raised like those of the built-in ones: with a code, at the script's
-- line.
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
local task = require "task"

local misuse = {}

-- Files of the library: their errors are attributed to the caller.
local own = { [debug.getinfo(1, "S").source] = true }

-- Creates a module of the library; reading an unknown name from it raises. Called by the module's file, which
-- returns the module sealed, so that assigning raises too.
function misuse.module(name)
  own[debug.getinfo(2, "S").source] = true
  return host.strict(name, {})
end

misuse.sealed = host.sealed

-- Returns the level, for the caller of this function, of the nearest function of the script, and its debug
-- information; nil without one. Skips functions that are not Lua, such as `task.try`.
local function level()
  local frame = 2
  local info = debug.getinfo(frame, "Sl")
  while info and (info.currentline <= 0 or own[info.source]) do
    frame = frame + 1
    info = debug.getinfo(frame, "Sl")
  end
  return info and frame - 1, info
end

-- Returns `file:line` of the script's function that called into the library; nil if the routine began in the
-- library, as with `task.spawn(follow.to, …)`: its errors have the position of that call.
function misuse.where()
  local _, info = level()
  return info and ("%s:%d"):format(info.short_src, info.currentline)
end

-- Raises an error at a position that `where` has returned; the default code is "argument".
function misuse.raise_at(where, message, code, hint)
  local frame = level()
  error(host.failure {
    code = code or "argument", message = message, hint = hint, where = where or "",
    traceback = frame and debug.traceback(nil, frame),
  }, 0)
end

-- Raises an error at the script's line that called into the library.
function misuse.raise(message, code, hint)
  local where = misuse.where()
  misuse.raise_at(where, message, code, hint)
end

-- Calls a function and returns its first result; attributes its errors to a position that `where` has
-- returned.
function misuse.attribute(where, fn, ...)
  local result, err = task.try(fn, ...)
  if err ~= nil then
    if type(err) == "table" then
      err.where = where or ""
    end
    error(err, 0)
  end
  return result
end

-- Returns the message for an unknown name, with the nearest of the keys of `set`, or all of them.
function misuse.unknown(kind, name, set)
  local list = {}
  for key in pairs(set) do
    list[#list + 1] = key
  end
  return host.unknown(kind, tostring(name), list)
end

return misuse
