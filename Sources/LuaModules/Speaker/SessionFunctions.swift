internal import AudioCore
internal import EventLoop
internal import LuaRuntime
internal import SpeakerKit

/// What a session can do: methods of a session, and functions of the module for the default one.
struct SessionFunctions {
  let name: String
  /// Whether a session that was closed answers too, as one that is stopped.
  var onlyLooks = false
  /// The number is that of the first argument after the session.
  let body: (Session, LuaCall, Int) throws -> LuaReturn

  static func all(_ module: SpeakerModule) -> [SessionFunctions] {
    [
      SessionFunctions(name: "play") { [unowned module] session, call, first in
        try play(session, call, first, module.script)
      },
      SessionFunctions(name: "play_stream") { [unowned module] session, call, first in
        try module.playStream(session, call, first)
      },
      SessionFunctions(name: "pause") { session, _, _ in
        session.pause()
        return .none
      },
      SessionFunctions(name: "resume") { session, _, _ in
        try session.resume()
        return .none
      },
      SessionFunctions(name: "stop") { session, _, _ in
        session.stop()
        return .none
      },
      SessionFunctions(name: "state", onlyLooks: true) { session, call, _ in
        call.return(.string(session.state.rawValue))
      },
      SessionFunctions(name: "is_playing", onlyLooks: true) { session, call, _ in
        call.return(session.state == .playing)
      },
      SessionFunctions(name: "position", onlyLooks: true) { session, call, _ in
        call.return(.number(seconds(session.position, session)))
      },
      SessionFunctions(name: "duration", onlyLooks: true) { session, call, _ in
        call.return(.optional(session.duration.map { seconds($0, session) }))
      },
      SessionFunctions(name: "seek") { session, call, first in
        try session.seek(toSeconds: try call.number(first))
        return .none
      },
      SessionFunctions(name: "set_gain") { session, call, first in
        try session.setGain(try call.number(first, in: Session.gainRange))
        return .none
      },
      SessionFunctions(name: "set_eq") { session, call, first in
        try session.setEqualizer(try call.equalizer(first))
        return .none
      },
      SessionFunctions(name: "eq", onlyLooks: true) { session, call, _ in
        let gains = session.equalizer
        let bands = zip(EqualizerGains.bands, gains.decibels).map { (key: $0, value: LuaValue.number($1)) }
        let preset = EqualizerGains.presets.first { $0.gains == gains }
        return call.return(.numbered(bands), .optional(preset?.name))
      },
      SessionFunctions(name: "fade", body: fade),
      SessionFunctions(name: "finish", onlyLooks: true) { session, call, first in
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

  /// `fade{to=, over=, gain= or volume=}`: a gain in dB, or the members' volume. `to` stands for the one that is not
  /// named, as a volume.
  private static func fade(_ session: Session, _ call: LuaCall, _ first: Int) throws -> LuaReturn {
    let options = try call.options(first, ["to", "over", "gain", "volume"])
    guard let over = try options.duration("over") else {
      throw options.problem("over", "a duration is missing")
    }
    let gain = try options.number("gain", in: Session.gainRange)
    let volume = try options.int("volume", in: 0...House.maximumVolume)
    let to = try options.int("to", in: 0...House.maximumVolume)
    guard [gain != nil, volume != nil, to != nil].count(where: { $0 }) == 1 else {
      throw call.problem(first, "one of gain, volume and to expected")
    }
    return try call.suspend {
      if let gain {
        try await session.fade(gain: gain, over: over)
      } else if let level = volume ?? to {
        try await session.fade(volume: level, over: over)
      }
      return []
    }
  }

  private static func seconds(_ frames: Int, _ session: Session) -> Double {
    Double(frames) / Double(session.format.sampleRate)
  }

  private static func play(_ session: Session, _ call: LuaCall, _ first: Int, _ script: Script) throws
    -> LuaReturn
  {
    let given = try call.nameText(first)
    let options = try call.options(first + 1, ["title", "start", "resume", "priority", "loop"])
    let start = try options.number("start", in: 0...1e9) ?? 0
    let priority = try options.int("priority", in: 0...1000)
    let loops = try options.bool("loop") ?? false
    let title = try options.string("title")
    if try options.bool("resume") ?? false, session.state == .paused {
      try session.resume()
      return .none
    }
    let path = script.path(of: given)
    return try call.suspend {
      try await session.play(path, title: title, start: start, loops: loops, priority: priority)
      return []
    }
  }
}
