---@meta _

-- The events of the module `speaker` and of its objects: their names, and the tables that listeners receive.

---The events of the house.
---@alias speaker.Event
---| "device" # `speaker.DeviceEvent`: a property of a speaker other than its volume has changed.
---| "volume" # `speaker.VolumeEvent`: a speaker has a new volume, or was muted or unmuted.
---| "state" # `speaker.StateEvent`: a session plays, pauses or stops.
---| "time" # `speaker.TimeEvent`: one more second of a source has been heard.
---| "ended" # `speaker.EndedEvent`: a source has ended; unless it was replaced, `state` with `"stopped"` comes before.
---| "track" # `speaker.TrackEvent`: a file of a queue begins to be heard, the first one too.
---| "error" # `speaker.ErrorEvent`: an operation failed that no caller waits for.
---| "suspending" # `speaker.SuspensionEvent`: an interruption begins to fade out all speakers of a session.
---| "suspended" # `speaker.SuspensionEvent`: the interrupted session is silent.
---| "resumed" # `speaker.SuspensionEvent`: the interrupted session has its speakers again.

---The channels that a speaker renders. The last six roles are those of a 5.1 layout. A file with more than two channels
---plays each channel on its own role (7.1: back and side together; a role whose channel is missing is silent) and a
---stereo mix on the first four roles. Any other source plays its left channel on the left roles, its right channel on
---the right ones, and the mean of both on `center` and `lfe`.
---@alias speaker.Role
---| "stereo" # left channel on the left output, right channel on the right output.
---| "left" # left channel on both outputs.
---| "right" # right channel on both outputs.
---| "mono" # mean of both channels on both outputs.
---| "front_left"
---| "front_right"
---| "center"
---| "lfe" # low frequencies, not filtered.
---| "surround_left"
---| "surround_right"

---@alias speaker.State "stopped"|"playing"|"paused"
---The reason for the end of a source: heard to its end; stopped by a call; replaced by another source; failed while it
---played; the last speaker left, or no speaker could be reached for 30 s.
---@alias speaker.EndReason "finished"|"stopped"|"replaced"|"failed"|"no_devices"

---@alias speaker.DeviceReason
---| "added" # the speaker was added to the house; not emitted for speakers found by `open`.
---| "joined" # the speaker became a member of a session.
---| "left" # the speaker left its session.
---| "available" # the speaker can be reached again.
---| "unavailable" # the speaker can't be reached.
---| "renamed" # the name has changed.
---| "regrouped" # the group, or its id, has changed.
---| "role" # the role has changed.
---| "balance" # the balance has changed.
---| "wifi" # the received signal strength has changed.
---| "removed" # the speaker was removed from the house.
---| "playing" # `is_playing` has changed.

---Event: a property of a speaker other than its volume has changed.
---@class speaker.DeviceEvent
---@field device speaker.Device
---@field reason speaker.DeviceReason
---@field cause? "controller" Another controller of the speakers, such as an app on a telephone; nil for any other cause.

---Event: a speaker has a new volume, or was muted or unmuted. A command that changes nothing emits no event.
---@class speaker.VolumeEvent
---@field device speaker.Device
---@field volume integer Volume of the speaker, 0 to 50, also while it is muted.
---@field muted boolean
---@field average integer Average volume of the house, as `speaker.volume()`.
---@field asked? integer Volume that was asked for, where the limit of the speaker keeps it lower; nil without that.
---@field limit? string That limit in words: `"limited to 12 by quiet hours from 22:00 to 06:30; 30 was asked for"`.
---@field cause? speaker.LevelCause Origin of the change; nil for a command or a fade.

---@alias speaker.LevelCause
---| "interruption" # an interruption sets the volume at which it plays.
---| "restored" # the end of the last interruption restores the former volume.
---| "controller" # another controller of the speakers, such as an app on a telephone, has set it.
---| "limit" # the limit of the speaker lowers the volume, or gives back the one that was asked for.

---Event: a session plays, pauses or stops.
---@class speaker.StateEvent
---@field state speaker.State
---@field session speaker.Session

---Event: one more second of a source has been heard.
---@class speaker.TimeEvent
---@field elapsed integer Whole seconds from the start of the source, or of the current file of a queue; the count continues over the repeats of a single looped file.
---@field session speaker.Session

---Event: a source has ended. Unless it was replaced, the `state` event with `"stopped"` is emitted before.
---@class speaker.EndedEvent
---@field session speaker.Session
---@field source speaker.Source
---@field reason speaker.EndReason

---Event: a file of a queue begins to be heard, the first one too.
---@class speaker.TrackEvent
---@field session speaker.Session
---@field source speaker.Source The file.
---@field index integer Position of the file in the order of playing, from 1.
---@field count integer Number of files in the queue.

---Event: an interruption moves all speakers of a session: `suspending` before the fade-out, `suspended` when the
---session is silent, `resumed` when the session has its speakers again.
---@class speaker.SuspensionEvent
---@field session speaker.Session The interrupted session.
---@field by speaker.Session The interrupting session.

---Event: an operation failed that no caller waits for.
---@class speaker.ErrorEvent
---@field error Error
---@field code string Code of the error.
---@field message string Message of the error.
---@field device? speaker.Device The speaker concerned.
---@field session? speaker.Session The session concerned.

---The source of a session.
---@class speaker.Source
---@field path string Path of the file, or URL of the stream.
---@field title string Title passed to `play` or `play_stream`, else that of the playlist, else the name of the file or station, else the URL.
