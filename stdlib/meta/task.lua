---@meta task
---@search thread coroutine parallel background async wait delay timer process command program

-- Concurrent routines, and time.
--
--   local task = require "task"
--   local ticker = task.spawn(function()
--     while true do print(task.now()) task.sleep("1s") end
--   end)
--   task.sleep(3.5)
--   ticker:cancel()
--
-- A function marked async suspends the calling routine until its operation has ended; other routines continue. Inside a
-- function that Lua's C code calls (a comparator of `table.sort`, a replacement of `string.gsub`, `__tostring`,
-- `coroutine.close`) it raises `task.cannot_suspend`. A cancelled routine unwinds with `task.cancelled` through every
-- `pcall`; its `<close>` variables are closed, and may suspend.

---@class tasklib
local task = {}

---Starts a function in a routine of its own, which begins when the calling one suspends or ends.
---
---An error of the function that no routine awaits is reported as a failure of the script. Raises `argument`,
---`script.objects` (too many objects), `script.flooded` (tasks start tasks faster than they can run; ends the script).
---@param fn async fun(...): ...
---@param ... any Arguments of the function.
---@return task.Task
function task.spawn(fn, ...) end

---Suspends the calling routine for a time. Raises `argument`, `task.cannot_suspend`.
---@async
---@param time Duration
function task.sleep(time) end

---Waits for the end of all tasks, and returns the first result of each, `true` for a task without one.
---
---If a task fails, the others are cancelled and its error is raised. Cancelling the caller cancels all tasks.
---
---Raises the error of a task, `task.cancelled` (a task was cancelled), `argument`, `task.cannot_suspend`.
---@async
---@param list (task.Task|async fun(): any)[] Tasks, and functions to start, each in a routine of its own.
---@return any[] results Results in the order of the list.
function task.all(list) end

---Waits for the first task to end, cancels the others, and returns its results, or raises its error.
---
---Raises the error of a task, `task.cancelled` (the first task was cancelled), `argument` (an empty list),
---`task.cannot_suspend`.
---@async
---@param list (task.Task|async fun(): ...)[] Tasks, and functions to start, each in a routine of its own.
---@return any ... Results of the first task.
function task.race(list) end

---Runs a function with a timeout, after which it is cancelled.
---
---Raises `task.timeout`, the errors of the function, `argument`, `task.cannot_suspend`.
---@async
---@param time Duration The timeout.
---@param fn async fun(...): ...
---@param ... any Arguments of the function.
---@return any ... Results of the function.
function task.timeout(time, fn, ...) end

---Returns the time since the start of the engine in seconds, on a monotonic clock, for measurements; `os.time` returns
---the time of day.
---@return number seconds
function task.now() end

---Calls a function, and returns its results, or nil and the error that it raised. Does not catch `task.cancelled` of
---the calling routine.
---@param fn async fun(...): ... May suspend.
---@param ... any Arguments of the function.
---@return any ... Results of the function, or nil.
---@return Error|any err The error.
function task.try(fn, ...) end

---A routine started by `task.spawn`; prints as `task "task" (running)`.
---@class task.Task
---@field done boolean `true` once the task has returned, failed or been cancelled.
---@field name string Name of the task in messages.
local Task = {}

---Waits for the end of the task and returns its results; at once if it has ended.
---
---Raises the error of a task, the same value; `task.cancelled` if the task was cancelled; `task.timeout`, while the
---task continues; `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Longest wait (default: none).
---@return any ... Results of the task.
function Task:await(timeout) end

---Cancels the task: it unwinds with `task.cancelled` from where it is suspended. No effect if it has ended.
function Task:cancel() end

---@class task.ExecOptions
---@field [integer] string|integer The program, a path or a name found in `PATH`, and its arguments.
---@field timeout? Duration Longest run; then the program is ended and `task.timeout` raised (default: no limit).

---@class task.ExecResult
---@field code integer Exit status; 128 and the signal's number for a program that a signal has ended.
---@field signal? integer Number of the signal that has ended it.
---@field stdout string Its standard output, at most 1 MiB.
---@field stderr string Its standard error, at most 1 MiB.

---Runs a program without a shell and with an empty input, and returns when it has ended. If the routine is cancelled,
---the program and all programs that it has started in its process group are ended, after 2 s killed.
---
---Raises `task.no_program`, `task.output` (more than 1 MiB), `task.timeout`, `argument`, `task.cannot_suspend`; under
---simulation `simulate.not_here` for a program without a stand-in.
---@async
---@param command task.ExecOptions `{ "espeak-ng", "-w", "door.wav", "the door", timeout = "10s" }`
---@return task.ExecResult
function task.exec(command) end

---Sets the function that `exec` calls in place of a program under simulation; without effect otherwise. Raises
---`argument`.
---@param program string The name as given to `exec`.
---@param fn async fun(arguments: string[]): task.ExecResult|string|nil Returns the result, or the output alone.
function task.stand_in(program, fn) end

return task
