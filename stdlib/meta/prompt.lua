---@meta _
---@topic prompt
---@search repl console shell interactive typing

-- The prompt, `roomtone repl`: Lua line by line, in which all modules are globals and functions that suspend just work.
--
--   kitchen = speaker.device "kitchen"  -- modules are globals here
--   kitchen:set_volume(20)
--   help(kitchen)
--
-- A line is an expression or a statement; `>>` asks for the rest of one that is not finished. `_` is the last result. A
-- local variable ends with its line: leave out `local` to keep it. A program that is pasted is one block, in which its
-- local variables live; Alt-Enter begins a further line of a block. Tab completes names, options and the contents of
-- strings; Ctrl-R searches the history; Ctrl-L clears the screen; a line that begins with a space is not kept in the
-- history. `&` at the end of a line runs it as a task beside the prompt. Ctrl-C cancels the routine in front and nothing
-- else, Ctrl-D ends the prompt. `help zone` needs no quotation marks here. `dofile "party.lua"` shows what
-- `roomtone check` finds in the file, then runs it.
--
-- While a daemon runs, the prompt is inside it: modules, `live()` and `&` are there too, as in `roomtone ctl eval`. In
-- the state of a script, with `--script`, the globals of the script come first, and no global is added to them.

---Shows sessions, subscriptions, jobs and recordings, changing in place until a key is pressed. Without a terminal it
---prints these lines once. Raises `argument` after `&` and in listeners.
---@async
function live() end
