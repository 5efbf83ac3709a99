---@meta stream

-- Internet radio: connects, joins what connections bring into one stream without a seam, and moves in what it holds.
--
--   local stream = require "stream"
--   local radio = stream.new "http://127.0.0.1:8000/morning.mp3"
--   radio:on("metadata", function(event) print(event.artist, event.title_without_artist) end)
--   speaker.play_stream(radio)
--   task.sleep "10m"
--   radio:pause()
--   task.sleep "2m"
--   radio:start()    -- goes on where it stood; radio:go_live() leaves out what was missed
--
-- Nothing is connected until `start` or `speaker.play_stream`. When the connection is lost it is made again for ever,
-- and what the server still has of what was missed is joined frame by frame. Addresses may lead to playlists (pls, m3u,
-- xspf, asx). A stream lives until it is stopped or the script ends. Under `simulate` nothing comes from the network:
-- a URL sounds as a simulated station, which tells what a real one would (`roomtone simulate --stations FILE.lua` says
-- which of them drop, refuse or are not there), and feeds of titles tell nothing.
--
-- What a list (M3U, PLS, XSPF, ASX) leads to is told by the first entry that answers: files are one programme, played in
-- turn, each with `file_complete` at its end; stations are a choice, of which the next is tried when one fails. A live
-- server that sends faster than real time is held back once 20 s are ahead. A body without a length that ends, and begins
-- the same when it is asked for again, is a file: it is heard once.
--
-- A URL may be a file (MP3, AAC, M4A, WAV): it is held back to the pace at which it is heard, goes on after a lost
-- connection at the byte that is missing, can be gone to any place of, and stops at its end.
--
--   local show = stream.new "http://127.0.0.1:8000/show.mp3"
--   show:start()
--   show:seek "10m"
--   show:wait "file_complete"

error("stdlib/meta/stream.lua is a description, not a module: require \"stream\" finds the module itself")

---@class streamlib
local stream = {}

---The version of Roomtone, as `roomtone --version` tells it.
stream.version = "0.1.0"

---What a tap can do without a function of the script's.
stream.effect = {}

---@class stream.Effect

---Amplifies. A limiter keeps what exceeds full scale below it. Raises `argument`.
---@param decibels number -90 to 12.
---@return stream.Effect
function stream.effect.gain(decibels) end

---Ten bands, as `speaker.set_eq`. Raises `argument`.
---@param bands string|table<integer, number> A preset, or dB by band: `{ [62] = 3, [8000] = -2 }`.
---@return stream.Effect
function stream.effect.equalizer(bands) end

---All channels get the mean of them.
---@return stream.Effect
function stream.effect.mono() end

---Left and right change places.
---@return stream.Effect
function stream.effect.swap() end

---Takes away what lies above a frequency: -3 dB there, 12 dB more with each octave. Raises `argument`.
---@param hz number 10 to 20,000.
---@return stream.Effect
function stream.effect.lowpass(hz) end

---Takes away what lies below a frequency: -3 dB there, 12 dB more with each octave. Raises `argument`.
---@param hz number 10 to 20,000.
---@return stream.Effect
function stream.effect.highpass(hz) end

---@class stream.Options
---@field type? "auto"|"raw"|"pls"|"m3u" What the URL leads to (default: found out).
---@field buffer_blocks? integer Blocks of 5 KiB that hold what came, 10 to 100,000; 1,200 by default.
---@field user_agent? string What servers are told who asks.
---@field data_timeout? Duration How long nothing may come before it connects again; at least 1 s (default: 20 s).
---@field pause_timeout? Duration How long it receives while it is paused, then it stops; 0: for ever (default: 5 minutes).
---@field buffer_wait? Duration What is to come before it plays (default: 1 s behind a burst, 2 s without one; twice as long after each dry spell, up to 10 s).
---@field is_file? boolean Whether the URL leads to a file and no station (default: found out).
---@field buffer_wait_file? Duration What is to come of a file before it plays (default: 3 s).
---@field throttle_bypass? Duration What of a file may come ahead of that, before it comes as it is heard (default: 0).
---@field metadata_encoding? string What titles are in that are not UTF-8 (default: `"latin1"`).
---@field auth? string[] User and password, for basic authentication; they can't be read.

