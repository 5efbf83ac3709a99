internal import EventLoop
internal import LuaRuntime
internal import RecordingKit
internal import Scheduling

extension LuaCall {
  /// The options of `record`.
  /// - Parameters:
  ///   - minimumFree: the bytes that stay free on the disk, unless the options say otherwise.
  func recordingOptions(
    _ number: Int, minimumFree: Int, zone: any LocalZone, now: WallTime
  ) throws -> RecordingOptions {
    let given = try options(
      number,
      [
        "append", "continue", "reset", "split", "tags", "duration", "until", "pad_before", "pad_after",
        "back",
        "resume_when_space", "format", "min_free", "job",
      ])
    var options = RecordingOptions(template: "")
    options.appends = try given.bool("append") ?? false
    options.continues = try given.bool("continue") ?? false
    if options.continues { options.appends = true }
    options.resets = try given.bool("reset") ?? false
    options.hasTags = try given.bool("tags") ?? true
    options.resumesWhenSpace = try given.bool("resume_when_space") ?? false
    options.duration = try given.duration("duration")
    if let duration = options.duration, duration <= .zero {
      throw given.problem("duration", "more than 0 s expected")
    }
    options.until = try given.moment("until", zone: zone, now: now)
    if options.until != nil, options.duration != nil {
      throw given.problem("until", "either duration or until expected, got both")
    }
    options.padBefore = try given.duration("pad_before") ?? .zero
    options.padAfter = try given.duration("pad_after") ?? .zero
    options.back = try given.duration("back") ?? .zero
    options.split = try given.split("split")
    if let format = try given.string("format", .name) {
      guard let known = RecordingOptions.Format(rawValue: format) else {
        let names = RecordingOptions.Format.allCases.map(\.rawValue)
        throw given.problem("format", unknown("format", format, among: names))
      }
      options.format = known
    }
    if options.format == .wav, options.appends {
      throw given.problem("append", "a WAV file can't be appended to")
    }
    if options.format == .wav, let split = options.split, split.overlap > .zero || split.offset != .zero {
      throw given.problem("split", "files of WAV have no offset and no overlap")
    }
    if options.appends, options.split != nil {
      throw given.problem("append", "either append or split expected, got both")
    }
    options.minimumFree = try given.byteSize("min_free") ?? minimumFree
    options.job = try given.string("job", .name)
    return options
  }
}

extension LuaOptions {
  /// `true`, or `{offset =, overlap =, min_length =}`; nil without splitting.
  fileprivate func split(_ name: String) throws -> RecordingOptions.Split? {
    switch self[name] {
    case nil, .nil?, .bool(false)?: return nil
    case .bool(true)?: return .init()
    case let value?:
      let given = try nested(name, value, ["offset", "overlap", "min_length"])
      var split = RecordingOptions.Split()
      if let offset = try given.seconds("offset", in: -30...30) {
        split.offset = Duration(inSeconds: offset)
      }
      split.overlap = try given.duration("overlap") ?? .zero
      guard split.overlap <= .seconds(30) else { throw given.problem("overlap", "at most 30 s expected") }
      split.minimumLength = try given.duration("min_length") ?? .zero
      return split
    }
  }

  /// A moment: seconds since 1970, or the time that the clock shows then.
  fileprivate func moment(_ name: String, zone: any LocalZone, now: WallTime) throws -> WallTime? {
    switch self[name] {
    case nil, .nil?: return nil
    case .string(let text)?:
      do {
        return try Recurrence.at(text, days: nil, now: now, in: zone).next(after: now, in: zone)
      } catch { throw problem(name, error.message, code: error.code, hint: error.hint) }
    default:
      guard let seconds = try number(name, in: 0...9e9) else { return nil }
      let moment = WallTime(inSeconds: seconds)
      guard moment > now else { throw problem(name, "a time in the future expected") }
      return moment
    }
  }
}
