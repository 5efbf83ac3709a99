---@meta error

-- What `pcall` and `task.try` catch when an operation of Roomtone's fails: an object that prints as one clear line.
--
--   local kitchen, err = task.try(speaker.device, "Kitchn")
--   if not kitchen then
--     print(err) --> wake.lua:1: no speaker is called "Kitchn" (speaker.unknown); did you mean "Kitchen"?
--     kitchen = speaker.device(err.suggestion)
--   end
--   kitchen:join()
--
-- Match errors by `code`, which never changes; `message` and `hint` are for people. A script may raise what it
-- likes with `error`: what it raised is what it catches, a text stays a text.

error("error.lua is a description, not a module: there is nothing to require")

---What went wrong. Raised by every function that fails; `tostring` gives `where: message (code); hint`.
---@class Error
---@field code string Stable name of the failure: `"speaker.unknown"`; `"argument"` for wrong use of a function.
---@field message string One line: what failed.
---@field hint? string One line: what to do about it.
---@field where string `file:line` of the Lua code that failed; empty when none was running.
---@field traceback string Lua's traceback from there, lines separated by `\n`.
---@field name? string `speaker.unknown`: the name that was asked for. `speaker.range`: the name that can't be given.
---@field suggestion? string `speaker.unknown`: the name that is nearest to it.
---@field candidates? string[] `speaker.unknown`: the names that it could stand for.
---@field path? string `audio.…`: the file. `speaker.busy`: the folder in which the house is kept.
---@field process? string `speaker.busy`: who has the house: `"roomtone run alarm.lua (process 123)"`.
---@field cause? string `audio.not_found`, `audio.no_output`: why, in the system's words.
---@field found? string `audio.unreadable`: what stands there instead of audio.
---@field byte? integer `audio.unreadable`: where, in bytes from the start of the file.
---@field device? string `speaker.outranked`, `speaker.unavailable`: the name of the speaker.
---@field session? string `speaker.outranked`: the name of the session that keeps it.
---@field priority? integer `speaker.outranked`: of that session.
---@field capability? string `speaker.unsupported`: what is missing of `speaker.capabilities()`.
---@field limit? integer `speaker.no_stream`: how many sessions there can be.
---@field start? number `speaker.range`: where playing should have begun, in seconds.
---@field seconds? number `speaker.range`: where `seek` should have gone, in seconds.
---@operator concat(any): string