---@class stream.URLOptions: stream.Options
---@field start? boolean Whether it goes over at once (default: true).

---A stream at an http or https address; nothing is connected.
---
---Raises `stream.url` (no address, no station), `stream.unsupported` (another scheme), `argument`.
---@param url string Or the name of a station of the configuration.
---@param options? stream.Options
---@return stream.Stream
function stream.new(url, options) end

---The stations of the configuration: `stations { morning = "http://…" }`. A station may be a table with `url` and how it
---is received: `charset`, `user_agent`, `ca_file` (certificates that are trusted in place of the system's, or of those
---that `SSL_CERT_FILE` names), and `auth = { user, password }`, or `user` and `password_file` (mode 0600, its first line).
---Options of `stream.new` go before them.
---@return table<string, string> urls The URL of each, by name; without user and password.
function stream.stations() end

---What the elements of an AudioVault feed are called. No public description of that XML is known, so the defaults are
---nothing but the words for it, and unverified. Any case of letters; what is no letter, digit, `_`, `-` or `.` counts as
---`_`, and prefixes don't count. An element may be at any depth, and an attribute does as well.
---@class stream.Elements
---@field event? string One thing that is played, with the others in it (default: `"event"`).
---@field title? string Its title (default: `"title"`).
---@field artist? string Who plays it (default: `"artist"`).
---@field start? string When it begins (default: `"start"`).
---@field length? string How long it is (default: `"length"`).

---@class stream.AudioVaultOptions
---@field url string Where the XML is: http or https, with user and password in it where they are asked for.
---@field timezone? string The station's: `"Europe/Berlin"`, or `"EST"`, `"PDT"` and the like, which are taken with their daylight-saving time (default: that of this machine).
---@field delay? Duration|number By how much the stream is behind the times of the feed, an hour at most; seconds may be negative.
---@field elements? stream.Elements What the elements are called.
---@field times? "auto"|"ms"|"s" What times are counted in since midnight (default: found out). `14:05:09` does as well.

---@class stream.Live365Options
---@field url string Where the XML is: http or https.

---A sound file of this machine, of any kind that `speaker.play` takes; a relative path begins at the script's folder.
---Nothing is opened: `start` raises `stream.not_found`, `stream.content`, `stream.unsupported`. Works under `simulate`
---too. Raises `argument`.
---@param path string
---@param options? stream.Options
---@return stream.Stream
function stream.file(path, options) end

---@alias stream.EventName
---| "connecting" # `{}`: a connection is made, or another one.
---| "buffering" # `{}`: it waits until enough has come.
---| "started" # `{}`: it plays, after `start`, after `buffering`, or as it is received again.
---| "paused" # `{}`
---| "stopped" # `{}`
---| "metadata" # `{title, artist, title_without_artist, text, url}`: a title is heard; each means what the stream's field does.
---| "metadata_realtime" # the same: a title has come.
---| "reconnected" # `{gap_seconds, stitched, frames_overlapped}`: sound comes again.
---| "queue_exhausted" # `{}`: what was held has been played; `buffering` follows.
---| "file_complete" # `{}`: a file has been heard to its end; `stopped` follows.
---| "no_network" # `{error, code, message, url}`: no interface of this machine is up.
---| "url_not_found" # `{error, code, message, url}`: refused, broken off, or a playlist that lists nothing usable.
---| "timeout" # `{error, code, message, url}`: nothing came in time, or the name does not resolve.
---| "missing_content" # `{error, code, message, url, status}`: an answer of 400 or more.
---| "http_error" # the same, after it.
---| "bad_content" # `{error, code, message, url}`: what came is no audio, or nothing that works here; an address that is none.
---| "suspending" # `{by}`: an interruption takes the session's speakers; so for the next two.
---| "suspended" # `{by}`
---| "resumed" # `{by}`
---| "tap_created" # `{tap, rate, channels}`: a tap gets sound of this format from now on.
---| "tap_disposed" # `{tap, rate, channels}`: that ended: removed, stopped, or another format follows.
---| "tap_overrun" # `{tap, seconds}`: its function was not done in time; so much sound went on as it came.
---| "track" # `{recording, path, title}`: a recording has begun a file; told of the first only when it is split.
---| "recording_stopped" # `{recording, error}`: it can't be written, or its stream is gone for good; what was written is kept.
---| "recording_finished" # `{recording, path, seconds, bytes}`: it is over, and safe on disk.

