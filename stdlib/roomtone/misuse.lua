-- Errors of the library's own modules, as those of the built-in ones: with a code, at the line of the script.
--
--   local misuse = require "roomtone.misuse"
--   function module.set(options)
--     if type(options) ~= "table" then
--       misuse.raise(2, "table expected")           -- at the line that called set
--     end
--   end

local misuse = {}

local Misuse = {
  __tostring = function(err)
    local hint = err.hint and "; " .. err.hint or ""
    local code = err.code == "argument" and "" or (" (%s)"):format(err.code)
    local where = err.where and err.where .. ": " or ""
    return ("%s%s%s%s"):format(where, err.message, code, hint)
  end,
}

-- `file:line` where the function was called that `level` functions lie above this one: 1 for the caller.
-- Functions that are not Lua, as `task.try`, are passed over; nil when a tail call has left no line.
function misuse.where(level)
  local frame = level + 2
  local info = debug.getinfo(frame, "Sl")
  while info and info.currentline <= 0 do
    frame = frame + 1
    info = debug.getinfo(frame, "Sl")
  end
  return info and ("%s:%d"):format(info.short_src, info.currentline)
end

-- Raises at a place that `where` gave.
function misuse.raise_at(where, message, code, hint)
  local err = { code = code or "argument", message = message, hint = hint, where = where }
  error(setmetatable(err, Misuse), 0)
end

-- Raises where the function was called that `level` functions lie above this one: 2, as `error` has it.
function misuse.raise(level, message, code, hint)
  local where = misuse.where(level)
  misuse.raise_at(where, message, code, hint)
end

-- The keys of a table as a text, sorted.
function misuse.names(set)
  local list = {}
  for name in pairs(set) do
    list[#list + 1] = name
  end
  table.sort(list)
  return table.concat(list, ", ")
end

return misuse
