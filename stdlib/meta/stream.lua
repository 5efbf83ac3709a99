---@meta stream
---@search radio podcast url shoutcast icecast internet station web live livestream hls playlist
---@search spotify microphone

-- Internet radio: connects, joins the sound of successive connections into one stream without a gap, and moves the play
-- position within the buffer.
--
--   local stream = require "stream"
--   local radio = stream.new "http://127.0.0.1:8000/morning.mp3"
--   radio:on("metadata", function(event)
--     print(event.artist, event.title_without_artist)
--   end)
--   speaker.play_stream(radio, { rooms = "Kitchen" })
--   task.sleep "10m"
--   radio:pause()
--   task.sleep "2m"
--   -- resumes at the same position; radio:go_live() skips the missed part
--   radio:start()
--
-- Nothing is connected before `start`, `record` or `speaker.play_stream`. A lost connection is restored, with no limit
-- of attempts, and the missed part, as far as the server still has it, is joined frame by frame. URLs may lead to
-- playlists (PLS, M3U, XSPF, ASX). A stream lives until it is stopped or the script ends. Under `simulate` nothing
-- comes from the network: a URL plays a simulated station with the same events (`roomtone simulate --stations FILE.lua`
-- defines which of them drop, refuse or do not exist), and feeds of titles are silent.
--
-- A station is heard as soon as 0.7 s of its sound are received. Unless more has come at once, the sound is stretched by
-- 0.5 % until 3 s are buffered, which outlast a short failure of the network; so it is after the buffer has run dry.
-- While a connection stalls, recordings wait for the sound that it may still bring, but the listener hears the sound that
-- comes first. With `catch_up = "keep"` the listener hears all of it, later, and not stretched.
--
-- The first entry of a playlist that answers decides how the list is played: files are one programme, played in turn,
-- each with `file_complete` at its end; stations are alternatives, of which the next is tried when one fails. A live
-- server that sends faster than real time is paused once 20 s are buffered. A body without a length that ends, and
-- begins the same when it is requested again, is a file: it is played once.
--
-- A station of Ogg begins another Ogg stream with each title; all are heard without a gap. A recording writes each of
-- them to a file of its own, with `split` or without: `.ogg` (Vorbis), `.opus` or `.oga` (FLAC).
--
-- A URL may be a file (MP3, AAC, M4A, WAV, FLAC, Vorbis and Opus): it is received at the pace of playback, resumes after
-- a lost connection at the missing byte, can be sought in, and stops at its end. If the server sends no parts of files,
-- the file is received again from its beginning up to that byte, and fails when five connections in a row end before
-- it. A URL may contain blanks and umlauts as they are.
--
-- Cameras, baby monitors, intercoms and some broadcasters send by `rtsp://` or, encrypted, `rtsps://`: the sound alone is
-- received, through the one connection of TCP (RTP between the messages), in MP3 and its older layers, AAC, Opus, L16,
-- PCMU or PCMA; the user and the password of the URL are sent as a digest where the server wants one. Such a server
-- repeats nothing: after a lost connection the sound of the outage is missing. PCM has the format `"l16"`, and is
-- recorded as WAV. A presentation that states its length is a file, which can be sought in. A server that offers UDP
-- alone is refused, and so are the older `mms://` addresses: most such stations have an `http://` address now.
--
--   local show = stream.new "http://127.0.0.1:8000/show.mp3"
--   show:start()
--   show:seek "10s"
--   show:wait "file_complete"

---@class streamlib
local stream = {}

---The version of Roomtone, as `roomtone --version` prints it.
stream.version = "0.1.0"

---Built-in effects for `Stream:tap`.
stream.effect = {}

---@class stream.Effect

---Creates an effect that applies a gain. A limiter keeps the signal below full scale. Raises `argument`.
---@param decibels number -90 to 12 dB.
---@return stream.Effect
function stream.effect.gain(decibels) end

---Creates an equalizer effect of ten bands, as `speaker.set_eq`. Raises `argument`.
---@param bands string|table<integer, number> The name of a preset, or gains in dB by band: `{ [62] = 3, [8000] = -2 }`.
---@return stream.Effect
function stream.effect.equalizer(bands) end

---Creates an effect that replaces all channels with their mean.
---@return stream.Effect
function stream.effect.mono() end