---A stream. Its fields follow what happens.
---@class stream.Stream
---@field status "stopped"|"connecting"|"buffering"|"playing"|"paused" What it does.
---@field is_playing boolean True while something is to be heard: also while paused, and while disconnected with sound left.
---@field url string Where what plays is, without user and password; of a stopped stream, where `start` goes.
---@field type "auto"|"raw"|"pls"|"m3u" What the URL leads to.
---@field buffer_blocks integer Blocks of 5 KiB that the buffer has from the next `start` on.
---@field user_agent string What servers are told who asks.
---@field data_timeout number Seconds that nothing may come before it connects again.
---@field pause_timeout number Seconds that it receives while it is paused; 0 for ever.
---@field is_file? boolean Whether the URL leads to a file and no station, as it was told.
---@field buffer_wait_file number Seconds that are to come of a file before it plays.
---@field throttle_bypass number Seconds of a file that may come ahead of that.
---@field buffer_wait? number Seconds of sound that are to come before it plays, as it was told.
---@field metadata_encoding string What titles are in that are not UTF-8.
---@field name? string What the station calls itself.
---@field genre? string What the station says it plays.
---@field bit_rate? integer kbit/s, as the station tells, else on average of the last minute, of a file of this machine on average of all; nil before 3 s have come.
---@field format? string `"mp3"`, `"aac"`, `"layer2"`, once it comes; `"pcm"` for WAV and what else is not decoded frame by frame.
---@field title? string The whole title that is heard, as it was sent, with entities of XML (`&amp;`) decoded; `artist - title` from a feed.
---@field text? string The same as `title`.
---@field artist? string What is in front of the first `" - "` of it, or what a feed tells.
---@field title_without_artist? string What is behind that, all of it without one; or what a feed tells.
---@field stream_url? string The address that was sent with the title.
---@field buffer_size integer Blocks of 5 KiB that there are.
---@field buffer_used integer Blocks that hold something.
---@field buffer_playing? integer The block that is heard.
---@field buffered_seconds number Sound that has not been heard.
---@field buffer_max_seconds number Sound that fits, at the rate of what is there.
---@field time_shift number Seconds behind what came last.
---@field byte_offset? integer The byte of the received sound, or of the file, that is heard.
---@field can_seek boolean Whether any place of a file can be gone to: its length is known, and the server gives parts.
---@field file_time? number Seconds of the file up to what is heard; nil for stations.
---@field file_duration? number Seconds of the whole file; nil for stations, and while it is not known.
---@field gain number dB, as `set_gain` set it.
local Stream = {}

---Connects and fills the buffer, or goes on after `pause`; goes over to what `set_url` has set for it. Returns when it
---plays, at once when it does already. A routine that is cancelled here unwinds at once; the stream stops then, unless
---another routine waits in `start` too.
---
---Raises what the first connection fails with: `stream.not_found`, `stream.auth`, `stream.http` (with `status`),
---`stream.network`, `stream.dns`, `stream.timeout`, `stream.content`, `stream.unsupported`; `task.cancelled` when it is stopped
---meanwhile; `task.cannot_suspend`.
---@async
function Stream:start() end

---Ends playing and receiving, on its session too. Nothing when it is stopped.
function Stream:stop() end

---Lets the play position stand; what comes is kept, up to the size of the buffer. Nothing when nothing plays.
function Stream:pause() end

---Moves back, as far as the buffer goes, or to the start of a file; paused it stays paused. Raises `stream.no_seek`
---(nothing plays, or the server gives no parts of its files), `argument`.
---@param time Duration
---@return number seconds that it moved.
function Stream:rewind(time) end

---Moves forward, as far as what has come, or to the end of a file. Raises `stream.no_seek`, `argument`.
---@param time Duration
---@return number seconds that it moved.
function Stream:forward(time) end

---Whether the buffer, or the file, reaches so far back. Raises `argument`.
---@param time Duration
---@return boolean
function Stream:can_rewind(time) end

