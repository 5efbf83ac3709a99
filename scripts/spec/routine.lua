-- Starts a routine of the folder above in a test, as `roomtone run` does.
--
--   local start = require "routine"
--   start("bedtime", "23:15")                  -- arg[1] is "23:15"
--   task.spawn(start, "party", "now")          -- beside the test: the routine waits until the party is over

local folder = debug.getinfo(1, "S").source:match "^@(.*/)"

return function(name, ...)
  arg = { [0] = name .. ".lua", ... }
  return dofile(folder .. "../" .. name .. ".lua")
end