---Creates an effect that swaps the left and the right channel.
---@return stream.Effect
function stream.effect.swap() end

---Creates a low-pass filter: -3 dB at the cutoff frequency, 12 dB per octave above it. Raises `argument`.
---@param hz number Cutoff frequency, 10 to 20,000 Hz.
---@return stream.Effect
function stream.effect.lowpass(hz) end

---Creates a high-pass filter: -3 dB at the cutoff frequency, 12 dB per octave below it. Raises `argument`.
---@param hz number Cutoff frequency, 10 to 20,000 Hz.
---@return stream.Effect
function stream.effect.highpass(hz) end

---@class stream.Options
---@field type? "auto"|"raw"|"pls"|"m3u" Content at the URL: sound (`"raw"`) or a playlist (default: `"auto"`, detected).
---@field buffer_blocks? integer Size of the buffer in blocks of 5 KiB, 10 to 100,000 (default: 1,200).
---@field max_bit_rate? integer Highest bit rate in kbit/s received where the station has several versions (HLS), 8 to 10,000: the best up to it, else the lowest (default: 320).
---@field user_agent? string `User-Agent` header of requests (default: `"Roomtone"`).
---@field data_timeout? Duration Longest time without data before a new connection, at least 1 s (default: 20 s).
---@field pause_timeout? Duration Longest pause during which a station is received; after it the station stops; 0: no limit (default: 5 minutes). A file keeps its position however long the pause: its connection is closed, and opened again from there.
---@field buffer_wait? Duration Sound to be buffered before a station plays (default: 0.7 s; see `catch_up`).
---@field catch_up? "skip"|"keep" Policy for sound of a station that comes too late: `"skip"` plays the sound that comes first, to be live again, and plays 0.5 % slower until 3 s are buffered; `"keep"` waits for the missing sound and plays all of it, later. Recordings wait in any case (default: `"skip"`).
---@field is_file? boolean `true` if the URL leads to a file, `false` if it leads to a station (default: detected).
---@field buffer_wait_file? Duration Sound to be buffered before a file plays (default: 3 s); for a file of this machine, half a second at most.
---@field throttle_bypass? Duration Sound of a file received ahead of `buffer_wait_file` before reception is limited to the pace of playback (default: 0).
---@field metadata_encoding? string Encoding of titles that are not UTF-8 (default: `"latin1"`).
---@field auth? string[] User and password for basic authentication, in RTSP for a digest too; they can't be read back.

---@class stream.URLOptions: stream.Options
---@field start? boolean `true` switches to the URL at once, `false` with the next `start` (default: true).

---Creates a stream at a URL of HTTP or RTSP (`http`, `https`, `rtsp`, `rtsps`); nothing is connected.
---
---Raises `stream.url` (neither a URL nor the name of a station), `stream.unsupported` (another scheme), `stream.auth`
---(the station's password file can't be read), `argument`.
---@param url string A URL, or the name of a station of the configuration.
---@param options? stream.Options
---@return stream.Stream
function stream.new(url, options) end

---Returns the stations of the configuration: `stations { morning = "http://…" }`. A station may be a table of `url` and
---settings for its reception: `charset`, `user_agent`, `ca_file` (trusted certificates in place of the system's and of
---those in `SSL_CERT_FILE`), and `auth = { user, password }`, or `user` and `password_file` (mode 0600, its first
---line). Options of `stream.new` take precedence over them.
---@return table<string, string> urls URLs by name, without user and password.
function stream.stations() end

---Creates a stream of a sound file of this machine, in any format that `speaker.play` reads. Nothing is opened: `start`
---raises `stream.not_found`, `stream.content`, `stream.unsupported`. Works under `simulate` too. Raises `argument`,
---`audio.not_found` (a text with a password in it and no such file).
---@param path string Path of the file: relative to the working folder, else to the script's folder, or `~/…`.
---@param options? stream.Options
---@return stream.Stream
function stream.file(path, options) end