---Whether so much has come that was not heard, or is in the file. Raises `argument`.
---@param time Duration
---@return boolean
function Stream:can_forward(time) end

---Goes to a place of a file, within the buffer or by asking the server for that part; paused it stays paused. Where the
---file does not tell which byte that is (VBR without a table), near it: `file_time` says where. Raises
---`stream.no_seek` (past the end, a station, no parts of files), `argument`.
---@param time Duration from the start of the file.
function Stream:seek(time) end

---Goes to what came last, less what is to be there before it plays (`buffer_wait`, or what the stream chose). Raises
---`stream.no_seek`.
function Stream:go_live() end

---Takes titles from an AudioVault "now playing" file, in place of those that come with the sound.
---
---It is asked while the stream is not stopped: when what it told ends, 10 s after the last time at the soonest, 5 minutes
---at the latest, less often while it fails. A title is told at its time (`metadata_realtime`), and heard with the sound
---that came then (`metadata`). A feed that fails is logged as a warning, once, and leaves the stream alone. New settings
---take the place of the old ones, also of those of the other kind of feed; `false` ends it: titles come with the sound
---again, from the next one on. Raises `stream.url`, `stream.unsupported`, `argument`.
---
---    radio:audiovault { url = "http://127.0.0.1/now.xml", timezone = "EST", elements = { event = "cut" } }
---@param options stream.AudioVaultOptions|false
function Stream:audiovault(options) end

---Takes titles from Live365, in place of those that come with the sound: as `audiovault`, but asked as often as the feed
---says, every 10 s to an hour, a minute where it says nothing. Raises `stream.url`, `stream.unsupported`, `argument`.
---@param options stream.Live365Options|false
function Stream:live365(options) end

---Amplifies what comes behind its taps, over all starts and sessions, and ahead of the session's own gain; without a
---click. What was decoded ahead on a session, up to 1.5 s, is heard before it; so it is with taps. Raises `argument`.
---@param decibels number -90 to 12; 0 unless set.
function Stream:set_gain(decibels) end

---Has levels measured; the stream is decoded for that also when no session plays it. Raises `argument`.
---@param on boolean
function Stream:meter(on) end

---How loud the 50 ms are that are heard now, behind taps and gain, in dBFS: root mean square and peak. A sine of full
---scale has -3.01 and 0; -math.huge while nothing is heard. Raises `argument` before `meter(true)`.
---@return { left: number, right: number, peak_left: number, peak_right: number }
function Stream:levels() end

---Records what comes from now on, whatever is heard: frames as the station sent them, from border to border, each once.
---
---A stream that is stopped is received for that only; what plays may be paused and stopped meanwhile. Several recordings
---share a connection. It ends with its `duration`, at `until`, with `stop`, with the script, and when the stream goes over
---to another URL. While it goes on the file is called `NAME.part`; what a process that was killed leaves of it is made
---whole by the next that records. A part may be lost when the disk is full or gone, which `recording_stopped` tells.
---
---A file of a server (a show to download) is recorded byte for byte, as fast as it and the disk allow: after a lost
---connection what is missing is asked for, and the recording ends by itself with the last byte. It can't be split,
---appended, decoded or recorded twice at once, nor played meanwhile (`stream.unsupported`); a duration and `until` are
---when it ends at the latest.
---
---The path is that of the file, which is not replaced: a number is added to its name. It may have fields: `{station}`,
---`{title}`, `{artist}`, `{start:%Y-%m-%d %H.%M}`, `{ext}`, `{n}`. Relative ones begin in the folder of the configuration,
---else in the working folder. Returns when the first frame is on disk.
---
---Raises what `start` raises; `record.exists`, `record.write`, `record.disk_full`; `stream.in_use` (with `reset`, while
---another recording goes on); `stream.unsupported` (a file that plays, or as what it is not); `argument`.
---@async
---@param path? string By default what the configuration says.
---@param options? stream.RecordOptions
---@return stream.Recording
function Stream:record(path, options) end

