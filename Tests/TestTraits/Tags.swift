public import Testing

/// The tags of suites: one for each Lua module, and one for each capability. `scripts/dev/tags` finds suites by them.
extension Tag {
  // MARK: Lua modules
  /// The house of speakers: devices, groups, sessions and their events.
  @Tag public static var speaker: Tag
  /// Internet radio and files that are played.
  @Tag public static var stream: Tag
  /// The library of recordings.
  @Tag public static var recordings: Tag
  /// Headsets: their connection, sound and firmware.
  @Tag public static var headset: Tag
  /// Tasks, programs and waiting.
  @Tag public static var task: Tag
  /// Jobs, their times and the memory of their runs.
  @Tag public static var schedule: Tag
  /// Log lines.
  @Tag public static var log: Tag
  /// Values that scripts keep.
  @Tag public static var store: Tag
  /// Brokers of MQTT and their messages.
  @Tag public static var mqtt: Tag
  /// Buttons and other inputs.
  @Tag public static var trigger: Tag
  /// Transfers over HTTP, below streams and for scripts.
  @Tag public static var http: Tag
  /// JSON as values and text.
  @Tag public static var json: Tag
  /// Alarms.
  @Tag public static var alarm: Tag
  /// Announcements.
  @Tag public static var announce: Tag
  /// Equalizer presets.
  @Tag public static var eq: Tag
  /// Fades of levels over minutes.
  @Tag public static var fade: Tag
  /// Music that follows from room to room.
  @Tag public static var follow: Tag
  /// The whole house in one group for a time.
  @Tag public static var party: Tag
  /// Remotes and knobs for a room.
  @Tag public static var remote: Tag
  /// Scheduled recordings.
  @Tag public static var recorder: Tag
  /// Scenes: levels and groups by name.
  @Tag public static var scene: Tag
  /// Music that ends after a time.
  @Tag public static var sleepTimer: Tag
  /// Groups by name.
  @Tag public static var zone: Tag

  // MARK: Speakers
  /// Speakers that are found, come and go, and are looked up.
  @Tag public static var discovery: Tag
  /// Groups, roles, balance and their changes.
  @Tag public static var groups: Tag
  /// Several sessions in one house, and their rules.
  @Tag public static var sessions: Tag
  /// Playing, pausing, ending, and the events of it.
  @Tag public static var playback: Tag
  /// Queues of files and their seams.
  @Tag public static var queue: Tag
  /// Levels, mute and the law of levels.
  @Tag public static var volume: Tag
  /// Gain that changes over time.
  @Tag public static var fades: Tag
  /// Equalizers of speakers, sessions, streams and headsets.
  @Tag public static var equalizer: Tag
  /// Interruptions, and sound over the music.
  @Tag public static var interruption: Tag
  /// States that are taken and restored.
  @Tag public static var snapshot: Tag
  /// Events and their listeners.
  @Tag public static var events: Tag
  /// The sound of the speakers, sample by sample and in time.
  @Tag public static var rendering: Tag
  /// Sound cards and their clocks.
  @Tag public static var cards: Tag
  /// Cards and files as outputs, and their failures.
  @Tag public static var outputs: Tag
  /// Behaviour of every driver.
  @Tag public static var drivers: Tag
  /// The driver of snapservers.
  @Tag public static var snapcast: Tag
  /// The driver of hubs.
  @Tag public static var hub: Tag

  // MARK: Doors to the outside
  /// Devices, states and commands of Home Assistant.
  @Tag public static var homeAssistant: Tag

  // MARK: Streams and recordings
  /// Playlists, lists of files and addresses.
  @Tag public static var playlists: Tag
  /// Lists of segments.
  @Tag public static var hls: Tag
  /// Vorbis, Opus and FLAC in Ogg.
  @Tag public static var ogg: Tag
  /// Decoders, framings and containers.
  @Tag public static var codecs: Tag
  /// Files, on disk and received.
  @Tag public static var files: Tag
  /// Titles in streams, feeds and tags.
  @Tag public static var titles: Tag
  /// The opening of connections, and their states.
  @Tag public static var connection: Tag
  /// Lost and stalled connections.
  @Tag public static var reconnection: Tag
  /// Connections joined without a gap.
  @Tag public static var stitching: Tag
  /// Moves within the buffer of a stream.
  @Tag public static var timeShift: Tag
  /// Meters, bands and functions on the sound.
  @Tag public static var taps: Tag
  /// Recordings and their files.
  @Tag public static var recording: Tag
  /// State and files after a process was killed.
  @Tag public static var recovery: Tag

  // MARK: Headsets
  /// The bytes and messages between host and headset.
  @Tag public static var link: Tag
  /// The emulated headset.
  @Tag public static var board: Tag
  /// Firmware files and updates.
  @Tag public static var firmware: Tag

  // MARK: The program
  /// Commands of the shell.
  @Tag public static var command: Tag
  /// The configuration file.
  @Tag public static var configuration: Tag
  /// The daemon and its scripts.
  @Tag public static var daemon: Tag
  /// The control socket.
  @Tag public static var control: Tag
  /// The server of the page, and webhooks.
  @Tag public static var page: Tag
  /// Causes: history and why.
  @Tag public static var history: Tag
  /// The prompt, its keys and its screen.
  @Tag public static var prompt: Tag
  /// Virtual time, simulated stations and triggers.
  @Tag public static var simulation: Tag
  /// The page with the picture of a week.
  @Tag public static var weekPage: Tag
  /// Times and jobs of cron.
  @Tag public static var cron: Tag
  /// Mistakes that show before a script runs.
  @Tag public static var check: Tag
  /// Checks of the system.
  @Tag public static var doctor: Tag
  /// Completion in shells and at the prompt.
  @Tag public static var completion: Tag
  /// Help, manual and definitions.
  @Tag public static var help: Tag
  /// Specs in Lua.
  @Tag public static var specs: Tag
  /// Errors, their texts and codes.
  @Tag public static var error: Tag

  // MARK: The ground
  /// Lua states, arguments, routines and the standard library.
  @Tag public static var scripts: Tag
  /// Limits of time and memory.
  @Tag public static var limits: Tag
  /// The loop, and values from other threads.
  @Tag public static var loop: Tag
  /// Clocks, durations and zones.
  @Tag public static var time: Tag
  /// The databases.
  @Tag public static var database: Tag
  /// Hostile input of networks, files and scripts.
  @Tag public static var hostile: Tag
}