---@alias stream.EventName
---| "connecting" # `{}`: an attempt to connect begins, the first or another one.
---| "buffering" # `{}`: playback waits for sound.
---| "started" # `{}`: playback begins or resumes, after `start`, after `buffering`, or as reception resumes.
---| "paused" # `{}`: playback is paused.
---| "stopped" # `{}`: playback has stopped.
---| "metadata" # `{title, artist?, title_without_artist, text, url?}`: a title is heard; each field is that of the stream.
---| "metadata_realtime" # `{title, artist?, title_without_artist, text, url?}`: a title has been received.
---| "reconnected" # `{gap_seconds, stitched, frames_overlapped}`: sound is received again.
---| "queue_exhausted" # `{}`: the buffer has run dry; `buffering` follows, unless there is no connection.
---| "file_complete" # `{}`: a file, or a list of HLS that has ended, has been heard to its end; `stopped` follows, or the next file of a playlist.
---| "no_network" # `{error, code, message, url}`: no network interface of this machine is up.
---| "url_not_found" # `{error, code, message, url}`: connection refused or lost, or a playlist without a playable entry.
---| "timeout" # `{error, code, message, url}`: no data in time, or a host name that does not resolve.
---| "missing_content" # `{error, code, message, url, status}`: an HTTP status of 400 or more.
---| "http_error" # `{error, code, message, url, status}`: as `missing_content`, emitted after it.
---| "bad_content" # `{error, code, message, url}`: no audio, an unsupported format or scheme, or an invalid URL.
---| "suspending" # `{by}`: an interruption, the session named `by`, fades out the session that plays the stream.
---| "suspended" # `{by}`: the interruption has silenced the session.
---| "resumed" # `{by}`: the interruption has ended, and the session resumes.
---| "tap_created" # `{tap, rate, channels}`: a tap receives sound of this format from now on.
---| "tap_disposed" # `{tap, rate, channels}`: a tap receives no more sound of this format.
---| "tap_overrun" # `{tap, seconds}`: a tap's function overran; that much sound has passed unchanged.
---| "track" # `{recording, path, title}`: a recording begins a file; for the first file only if it is split.
---| "recording_continued" # `{recording, path, gap_seconds, stitched, frames_overlapped}`: a recording continues the file at `path`, as with `continue`.
---| "recording_stopped" # `{recording, error}`: a recording has failed; the written part is kept.
---| "recording_finished" # `{recording, path, seconds, bytes}`: a recording has ended and is safe on disk.

---A stream. Its fields show the current state.
---@class stream.Stream
---@field status "stopped"|"connecting"|"buffering"|"playing"|"paused"
---@field is_playing boolean `true` while there is sound to play: also while paused, and while disconnected with sound in the buffer, until it is `"buffering"`.
---@field url string URL that plays, or that the next `start` of a stopped stream connects to; without user and password.
---@field type "auto"|"raw"|"pls"|"m3u" Content at the URL, as set.
---@field buffer_blocks integer Size of the buffer in blocks of 5 KiB, from the next `start` on.
---@field max_bit_rate integer Highest bit rate in kbit/s received where the station has several versions (HLS).
---@field user_agent string `User-Agent` header of requests.
---@field data_timeout number Longest time without data before a new connection, in seconds.
---@field pause_timeout number Longest pause during which the stream is received, in seconds; after it a station stops, and a file keeps its position without a connection; 0: no limit.
---@field is_file? boolean `true` for a file, `false` for a station, as set; nil: detected.
---@field buffer_wait_file number Sound to be buffered before a file plays, in seconds.
---@field throttle_bypass number Sound of a file received ahead of `buffer_wait_file`, in seconds.
---@field buffer_wait? number Sound to be buffered before a station plays, in seconds, as set; nil: 0.7 s.
---@field catch_up "skip"|"keep" Policy for sound of a station that comes too late: it is skipped, or all is played, later.
---@field metadata_encoding string Encoding of titles that are not UTF-8.
---@field name? string Name that the station announces.
---@field genre? string Genre that the station announces.
---@field bit_rate? integer kbit/s: as the station announces it, else the average of the last 30 to 60 s; of a file of this machine the average of the whole file; nil before 3 s have been received.
---@field format? string Codec: `"mp3"`, `"aac"`, `"layer2"`, `"vorbis"`, `"opus"`, `"oggflac"` (FLAC, in Ogg or not), `"l16"` (PCM of RTSP); `"pcm"` for WAV and other formats that are not decoded frame by frame; nil before sound is received.
---@field title? string The title that is heard, as sent, with XML entities (`&amp;`) decoded; `artist - title` from a feed.
---@field text? string Alias of `title`.
---@field artist? string The part of the title before the first `" - "`, or the artist from a feed.
---@field title_without_artist? string The part of the title after the first `" - "`, the whole title without one, or the title from a feed.
---@field stream_url? string The URL sent with the title.
---@field buffer_size integer Size of the buffer in blocks of 5 KiB.
---@field buffer_used integer Blocks in use.
---@field buffer_playing? integer Index of the block that is heard, from 0.
---@field buffered_seconds number Sound in the buffer that has not been heard, in seconds.
---@field buffer_max_seconds number Capacity of the buffer in seconds, at the current bit rate.
---@field time_shift number Distance of the play position from the newest sound, in seconds.
---@field byte_offset? integer Byte offset of the play position in the received sound, or in the file.
---@field can_seek boolean `true` if any position of the file can be sought: its length is known, and the server sends ranges, lists its segments (HLS) or plays from any time (RTSP).
---@field file_time? number Position in the file, in seconds; nil for stations.
---@field file_duration? number Length of the file in seconds; nil for stations, and while unknown.
---@field gain number Gain in dB, as set by `set_gain`.
local Stream = {}

