---@meta follow
---@search crossfade move transfer presence motion walk handover

-- Music that moves with people from room to room.
--
--   local follow = require "follow"
--   speaker.play("evening.mp3", { rooms = "Living Room" })
--   follow.to { "Kitchen", session = speaker.own }  -- the script's own session
--   follow.to { "Bathroom", from = "Kitchen", overlap = "3s" } -- what plays there
--   schedule.at("22:30", { days = "daily" }, function()
--     follow.to { "Bedroom", from = "Living Room" }
--   end)
--
-- The new room joins in step before the old ones leave, so the music has no gap. Each room keeps its volume. If the new
-- room can't join, or the routine is cancelled during the overlap, the music stays where it is. If an interruption, such
-- as an announcement, has an old room during the move, the room does not get the music back at its end; if it has the new
-- room, which the session has lent to it, the old rooms wait for its end.

---@class followlib
local follow = {}

---@class follow.Options
---@field [1] fade.Target The room.
---@field from? fade.Target The room that the music leaves, whoever plays it there: this or `session` is required.
---@field session? speaker.Session|speakerlib The session that moves, and leaves all its rooms; the module stands for the script's own.
---@field overlap? Duration Time during which the new room and the old ones play (default: `"1s"`).

---Moves a session to a room, and returns when the old rooms have left. If the move fails or the routine is cancelled
---during the overlap, the old rooms remain, and the new one returns to the session that it was in, at the volume that
---it has then.
---
---Raises `speaker.unknown`, `speaker.outranked` (a session of higher priority keeps the room),
---`speaker.no_active_device` (nothing plays in the room `from`), `speaker.unavailable` (no speaker of the room can be
---reached, or after the overlap no speaker that is still in a session), `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param options follow.Options
function follow.to(options) end

return follow
