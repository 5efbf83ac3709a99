---@meta _

-- What Roomtone changes in Lua's own library; everything else is as the Lua 5.4 manual says.
--
--   local ok, err = pcall(function()
--     speaker.play("wake_up.mp3") -- suspends inside pcall, and inside a coroutine of the script's own
--     speaker.finish()
--   end)
--   if not ok then log.error(tostring(err)) end
--   os.exit(ok)
--
-- Absent: `os.setlocale`, `package.loadlib`, `package.cpath`, `package.searchers`, and of `debug` everything but
-- `traceback` and `getinfo`. Under `roomtone simulate` time is the simulation's, chance is seeded (`--seed`), `pairs`
-- and `next` visit keys sorted by type and value, and tables and functions print with a serial number, so that every
-- run does the same.
--
-- luacheck: ignore 121 122 142 143

error("stdlib/meta/globals.lua is a description, not a module: what it describes is there without require")

---The script's arguments from 1 on, its name at 0; `...` holds the arguments too.
---@type table<integer, string>
arg = {}

---Loads a module once: from beside the script, then from Roomtone's own library. The module may suspend while it
---loads; another routine that wants it meanwhile waits.
---
---Raises `script.module` (not found, or it requires itself), `script.syntax`, and what the module raises; it can be
---tried again then.
---@param name string Dots stand for slashes.
---@return any module What the file returned, `true` when that was nil.
function require(name) end

---Calls a function and catches what it raises. The function may suspend. What unwinds the routine itself passes:
---`task.cancelled`, `script.blocked`, and the end by `os.exit`.
---@param f async fun(...): ...
---@param ... any
---@return boolean ok
---@return any ... Results, or the error: an `Error`, or what the script raised.
function pcall(f, ...) end

---As `pcall`, with a function that is told the error where it was raised, and that may not suspend.
---@param f async fun(...): ...
---@param handler fun(err: any): any
---@param ... any
---@return boolean ok
---@return any ...
function xpcall(f, handler, ...) end

---Compiles text; raises for a `mode` that asks for binary chunks only, which are never loaded.
---@param chunk string|fun(): string?
---@param name? string
---@param mode? "t"|"bt"
---@param env? table
---@return function? chunk
---@return string? message Why it does not compile.
function load(chunk, name, mode, env) end

---Compiles a file of text; raises for a `mode` that asks for binary chunks only.
---@param path string There is no reading of standard input here.
---@param mode? "t"|"bt"
---@param env? table
---@return function? chunk
---@return string? message Why it does not compile.
function loadfile(path, mode, env) end

---Runs a file of text, which may suspend.
---@async
---@param path string
---@return any ...
function dofile(path) end

---As Lua's, but refuses a metatable with `__gc`: a variable with `<close>` releases at a known time.
---@generic T: table
---@param object T
---@param metatable? table
---@return T
function setmetatable(object, metatable) end

---Opens a file as Lua's does. A FIFO or a device keeps only the routine waiting that opens, reads or writes it; one
---can't be sought in. Raises `argument` for a path with a zero byte, and for more than 64 MiB read at once.
---@async
---@param path string
---@param mode? string
---@return file*? file
---@return string? message
---@return integer? number
function io.open(path, mode) end

---Writes to standard output. Under simulation what is written comes as lines of the time line, as what is printed.
---@param ... string|number
---@return file*
function io.write(...) end

---Writes its arguments as a line: to standard output, into the time line of a simulation, above the prompt.
---@param ... any
function print(...) end

---Ends the script tidily: `<close>` variables run, sounds stop, files are completed.
---
---Raises what nothing can catch. The first call decides the status. Raises `argument` for a status outside 0 to 255.
---@param status? integer|boolean Exit status 0 to 255; true is 0, false is 1; by default 0.
function os.exit(status) end

---Runs a command by the shell; only the calling routine waits. When it is cancelled, the shell is told to end.
---
---Raises `simulate.not_here` under simulation, `argument`, `task.cannot_suspend`.
---@async
---@param command? string Without it: whether there is a shell.
---@return true? success
---@return "exit"|"signal" how
---@return integer code Exit status, or number of the signal.
function os.execute(command) end

---Seconds since 1970: of now, or of a table of local time. Under simulation on its clock and in its zone.
---@param time? osdateparam
---@return integer
function os.time(time) end

---A time as text, or as a table for `"*t"`. Under simulation on its clock and in its zone.
---@param format? string As for `strftime`; a leading `!` means UTC.
---@param time? integer Seconds since 1970, by default now.
---@return string|table
function os.date(format, time) end

---Seconds of processor time; under simulation, seconds since its start.
---@return number
function os.clock() end

---As Lua's; raises `simulate.not_here` under simulation.
---@return string
function os.tmpname() end

---What `io.popen` gives: a program that runs, with a pipe from it (mode "r") or to it ("w"). Ends with the script.
---@class Program
local Program = {}

---Reads what the program writes, by the formats of Lua's `file:read`; a line without any. Nil at the end.
---@async
---@param ... string|integer
---@return any ...
function Program:read(...) end

---An iterator that reads, by one format of `read` (default: lines).
---@param format? string|integer
---@return fun(): any
function Program:lines(format) end

---Writes to the program, and waits until it has taken all but what the pipe holds.
---@async
---@param ... string|number
---@return Program? program nil when the program reads no more
---@return string? message
---@return integer? number of the system's error
function Program:write(...) end

---Closes the pipe, and waits for the end of the program; the results are those of `os.execute`.
---@async
---@return true? success
---@return "exit"|"signal" how
---@return integer code
function Program:close() end

---Starts a program of the shell, of which only the routine that reads, writes or closes waits. Raises
---`simulate.not_here` under simulation.
---@param program string
---@param mode? "r"|"w" (default: "r").
---@return Program? program
---@return string? message
function io.popen(program, mode) end

---As Lua's; `debug` has nothing else but `getinfo`.
---@param message? any
---@param level? integer
---@return string
function debug.traceback(message, level) end

---As Lua's; `debug` has nothing else but `traceback`.
---@param f integer|function
---@param what? string
---@return table?
function debug.getinfo(f, what) end

---Creates a coroutine of the script's own. A function that suspends passes through it to the host: `resume` and `wrap`
---do not see that, and return when the coroutine yields or ends.
---@param f async fun(...): ...
---@return thread
function coroutine.create(f) end

---Runs a coroutine until it yields or ends, and may suspend meanwhile.
---@param co thread
---@param ... any
---@return boolean ok
---@return any ...
function coroutine.resume(co, ...) end

---As `create`, as a function that resumes it and raises its error.
---@param f async fun(...): ...
---@return async fun(...): ...
function coroutine.wrap(f) end

---Yields to whoever resumed the coroutine; raises outside of the script's own coroutines.
---@param ... any
---@return any ...
function coroutine.yield(...) end

---Closes a coroutine that is suspended or dead; its `<close>` variables run, and may not suspend.
---@param co thread
---@return boolean ok
---@return any err
function coroutine.close(co) end
