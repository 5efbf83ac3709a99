internal import AudioCore
internal import EventLoop
internal import Home
internal import LuaRuntime
internal import SpeakerKit

/// A function of sessions: a method of each, and a function of the module for the script's own one.
struct SessionFunctions {
  let name: String
  /// The largest number of its arguments.
  let arity: Int
  /// `true` if the function only reads: a closed session answers like a stopped one.
  var onlyLooks = false
  /// The function; the number is that of the first argument after the session.
  let body: (Session, LuaCall, Int) throws -> LuaReturn

  static func all(_ module: SpeakerModule) -> [SessionFunctions] {
    [
      SessionFunctions(name: "play", arity: 2) { [unowned module] session, call, first in
        module.prepare(toPlayOn: session)
        return try play(session, call, first, module)
      },
      SessionFunctions(name: "play_stream", arity: 2) { [unowned module] session, call, first in
        module.prepare(toPlayOn: session)
        return try module.playStream(session, call, first)
      },
      SessionFunctions(name: "pause", arity: 0) { session, _, _ in
        session.pause()
        return .none
      },
      SessionFunctions(name: "resume", arity: 0) { session, _, _ in
        try session.resume()
        return .none
      },
      SessionFunctions(name: "stop", arity: 0) { session, _, _ in
        session.stop()
        return .none
      },
      SessionFunctions(name: "state", arity: 0, onlyLooks: true) { session, call, _ in
        call.return(.string(session.state.rawValue))
      },
      SessionFunctions(name: "is_playing", arity: 0, onlyLooks: true) { session, call, _ in
        call.return(session.state == .playing)
      },
      SessionFunctions(name: "position", arity: 0, onlyLooks: true) { session, call, _ in
        call.return(.number(seconds(session.position, session)))
      },
      SessionFunctions(name: "duration", arity: 0, onlyLooks: true) { session, call, _ in
        call.return(.optional(session.duration.map { seconds($0, session) }))
      },
      SessionFunctions(name: "seek", arity: 1) { session, call, first in
        try session.seek(toSeconds: try call.position(first))
        return .none
      },
      SessionFunctions(name: "next", arity: 0) { session, _, _ in
        try session.next()
        return .none
      },
      SessionFunctions(name: "previous", arity: 0) { session, _, _ in
        try session.previous()
        return .none
      },
      SessionFunctions(name: "queue", arity: 0, onlyLooks: true) { session, call, _ in queue(session, call) },
      SessionFunctions(name: "set_gain", arity: 1) { session, call, first in
        try session.setGain(try call.number(first, in: Decibels.gainRange))
        return .none
      },
      SessionFunctions(name: "set_eq", arity: 1) { session, call, first in
        try session.setEqualizer(try call.equalizer(first))
        return .none
      },
      SessionFunctions(name: "eq", arity: 0, onlyLooks: true) { session, call, _ in
        let gains = session.equalizer
        let bands = zip(EqualizerGains.bands, gains.decibels).map { (key: $0, value: LuaValue.number($1)) }
        let preset = EqualizerGains.presets.first { $0.gains == gains }
        return call.return(.numbered(bands), .optional(preset?.name))
      },
      SessionFunctions(name: "fade", arity: 1, body: fade),
      SessionFunctions(name: "finish", arity: 1, onlyLooks: true) { session, call, first in
        let timeout = try call.optionalDuration(first)
        return try call.suspend {
          switch try await session.finish(timeout: timeout) {
          case .idle: []
          case .ended(let reason): [.string(reason.rawValue)]
          case .timeout: [.nil, .string("timeout")]
          }
        }
      },
    ]
  }

  /// `fade{to=, over=, gain= or volume=}`: a gain in dB, or the members' volume. `to` is another name for `volume`.
  private static func fade(_ session: Session, _ call: LuaCall, _ first: Int) throws -> LuaReturn {
    let options = try call.options(first, ["to", "over", "gain", "volume"])
    let over = try fadeTime(options)
    let gain = try options.number("gain", in: Decibels.gainRange)
    let levels = try volumes(options)
    guard levels.count + (gain == nil ? 0 : 1) == 1 else {
      throw call.problem(first, "one of gain, volume and to expected")
    }
    let level = levels.first
    return try call.suspend {
      if let gain {
        try await session.fade(gain: gain, over: over)
      } else if let level {
        try await session.fade(volume: level, over: over)
      }
      return []
    }
  }

