---@meta task

-- Routines that run side by side, and time.
--
--   local task = require "task"
--   local ticker = task.spawn(function()
--     while true do print(task.now()) task.sleep("1s") end
--   end)
--   task.sleep(3.5)
--   ticker:cancel()
--
-- A function marked async suspends the routine that calls it until it is done; the others go on. Inside a function
-- that Lua's C code calls (a comparator of `table.sort`, a replacement of `string.gsub`, `__tostring`,
-- `coroutine.close`) it raises `task.cannot_suspend`. A routine that is cancelled unwinds with `task.cancelled`
-- through every `pcall`; its `<close>` variables run, and may suspend.

error("stdlib/meta/task.lua is a description, not a module: require \"task\" finds the module itself")

---@class tasklib
local task = {}

---Starts a function in a routine of its own, which begins when the calling one suspends or ends.
---
---An error in it that nobody awaits is told as a failure of the script. Raises `argument`; `script.objects`
---where the script has too many; `script.flooded`, which ends it, where tasks start tasks faster than they can run.
---@param fn async fun(...): ...
---@param ... any What the function is called with.
---@return task.Task
function task.spawn(fn, ...) end

---Suspends the calling routine for a time. Raises `argument`, `task.cannot_suspend`.
---@async
---@param time Duration Seconds or text.
function task.sleep(time) end

---Waits for all to end, and gives the first result of each, `true` where there is none.
---
---When one fails the others are cancelled and its error is raised; when one was cancelled: `task.cancelled`. When the
---caller is cancelled, all are. Raises also `argument`, `task.cannot_suspend`.
---@async
---@param list (task.Task|async fun(): any)[] Functions are started, each in a routine of its own.
---@return any[] results In the order of the list.
function task.all(list) end

---Waits for the first to end, cancels the others, and gives its results, or raises its error.
---
---Raises also `task.cancelled` when the first was cancelled, `argument` (an empty list), `task.cannot_suspend`.
---@async
---@param list (task.Task|async fun(): ...)[] Functions are started, each in a routine of its own.
---@return any ... What the first one returned.
function task.race(list) end

---Runs a function for at most a time, then cancels it and raises `task.timeout`.
---
---Raises also what the function raises, `argument`, `task.cannot_suspend`.
---@async
---@param time Duration Seconds or text.
---@param fn async fun(...): ...
---@param ... any What the function is called with.
---@return any ... What it returned.
function task.timeout(time, fn, ...) end

---Seconds on a clock that nobody sets, from the start of the engine on; for measuring. `os.time` tells the time of day.
---@return number seconds
function task.now() end

---Calls a function and turns a raise into nil and the error. Lets `task.cancelled` of its own routine pass.
---@param fn async fun(...): ... May suspend.
---@param ... any What the function is called with.
---@return any ... What it returned, or nil.
---@return Error|any err What it raised.
function task.try(fn, ...) end

---A routine that `task.spawn` started; prints as `task "task" (running)`.
---@class task.Task
---@field done boolean Whether it has ended, in whatever way.
---@field name string What messages call it.
local Task = {}

---Waits for its end and gives its results, at once when it has ended already.
---
---Raises what it failed with, the very same value; `task.cancelled` when it was cancelled; `task.timeout`, and the task
---goes on; `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Seconds or text; without it, for as long as it takes.
---@return any ...
function Task:await(timeout) end

---Lets it unwind with `task.cancelled` from where it is suspended; nothing when it has ended.
function Task:cancel() end

return task
