---@meta announce
---@search tts speech text-to-speech voice espeak intercom chime gong message notification microphone

-- Announcements: a sound or a spoken sentence, over whatever plays.
--
--   local announce = require "announce"
--   announce.say { "The door is open", rooms = "Kitchen", volume = 30 }
--   announce.say { "Das Essen ist fertig", voice = "de" }
--   announce.play { "gong.wav", rooms = { "Living Room", "Bedroom" } }
--   -- the music continues, 12 dB lower
--   announce.say { "Five more minutes", duck = 12 }
--
-- The music in the rooms pauses, and continues exactly where it was, at its volume; so does an alarm. With `duck` in dB
-- it continues under the announcement, in step with rooms that have no announcement, and is at its level again
-- afterwards. Announcements of a script for the same speaker wait for each other.
--
-- Speech is made by espeak-ng, `apt-get install espeak-ng`. Under simulation no program runs: a sentence lasts as long
-- as it would take to speak, and a chime is rendered in its place. A function that `task.stand_in` sets for
-- `"espeak-ng"` is called with the arguments; it fails by returning `{ code = 1 }`.

---@class announcelib
local announce = {}

---@class announce.PlayOptions
---@field [1] string Path of a file, as for `speaker.play`.
---@field rooms? fade.Target The speakers (default: all).
---@field volume? integer Volume of the announcement, 0 to 50; unmutes (default: unchanged).
---@field duck? "pause"|number Treatment of the music in the rooms: `"pause"`, or its attenuation in dB, 0 to 90 (default: `"pause"`).
---@field priority? integer Priority in the rooms, 0 to 1000 (default: 300, above that of alarms).
---@field fade? Duration Length of the fade-out before and the fade-in after (default: 0.5 s).

---@class announce.SayOptions
---@field [1] string The text.
---@field rooms? fade.Target The speakers (default: all).
---@field volume? integer Volume of the announcement, 0 to 50; unmutes (default: unchanged).
---@field duck? "pause"|number Treatment of the music in the rooms: `"pause"`, or its attenuation in dB, 0 to 90 (default: `"pause"`).
---@field priority? integer Priority in the rooms, 0 to 1000 (default: 300, above that of alarms).
---@field fade? Duration Length of the fade-out before and the fade-in after (default: 0.5 s).
---@field voice? string Voice of espeak-ng: `"de"`, `"en-us+f3"` (default: that of espeak-ng).
---@field speed? integer Words a minute, 80 to 450 (default: 175).

---Plays a file in the rooms, and returns when it is over and the interrupted music continues.
---
---Raises the errors of `speaker.interrupt`: `speaker.outranked`, `speaker.no_active_device`, `speaker.unknown`,
---`speaker.closed`, `audio.not_found`, `audio.unreadable`, `audio.unsupported`; `argument`, `task.cannot_suspend`.
---@async
---@overload async fun(options: string[])
---@param options announce.PlayOptions
function announce.play(options) end

---Speaks a text in the rooms, and returns when it is over and the interrupted music continues.
---
---Raises `announce.speech` (espeak-ng is missing, or can't speak with that voice), and the errors of `play`.
---@async
---@overload async fun(options: string[])
---@param options announce.SayOptions
function announce.say(options) end

return announce