---Sends the sound through a function or an effect, behind the taps that there are, from now on and over all starts. It
---is decoded for that also when no session plays it.
---
---The function is called with blocks of about 40 ms, ahead of what is heard, and may change them. It can't suspend
---(`task.cannot_suspend`). A block that it is not done with in time, or fails with, goes on as it came; the one is told
---by `tap_overrun`, once a second at most, the other is logged and counted. A function that runs too long
---(`script.blocked`) is removed, with a warning. Raises `argument`, `script.objects`.
---@param what stream.Effect|fun(block: stream.Block)
---@return stream.Tap
function Stream:tap(what) end

---Goes over to another station; options that are not given stay as they are, save that user and password do not go to
---another server, nor to another port or scheme of the same one.
---
---At once, and started if need be, unless `start = false`; returns when the new one plays. What the buffer holds of the
---old one is dropped, a session goes on with the new one. Told are `connecting`, `buffering` and `started`, no `stopped`;
---when it fails, the event of that and `stopped`. A routine that is cancelled here unwinds at once, and the stream stops.
---
---With `start = false` what plays goes on; the next `start` goes over, also from a pause and while it plays. `url` is
---the old one until then, unless nothing is received.
---
---Raises `stream.url` and `stream.unsupported`, told as `bad_content` too; what `start` raises; `argument`.
---@async
---@param url string Or the name of a station of the configuration.
---@param options? stream.URLOptions
function Stream:set_url(url, options) end

---Sets what the URL leads to, from the next connection on. Raises `argument`.
---@param type "auto"|"raw"|"pls"|"m3u"
function Stream:set_type(type) end

---Sets the blocks of 5 KiB that the buffer has, 10 to 100,000, from the next `start` on. Raises `argument`.
---@param blocks integer
function Stream:set_buffer_blocks(blocks) end

---Sets what servers are told who asks, from the next connection on. Raises `argument`.
---@param name string
function Stream:set_user_agent(name) end

---Sets how long nothing may come before it connects again, at least 1 s, also for the connection that is open. Raises
---`argument`.
---@param time Duration
function Stream:set_data_timeout(time) end

---Sets how long it receives while it is paused, then it stops; 0 for ever. Counts anew when it is paused, and does not
---count while an interruption has the speakers. Raises `argument`.
---@param time Duration
function Stream:set_pause_timeout(time) end

---Sets what titles are in that are not UTF-8, from the next title on. Raises `argument`.
---@param name string
function Stream:set_metadata_encoding(name) end

---Sets what is to come before it plays, at most what fits in the buffer; what waits may go on at once. Until it is set,
---that is 1 s where the server begins with a burst and 2 s where it does not, and twice as much each time the stream has
---run dry, up to 10 s. Raises `argument`.
---@param time Duration
function Stream:set_buffer_wait(time) end

---Sets whether the URL leads to a file and no station, from the next `start` on; nil to find out. Raises `argument`.
---@param is_file? boolean
function Stream:set_is_file(is_file) end

---Sets what is to come of a file before it plays; what waits may go on at once. Raises `argument`.
---@param time Duration
function Stream:set_buffer_wait_file(time) end

---Sets what of a file may come ahead of that, before it comes as it is heard, from the next `start` on. Raises
---`argument`.
---@param time Duration
function Stream:set_throttle_bypass(time) end

---Sets user and password, from the next connection on; nil takes them away. They can't be read. Raises `argument`.
---@param user? string
---@param password? string
function Stream:set_auth(user, password) end

---Calls `listener` with the payload of every such event from now on. Raises `argument`.
---@param event stream.EventName
---@param listener fun(payload: table)
---@return Subscription
function Stream:on(event, listener) end

---As `on`, for the next such event only. Raises `argument`.
---@param event stream.EventName
---@param listener fun(payload: table)
---@return Subscription
function Stream:once(event, listener) end

---Waits for the next such event: its payload, or nil and `"timeout"`. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event stream.EventName
---@param timeout? Duration
---@return table? payload
---@return "timeout"? why
function Stream:wait(event, timeout) end

