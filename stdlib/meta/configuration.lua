---@meta _
---@topic configuration

-- The configuration: speakers, stations, recordings, headset, limits. All of it is optional.
--
-- The file `~/.config/roomtone/config.lua`, or the one that `--config FILE` names, is Lua with these functions alone. An
-- unknown name is an error with the nearest known one.
--
--   -- config.lua
--   house { output = "alsa",  -- or "alsa:DEVICE", "wav:DIR", "null"
--           speakers = { { name = "Kitchen", group = "Kitchen", role = "mono", volume = 20 },
--                        { name = "Bed left", group = "Bedroom", role = "left" },
--                        { name = "Bed right", group = "Bedroom", role = "right" } } }
--   limits { memory = 256, run = "2s", objects = 10000 }  -- MB; time without suspending; objects at once
--   log { level = "info" }
--   location { latitude = 52.5, longitude = 13.4 }        -- for times by the sun
--   stations { morning = "http://127.0.0.1:8000/morning.mp3" }  -- a name is valid wherever a URL is
--   recordings { folder = "~/Radio", template = "{station}/{start:%Y-%m-%d %H.%M} {title}.{ext}",
--                keep = "60d",       -- older finished recordings are deleted (default: none)
--                min_free = "2GB" }  -- recordings leave this much of the disk free
--   headset { transport = "unix:/run/user/1000/headset.sock" }  -- or "tcp:127.0.0.1:PORT", "serial:PATH"
--
-- A station may be a table of `url` and settings for its reception: `user` and `password_file`, `charset`, `user_agent`,
-- `ca_file`. A headset may have `key_file`, the key of its link (64 hexadecimal digits, readable by its owner only), and
-- `firmware_key`, the public key of the firmware's signer.
--
-- Values that scripts keep, jobs and the state of the house are in `~/.local/state/roomtone`.

error("stdlib/meta/configuration.lua is a description, not a module: there is nothing to require")
