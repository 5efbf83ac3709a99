---@meta scene
---@search mood preset remember state snapshot

-- Named states of the house, for the store.
--
--   local scene = require "scene"
--   scene.save "dinner"  -- the house as it is now
--   -- on another day, also after a restart
--   scene.apply("dinner", { fade = "10s" })
--   for _, name in ipairs(scene.list()) do print(name) end
--   scene.delete "dinner"
--
-- A scene has the volume, mute and group of each speaker, and the equalizer of the script's own session. The music and the
-- sessions are left as they are. Scenes are kept in the script's store as plain data, by the ids of the speakers.

---@class scenelib
local scene = {}

---Saves the state of the house under a name, in place of the scene that had it. Raises `speaker.closed`, `argument`, and
---the errors of `store.set`.
---@param name string 1 to 100 bytes of UTF-8, without control characters.
function scene.save(name) end

---@class scene.ApplyOptions
---@field fade? Duration Length of the fade of the volumes (default: 0).

---Applies a scene, and returns when the volumes have taken effect. If the routine is cancelled or its script ends during
---the fade, volumes stay as they are then; all else of the scene is applied before the fade. A change of a speaker's group stops what it plays, as `Device:set_group`.
---
---A speaker that is not in the house, or that a session of higher priority keeps, is left out, which is logged. One that
---can't be reached receives its volume when it is back, unless the scene has it muted.
---
---Raises `scene.unknown` (no scene has the name; the message has the nearest; or its value in the store is not a scene),
---`speaker.closed`, `argument`, `task.cannot_suspend`, and the errors of `store.get`.
---@async
---@param name string
---@param options? scene.ApplyOptions
function scene.apply(name, options) end

---Returns the names of the scenes, sorted by their bytes. Raises the errors of `store.keys`.
---@return string[]
function scene.list() end

---Deletes a scene. Raises `argument`, and the errors of `store.delete`.
---@param name string
---@return boolean deleted `true` if there was a scene of that name.
function scene.delete(name) end

return scene
