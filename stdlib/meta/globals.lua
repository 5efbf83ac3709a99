---@meta _
---@topic globals
---@search lua standard library builtin

-- Roomtone's changes to Lua's own library; everything else is as in the Lua 5.4 manual.
--
--   local ok, err = pcall(function()
--     -- suspends inside pcall, and inside a coroutine of the script's own
--     speaker.play("wake_up.mp3", { rooms = "Kitchen" })
--     speaker.finish()
--   end)
--   if not ok then log.error(tostring(err)) end
--   os.exit(ok)
--
-- Absent: `os.setlocale`, `package.loadlib`, `package.cpath`, `package.searchers`, and of `debug` everything but
-- `traceback` and `getinfo`. Under `roomtone simulate` time is virtual, the random source is seeded (`--seed`), `pairs`
-- and `next` visit keys sorted by type and value, and tables and functions print with a serial number, so that every
-- run has the same results.
--
-- luacheck: ignore 121 122 142 143

---The script's arguments from 1 on, its name at 0; `...` holds the arguments too.
---@type table<integer, string?>
arg = {}

---Loads a module once: from Roomtone's library, else from the script's folder. The library's modules come first, also
---beside a script called `party.lua`; a module of your own needs another name, such as `_party.lua` in the daemon's
---folder, where files without the `_` are scripts. The script itself is not a module. The module may suspend while it
---loads; another routine that requires it waits.
---
---Raises `script.module` (not found, or it requires itself), `script.syntax`, and the errors of the module; a failed
---load can be repeated.
---@param name string Name of the module; a dot separates folders.
---@return any module Result of the file, `true` for nil.
function require(name) end

---Calls a function and catches its errors. The function may suspend. Errors that unwind the routine itself are not
---caught: `task.cancelled`, `script.blocked`, and the end by `os.exit`.
---@param f async fun(...): ...
---@param ... any
---@return boolean ok
---@return any ... Results, or the error: an `Error`, or the value that the script raised.
function pcall(f, ...) end

---Calls a function and catches its errors, as `pcall`, with a message handler.
---@param f async fun(...): ...
---@param handler fun(err: any): any Called with the error where it was raised; may not suspend.
---@param ... any
---@return boolean ok
---@return any ...
function xpcall(f, handler, ...) end

---Compiles a chunk of text; raises for a `mode` of binary chunks only, which are never loaded.
---@param chunk string|fun(): string?
---@param name? string
---@param mode? "t"|"bt"
---@param env? table
---@return function? chunk
---@return string? message The syntax error.
function load(chunk, name, mode, env) end

---Compiles a file of text; raises for a `mode` of binary chunks only.
---@param path string Path of the file; required, as standard input can't be loaded.
---@param mode? "t"|"bt"
---@param env? table
---@return function? chunk
---@return string? message The syntax error.
function loadfile(path, mode, env) end

---Runs a file of text, which may suspend.
---@async
---@param path string
---@return any ...
function dofile(path) end

---Sets the metatable of a table; raises for a metatable with `__gc`. A `<close>` variable releases at a known time.
---@generic T: table
---@param object T
---@param metatable? table
---@return T
function setmetatable(object, metatable) end

---Opens a file. Opening, reading or writing a FIFO or a device suspends the calling routine only; such a file can't
---seek. A call for a file on a mount whose server is gone (NFS, FUSE) holds all scripts, and after 10 s ends the
---process. Programs that are started do not inherit the file. Under simulation written, removed and renamed files stay
---in a layer above the real files, which ends with it; the use of a FIFO or a device raises `simulate.not_here`.
---Raises `argument` for a path with a zero byte; its `read` raises `argument` for more than 64 MiB at once.
---@async
---@param path string
---@param mode? string
---@return file*? file
---@return string? message
---@return integer? number
function io.open(path, mode) end

---Writes to standard output; under simulation, as lines to the time line, like `print`.
---@param ... string|number
---@return file*
function io.write(...) end

---Prints help on a name or words (`help "stream"`, `help "speaker.play"`, `help "volume fade"`), a function
---(`help(speaker.play)`), a module or an object; without an argument the list of modules and topics. Raises `argument`
---for a word that is in no description.
---@param about? any
function help(about) end

---Prints why a thing is as it is, or why nothing happened: who set a volume and what plays in a room (`why "Kitchen"`,
---`why(kitchen)`), what a job, an alarm, a script, a trigger, a recording or a headset did last, with the cause: the
---line of a script, a job, an event or a person. Raises `why.unknown`, `argument`.
---@param thing any Name of the thing, or a speaker, group, session or job.
function why(thing) end