---@class stream.RecordOptions
---@field append? boolean Goes on behind what the file holds, whose frames must be like these (`record.exists`).
---@field reset? boolean Connects anew first.
---@field split? boolean|stream.Split A file for each title, and a cue sheet. The first and the last file, whose titles are cut off, end with `(incomplete)`.
---@field tags? boolean Whether files get a tag with title, artist, station and time; true by default.
---@field duration? Duration How much is recorded; what is missing counts.
---@field until? string|number When it ends: `"21:30"`, `"2026-12-24 18:00"`, or seconds as `os.time` counts them.
---@field pad_before? Duration So much before is recorded too, as far as the buffer has it.
---@field pad_after? Duration So much after its end is recorded too.
---@field back? Duration How far back in the buffer it begins: the song that is just playing.
---@field resume_when_space? boolean Goes on in a new file after the disk was full.
---@field format? "original"|"wav" `"wav"` for decoded sound; what is beyond 4 GiB, six hours of it, goes into a next file.
---@field min_free? string|integer Room that stays free on the disk: `"2GB"`, or bytes.
---@field job? string Whose it is, for the catalogue.

---@class stream.Split
---@field offset? Duration|number By how much files begin later than their titles, at most 30 s; less than 0 earlier.
---@field overlap? Duration What files have of the sound before and after them, 30 s at most.
---@field min_length? Duration Files with less sound are removed when they end, unless nothing else was recorded.

---What `record` returns.
---@class stream.Recording
---@field path string The file that is written, or was last: its name when it is finished.
---@field seconds number What is on disk, in all its files.
---@field bytes integer The same, without tags.
---@field title? string What was written last, as it was sent.
---@field gaps { at: number, seconds: number }[] What is missing: where, and about how much.
---@field state "recording"|"waiting"|"finished"|"failed" `"waiting"` for room on the disk.
local Recording = {}

---Ends it, and returns when it is safe on disk. Raises `record.write`, `record.disk_full`: why it ended early, if it did.
---@async
function Recording:stop() end

---Calls `listener` with the payload of every such event from now on. Raises `argument`.
---@param event stream.RecordingEventName
---@param listener fun(payload: table)
---@return Subscription
function Recording:on(event, listener) end

---As `on`, for the next such event only. Raises `argument`.
---@param event stream.RecordingEventName
---@param listener fun(payload: table)
---@return Subscription
function Recording:once(event, listener) end

---Waits for the next such event: its payload; nil and `"timeout"`; nil and `"closed"`. Raises `argument`,
---`task.cannot_suspend`.
---@async
---@param event stream.RecordingEventName
---@param timeout? Duration
---@return table? payload
---@return "timeout"|"closed"? why
function Recording:wait(event, timeout) end

---@alias stream.RecordingEventName
---| "track" # as of its stream.
---| "recording_stopped" # as of its stream.
---| "recording_finished" # as of its stream.

---What `tap` returns. It ends with `remove`, with the script, and when nobody has its stream any more.
---@class stream.Tap
---@field active boolean Whether it was not removed.
---@field failures integer Calls of its function that failed.
---@field overruns integer Times that its function was not done in time.
local Tap = {}

---Ends it; without a click. Nothing the second time.
function Tap:remove() end

---Sound as a tap's function gets it. It is there only while the function runs: later all of it raises `argument`.
---@class stream.Block
---@field frames integer Samples of each channel.
---@field channels integer 1 is mono, 2 left and right.
---@field rate integer Frames a second.
local Block = {}

---A sample; full scale is -1 to 1. Raises `argument`.
---@param frame integer From 1.
---@param channel integer From 1.
---@return number
function Block:get(frame, channel) end

---Changes a sample. Raises `argument`.
---@param frame integer From 1.
---@param channel integer From 1.
---@param sample number -1000 to 1000; a limiter keeps what exceeds full scale below it.
function Block:set(frame, channel, sample) end

---The level of a channel, or of all together: root mean square in dBFS; -math.huge for silence. Raises `argument`.
---@param channel? integer
---@return number
function Block:rms(channel) end

---The levels of bands of equal width, all channels mixed, in dBFS: band `i` lies around `(i - 1) / (2 * bands)` of the
---rate, and a sine of full scale has 0 in it. Looks at the first `2 * bands` frames, less when there are less. Raises
---`argument`.
---@param bands integer A power of two from 8 to 2048.
---@return number[]
function Block:spectrum(bands) end

return stream