---Connects and fills the buffer, or resumes after `pause`; switches to a URL that `set_url` has set for the next
---`start`. Returns when the stream plays; at once if it plays already. Cancelling the routine also stops the stream,
---unless another routine waits in `start`.
---
---Raises the failure of the first connection: `stream.not_found`, `stream.auth`, `stream.http` (with `status`),
---`stream.network`, `stream.dns`, `stream.timeout`, `stream.content`, `stream.unsupported`; `task.cancelled` (stopped
---before it played); `script.memory` (the streams that play need larger buffers, or the files of this machine that play
---need more memory, than the limits allow); `task.cannot_suspend`.
---@async
function Stream:start() end

---Stops playback, also of its session, and reception, unless the stream is recorded. No effect if it is stopped.
function Stream:stop() end

---Pauses playback at its position; reception continues into the buffer until that is full. No effect if nothing plays.
function Stream:pause() end

---Moves the play position back, within the buffer or the file; a paused stream stays paused. Older segments that a live
---list of HLS still has are requested, as far as the buffer has room for them (`buffer_blocks`): the stream is
---`"buffering"` until they have come, and continues with the oldest sound that the server still had. Raises
---`stream.no_seek` (nothing plays, or the server sends no ranges of the file), `argument`.
---@param time Duration
---@return number seconds The distance moved.
function Stream:rewind(time) end

---Moves the play position forward, within the buffer or the file; a paused stream stays paused. Raises
---`stream.no_seek`, `argument`.
---@param time Duration
---@return number seconds The distance moved.
function Stream:forward(time) end

---Returns `true` if the buffer, the live list of HLS or the file reaches that far back. Raises `argument`.
---@param time Duration
---@return boolean
function Stream:can_rewind(time) end

---Returns `true` if the buffer or the file reaches that far forward. Raises `argument`.
---@param time Duration
---@return boolean
function Stream:can_forward(time) end

---Moves to a position of a file, within the buffer or by a request for a range or a segment; a paused stream stays
---paused. Without a seek table (VBR) the position is approximate: `file_time` has the actual one. Raises
---`stream.no_seek` (nothing plays, past the end, a station, a server that sends no ranges), `argument`.
---@param time Duration Position from the start of the file.
function Stream:seek(time) end

---Moves to the newest sound, less the wait before playback (`buffer_wait`); in HLS
---less three target durations at least, so that sound remains until the next segment comes. A player that is nearer
---stays. Raises `stream.no_seek` (nothing plays, or a file).
function Stream:go_live() end

---Reads titles from an AudioVault "now playing" feed, in place of the titles in the stream.
---
---The feed is requested while the stream is not stopped: at the end of the item that it announced, at the earliest 10 s
---after the last request, at the latest after 5 minutes, and less often while it fails. A title is emitted at its time
---(`metadata_realtime`), and with the sound received then (`metadata`). A failing feed is logged as a warning, once,
---and does not affect the stream. New settings replace the old ones, also those of `live365`; `false` ends an
---AudioVault feed: titles come from the stream again, from the next one on. Raises `stream.url`, `stream.unsupported`,
---`argument`.
---
---    local radio = stream.new "http://127.0.0.1:8000/morning.mp3"
---    radio:audiovault { url = "http://127.0.0.1/now.xml",
---                       timezone = "EST", elements = { event = "cut" } }
---@param options stream.AudioVaultOptions|false
function Stream:audiovault(options) end

