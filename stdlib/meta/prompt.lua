---@meta _
---@topic prompt

-- The prompt, `roomtone repl`: Lua line by line, in which all modules are globals and functions that suspend just work.
--
--   kitchen = speaker.device "kitchen"  -- modules are globals here
--   kitchen:set_volume(20)
--   help(kitchen)
--
-- A line is an expression or a statement; `>>` asks for the rest of one that is not finished. `_` is the last result. Tab
-- completes names, options and what stands in a string; Ctrl-R searches the history; a line that begins with a space is
-- not kept in it. `&` at the end of a line runs it as a task beside the prompt. Ctrl-C cancels what runs in front and
-- nothing else, Ctrl-D ends the prompt. `dofile "party.lua"` shows what `roomtone check` finds in the file, then runs it.

error("stdlib/meta/prompt.lua is a description, not a module: what it describes is there at the prompt alone")

---Shows what plays, what listens, jobs and recordings, changing in place until a key is pressed. Without a terminal it
---prints these lines once. Raises `argument` after `&` and in listeners.
---@async
function live() end