  /// `fade{to= or volume=, over=}` of a speaker or a group.
  static func fade(
    _ call: LuaCall, _ body: @escaping (_ volume: Int, _ over: Duration) async throws -> Void
  ) throws -> LuaReturn {
    let options = try call.options(2, ["to", "over", "volume"])
    let over = try fadeTime(options)
    let levels = try volumes(options)
    guard levels.count == 1 else { throw call.problem(2, "one of volume and to expected") }
    let level = levels[0]
    return try call.suspend {
      try await body(level, over)
      return []
    }
  }

  private static func fadeTime(_ options: LuaOptions) throws -> Duration {
    guard let over = try options.duration("over") else {
      throw options.problem("over", "a duration is missing")
    }
    return over
  }

  /// The volumes at the end of a fade, under either name.
  private static func volumes(_ options: LuaOptions) throws -> [Int] {
    try ["volume", "to"].compactMap { try options.int($0, in: House.volumeRange) }
  }

  private static func seconds(_ frames: Int, _ session: Session) -> Double {
    Double(frames) / Double(session.format.sampleRate)
  }

  private static func play(
    _ session: Session, _ call: LuaCall, _ first: Int, _ module: SpeakerModule
  ) throws -> LuaReturn {
    let script = module.script
    let (paths, isList) = try paths(call, first, script)
    let options = try call.options(
      first + 1, ["title", "start", "resume", "priority", "loop", "shuffle", "rooms"])
    let start = try options.seconds("start", in: 0...1e9) ?? 0
    let priority = try options.int("priority", in: 0...1000)
    let loops = try options.bool("loop") ?? false
    let title = try options.string("title", .header)
    if try options.bool("resume") ?? false, session.state == .paused {
      try session.resume()
      return .none
    }
    let shuffles = try options.bool("shuffle") ?? false
    let rooms = try module.rooms(options)
    if !isList, let answer = try script.mounts.await(paths, call) { return answer }
    if isList || MusicFiles.isCollection(paths[0]) {
      if title != nil {
        throw options.problem("title", "a queue shows the titles of its files", hint: "leave it out")
      }
      let seed = shuffles ? call.randomBits() : nil
      return try call.suspend {
        try session.requireRooms(rooms, priority: priority)
        let files = try await MusicFiles.find(paths, on: script.loop)
        guard let queue = FileQueue(files, loops: loops, seed: seed) else { return [] }
        try await session.play(queue, start: start, rooms: rooms, priority: priority)
        module.logMissed(by: session)
        return []
      }
    }
    return try call.suspend {
      try await session.play(
        paths[0], title: title, start: start, loops: loops, rooms: rooms, priority: priority)
      module.logMissed(by: session)
      return []
    }
  }

  private static func paths(
    _ call: LuaCall, _ first: Int, _ script: Script
  ) throws -> (paths: [String], isList: Bool) {
    let given = call.value(first)
    // An argument of another type gets the usual message for arguments that are text.
    if call.state.list(given) == nil { _ = try call.string(first, .path) }
    return try paths(given, call.state, script) { call.problem(first, $0, hint: $1) }
  }

  /// Returns the paths of files, folders and playlists: one, or a list of them.
  /// - Parameter problem: makes the error of a message and a hint.
  static func paths(
    _ given: LuaValue, _ state: LuaState, _ script: Script, problem: (String, String?) -> any Error
  ) throws -> (paths: [String], isList: Bool) {
    if case .string(let path) = given {
      return ([try script.path(ofSound: path, problem)], false)
    }
    guard let list = state.list(given) else { throw problem("a file or a list of files expected", nil) }
    guard !list.isEmpty else { throw problem("the list has no files", nil) }
    let paths = try list.enumerated().map { index, value in
      guard case .string(let path) = value else {
        throw problem("[\(index + 1)]: the path of a file expected", nil)
      }
      return try script.path(ofSound: path) { problem("[\(index + 1)]: \($0)", $1) }
    }
    return (paths, true)
  }

  private static func queue(_ session: Session, _ call: LuaCall) -> LuaReturn {
    guard let (entries, index) = session.queue else { return call.return(.list([]), .nil) }
    let files = entries.map { entry in
      LuaValue.record([("path", .string(entry.path)), ("title", .string(entry.title))])
    }
    return call.return(.list(files), .int(index + 1))
  }
}