---Reads titles from a Live365 feed, as `audiovault`, but at the interval that the feed announces, 10 s to an hour
---(default: a minute); `false` ends a Live365 feed. Raises `stream.url`, `stream.unsupported`, `argument`.
---
---Titles of AudioCast, which old servers sent by UDP to a port of each listener (`x-audiocast-udpport`), are not
---supported: Icecast 2 sends its titles in the sound, and such packets do not reach a listener behind a router.
---@param options stream.Live365Options|false
function Stream:live365(options) end

---Sets the gain of the stream in dB, applied after its taps and before the gain of the session, without a click; kept
---over all starts and sessions. Sound that a session has decoded ahead, up to 1.5 s, is not affected; the same holds
---for taps. Raises `argument`.
---@param decibels number -90 to 12 dB (initially 0).
function Stream:set_gain(decibels) end

---Turns level measurement on or off (initially off); a measured stream is decoded even if no session plays it. Raises
---`argument`.
---@param on boolean
function Stream:meter(on) end

---Returns the levels of the 50 ms that are heard now, after taps and gain, in dBFS: root mean square and peak. A sine
---of full scale has -3.01 and 0; silence is `-math.huge`. Raises `argument` before `meter(true)`.
---@return { left: number, right: number, peak_left: number, peak_right: number }
function Stream:levels() end

---Records the stream from now on, independent of playback: the frames as the station sent them, each once, cut at frame
---boundaries. Returns when the first frame is on disk.
---
---A stopped stream is received for the recording only; a playing one may be paused and stopped during the recording.
---Several recordings share a connection. A recording ends after its `duration`, at `until`, with `stop`, with the
---script, and when the stream switches to another URL. Until then the file is called `NAME.part`; the next recording
---completes a part left by a process that was killed. Sound may be lost if the disk is full or gone:
---`recording_stopped` reports it.
---
---A file of a server (a show to download) is recorded byte for byte, as fast as server and disk allow: after a lost
---connection the missing bytes are requested, and the recording ends with the last byte. It can't be split, appended,
---decoded or recorded twice at once, nor played on the connection that records it (`stream.unsupported`); `until`
---limits it. With a `duration` the frames of MP3, AAC and Ogg are recorded up to it, without the tags of the file;
---other kinds can only be recorded whole, and are refused (`stream.unsupported`). A complete list of HLS is a file,
---too, whose frames are recorded. A file that plays is recorded from its beginning, by a connection of its own: the
---player's position does not matter to it, and it continues when the player stops.
---
---The files of a playlist are recorded in turn, each in a file of its own: `{track}` counts them, and `track` reports
---them. `duration` and `until` limit all of them together; no file begins after the end. A file that can't be received is
---left out: the recording ends with its error, in `recording_stopped`, after the other files.
---
---A recording of Ogg ends within a page: to a sample in Vorbis, Opus and WAV, to a packet in FLAC. A station that changes
---its format less than a second before the end begins no further file: the rest is a gap.
---
---An existing file is not replaced: `{n}` counts up from 1, or a number is added to the name. The path may contain the
---fields `{station}`, `{title}`, `{artist}`, `{track}` (the number of the file in the recording),
---`{start:%Y-%m-%d %H.%M}`, `{ext}` and `{n}`. A relative path begins in the folder of the configuration, else in the
---working folder.
---
---Raises the errors of `start`; `record.exists`, `record.write`, `record.disk_full`; `stream.in_use` (`reset` during
---another recording); `stream.unsupported` (options that a file does not support); `argument`.
---@async
---@param path? string Path of the file (default: the template of the configuration).
---@param options? stream.RecordOptions
---@return stream.Recording
function Stream:record(path, options) end

---Adds a tap: processes the sound with a function or an effect, after the existing taps, over all starts. A tapped
---stream is decoded even if no session plays it.
---
---The function is called with blocks of about 40 ms, ahead of playback, and may change them. It can't suspend
---(`task.cannot_suspend`). A block passes unchanged if the function overruns, which emits `tap_overrun`, at most once a
---second, or raises, which is logged and counted. A function that runs too long (`script.blocked`) is removed, with a
---warning. Raises `argument`, `script.objects`.
---@param what stream.Effect|fun(block: stream.Block) An effect, or a function of a block.
---@return stream.Tap
function Stream:tap(what) end