---Writes its arguments as a line: to standard output, to the time line of a simulation, or above the prompt.
---@param ... any
function print(...) end

---Ends the script in an orderly way: `<close>` variables are closed, playback stops, files are completed.
---
---Raises an error that can't be caught. The first call sets the status. Raises `argument` for a status outside 0 to
---255.
---@param status? integer|boolean Exit status, 0 to 255; `true` is 0, `false` is 1 (default: 0).
function os.exit(status) end

---Runs a command in the shell, and suspends the calling routine only. Cancelling the routine terminates the shell. In a
---daemon the lines that it writes to its standard error go to the log of the script (`roomtone ctl log`), and a program
---that outlives a daemon which was killed is ended at the next start.
---
---Raises `simulate.not_here` under simulation, `argument`, `task.cannot_suspend`.
---@async
---@param command? string The command; without one the function returns `true`, as a shell is available.
---@return true? success
---@return "exit"|"signal" how
---@return integer code Exit status, or number of the signal.
function os.execute(command) end

---Returns seconds since 1970: of the current time, or of a table of local time. Under simulation on the virtual clock,
---in the simulation's time zone.
---@param time? osdateparam
---@return integer
function os.time(time) end

---Returns a time as text, or as a table for `"*t"`. Under simulation on the virtual clock, in the simulation's time
---zone.
---@param format? string A format of `strftime`; a leading `!` means UTC.
---@param time? integer Seconds since 1970 (default: the current time).
---@return string|table
function os.date(format, time) end

---Returns the processor time in seconds; under simulation, the virtual time since its start.
---@return number
function os.clock() end

---Returns a path for a temporary file. Raises `simulate.not_here` under simulation.
---@return string
function os.tmpname() end

---A running program with a pipe from it (mode `"r"`) or to it (`"w"`), as `io.popen` returns it. Ends with the script.
---@class Program
local Program = {}

---Reads the output of the program, by the formats of Lua's `file:read` (default: a line). Nil at the end.
---@async
---@param ... string|integer
---@return any ...
function Program:read(...) end

---Returns an iterator over the output of the program, by one format of `read` (default: lines).
---@param format? string|integer
---@return fun(): any
function Program:lines(format) end

---Writes to the program, and waits until all data is in the pipe or read.
---@async
---@param ... string|number
---@return Program? program Nil if the program no longer reads.
---@return string? message
---@return integer? number Number of the system's error.
function Program:write(...) end

---Closes the pipe, and waits for the end of the program; returns the results of `os.execute`.
---@async
---@return true? success
---@return "exit"|"signal" how
---@return integer code
function Program:close() end

---Starts a command in the shell; reading, writing or closing suspends the calling routine only. Its standard error, and
---its end after a daemon was killed, are handled as by `os.execute`. Raises `simulate.not_here` under simulation.
---@param program string The command.
---@param mode? "r"|"w" (default: `"r"`).
---@return Program? program
---@return string? message
function io.popen(program, mode) end

---Returns a traceback of the call stack, as in Lua.
---@param message? any
---@param level? integer
---@return string
function debug.traceback(message, level) end

---Returns a table with information about a function, as in Lua.
---@param f integer|function
---@param what? string
---@return table?
function debug.getinfo(f, what) end

---Creates a coroutine. A function that suspends inside it suspends the whole routine: `resume` and `wrap` return only
---when the coroutine yields or ends.
---@param f async fun(...): ...
---@return thread
function coroutine.create(f) end

---Runs a coroutine until it yields or ends; the coroutine may suspend the routine.
---@param co thread
---@param ... any
---@return boolean ok
---@return any ...
function coroutine.resume(co, ...) end

---Creates a coroutine, and returns a function that resumes it and raises its errors.
---@param f async fun(...): ...
---@return async fun(...): ...
function coroutine.wrap(f) end

---Yields to the caller that resumed the coroutine; raises outside of the script's own coroutines.
---@param ... any
---@return any ...
function coroutine.yield(...) end

---Closes a coroutine that is suspended or dead; closes its `<close>` variables, which may not suspend.
---@param co thread
---@return boolean ok
---@return any err
function coroutine.close(co) end

---A subscription, as `on` and `once` return it; stays active until it is cancelled, also if the script does not keep
---it. Prints as `subscription to "ended" (active)`.
---@class Subscription
---@field event string Name of the event.
---@field active boolean `true` while the function may still be called.
---@field failures integer Calls of the function that have raised; each is logged and affects nothing else.
local Subscription = {}

---Cancels the subscription: the function is not called any more, not even with an event that is being emitted.
function Subscription:cancel() end