---Switches to another station. Omitted options keep their values, but user and password are not sent to another server,
---nor to another port or scheme of the same server.
---
---By default the stream switches at once, is started if it was stopped, and the function returns when the new station
---plays. The buffered sound of the old one is dropped; a session continues with the new one. Emits `connecting`,
---`buffering` and `started`, not `stopped`; on failure the event of the failure and `stopped`. Cancelling the routine
---stops the stream.
---
---With `start = false` playback continues; the next `start` switches, also from a pause and during playback. `url` is
---the old one until then, unless nothing is received.
---
---Raises `stream.url` (also the event `bad_content`), `stream.unsupported` (also the event `bad_content`);
---`stream.auth` (the station's password file can't be read); the errors of `start`; `argument`.
---@async
---@param url string A URL, or the name of a station of the configuration.
---@param options? stream.URLOptions
function Stream:set_url(url, options) end

---Sets the kind of content at the URL, from the next connection on. Raises `argument`.
---@param type "auto"|"raw"|"pls"|"m3u"
function Stream:set_type(type) end

---Sets the size of the buffer, from the next `start` on. Raises `argument`.
---@param blocks integer Blocks of 5 KiB, 10 to 100,000.
function Stream:set_buffer_blocks(blocks) end

---Sets the highest bit rate received where the station has several versions (HLS), from the next connection on: the
---best version up to it, else the lowest. Raises `argument`.
---@param rate integer kbit/s, 8 to 10,000.
function Stream:set_max_bit_rate(rate) end

---Sets the `User-Agent` header of requests, from the next connection on. Raises `argument`.
---@param name string
function Stream:set_user_agent(name) end

---Sets the longest time without data before a new connection, also for the open connection. Raises `argument`.
---@param time Duration The timeout, at least 1 s.
function Stream:set_data_timeout(time) end

---Sets the longest pause during which the stream is received. After it a station stops; a file keeps its position, and
---its connection is opened again from there when it resumes. The time starts with each pause, and does not run while an
---interruption has the speakers. Raises `argument`.
---@param time Duration 0: no limit.
function Stream:set_pause_timeout(time) end

---Sets the encoding of titles that are not UTF-8, from the next title on. Raises `argument`.
---@param name string A name that iconv knows, such as `"latin1"` or `"koi8-r"`.
function Stream:set_metadata_encoding(name) end

---Sets the sound to be buffered before a station plays, at most the size of the buffer; a waiting stream may start at
---once. Default: 0.7 s. Raises `argument`.
---@param time Duration
function Stream:set_buffer_wait(time) end

---Sets the policy for sound of a station that comes too late, from now on. `"skip"`: the sound that comes first is
---played, so that the stream is live again, and stretched by 0.5 % until 3 s are buffered, enough to outlast a short
---failure. `"keep"`: the stream waits for the sound that the connection may still bring, as recordings always do, and
---plays all of it, later, at its own pace. Raises `argument`.
---@param catch_up "skip"|"keep"
function Stream:set_catch_up(catch_up) end

---Sets the kind of the URL, file or station, from the next `start` on. Raises `argument`.
---@param is_file? boolean `true` for a file, `false` for a station; nil: detected.
function Stream:set_is_file(is_file) end

---Sets the sound to be buffered before a file plays; a waiting stream may start at once. Raises `argument`.
---@param time Duration
function Stream:set_buffer_wait_file(time) end

---Sets the sound of a file received ahead of `buffer_wait_file` before reception is limited to the pace of playback,
---from the next `start` on. Raises `argument`.
---@param time Duration
function Stream:set_throttle_bypass(time) end

---Sets user and password for basic authentication, from the next connection on; without arguments removes them. They
---can't be read back. Raises `argument`.
---@param user? string
---@param password? string
function Stream:set_auth(user, password) end

---Calls a function with the payload of every event of that name of the stream. Raises `argument`.
---@param event stream.EventName
---@param listener fun(payload: table)
---@return Subscription
function Stream:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event stream.EventName
---@param listener fun(payload: table)
---@return Subscription
function Stream:once(event, listener) end

---Waits for the next event of that name of the stream. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event stream.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload Nil after the timeout.
---@return "timeout"? why
function Stream:wait(event, timeout) end

return stream
