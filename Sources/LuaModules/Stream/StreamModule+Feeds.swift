internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Playback
internal import Reception
internal import Scheduling
internal import StreamCore

/// Titles that a station publishes beside the stream: `radio:audiovault{…}`, `radio:live365{…}`.
extension StreamModule {
  func defineFeeds() {
    streams.method(ofStream: "audiovault", arity: 1) { [unowned self] stream, call in
      try setFeed(of: stream, call, ["url", "timezone", "delay", "elements", "times"]) { given in
        .audioVault(try audioVault(given, call))
      } isSame: {
        if case .audioVault = $0 { true } else { false }
      }
    }
    streams.method(ofStream: "live365", arity: 1) { [unowned self] stream, call in
      try setFeed(of: stream, call, ["url"]) { _ in
        .live365
      } isSame: {
        if case .live365 = $0 { true } else { false }
      }
    }
  }

  /// Sets the feed of a stream: new settings replace the present feed, `false` ends a feed of this kind.
  private func setFeed(
    of stream: Playback.Stream, _ call: LuaCall, _ options: [String],
    reader: (LuaOptions) throws -> Feed.Reader, isSame: (Feed.Reader) -> Bool
  ) throws -> LuaReturn {
    let value = call.value(2)
    if case .bool(false) = value {
      if let feed = stream.feed, isSame(feed.reader) { stream.feed = nil }
      return .none
    }
    let given = try call.options(2, options)
    guard let url = try given.string("url", .url) else {
      throw given.problem("url", "it is missing: where the feed is")
    }
    let reader = try reader(given)
    let address = try StreamAddress(url)
    guard !address.scheme.isRTSP else {
      throw StreamError(
        .unsupported, "a feed can't be fetched by \(address.scheme.rawValue)://",
        hint: "use http:// or https://",
        facts: [
          .init("url", .string(address.description)), .init("scheme", .string(address.scheme.rawValue)),
        ])
    }
    stream.feed = try Feed(address, reader: reader, loop: script.loop) { [weak script] event in
      guard let script else { return }
      let field = ("url", address.description)
      switch event {
      case .failed(let error): script.onLog(.warn, error.message, [("code", error.code), field])
      case .recovered: script.onLog(.info, "the feed can be used again", [field])
      }
    }
    return .none
  }

  private func audioVault(_ given: LuaOptions, _ call: LuaCall) throws -> AudioVaultFeed {
    var feed = AudioVaultFeed(clock: try clock(given))
    if let delay = try delay(given) { feed.delay = delay }
    if let times = try given.string("times", .name) {
      guard let unit = AudioVaultFeed.Unit(rawValue: times) else {
        throw given.problem(
          "times", unknown("unit", times, among: AudioVaultFeed.Unit.allCases.map(\.rawValue)))
      }
      feed.unit = unit
    }
    guard let value = given["elements"] else { return feed }
    let names = try given.nested("elements", value, ["event", "title", "artist", "start", "length"])
    func name(_ key: String, _ part: WritableKeyPath<AudioVaultFeed.Elements, String>) throws {
      guard let text = try names.string(key) else { return }
      guard !text.isEmpty, text.utf8.count <= 64 else {
        throw names.problem(key, "the name of an element expected, of 1 to 64 letters")
      }
      feed.elements[keyPath: part] = text
    }
    try name("event", \.event)
    try name("title", \.title)
    try name("artist", \.artist)
    try name("start", \.start)
    try name("length", \.length)
    return feed
  }

  /// The delay, which may be negative: the clocks of some stations are slow.
  private func delay(_ given: LuaOptions) throws -> Duration? {
    try given.seconds("delay", in: -3600...3600).map { Duration(inSeconds: $0) }
  }

  // MARK: Time zones

  /// Zones by the abbreviations of their clocks, which stand for the zone with its daylight-saving time.
  private static let abbreviations = [
    "EST": "America/New_York", "EDT": "America/New_York", "ET": "America/New_York",
    "CST": "America/Chicago", "CDT": "America/Chicago", "CT": "America/Chicago",
    "MST": "America/Denver", "MDT": "America/Denver", "MT": "America/Denver",
    "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "PT": "America/Los_Angeles",
    "AKST": "America/Anchorage", "AKDT": "America/Anchorage", "HST": "Pacific/Honolulu",
    "HDT": "America/Adak",
    "AST": "America/Puerto_Rico", "SST": "Pacific/Pago_Pago", "CHST": "Pacific/Guam",
  ]

  private func clock(_ given: LuaOptions) throws -> StationClock {
    guard let name = try given.string("timezone", .name) else {
      let zone = ProcessZone()
      return StationClock { zone.offset(at: $0) }
    }
    do throws(ScheduleError) {
      let zone = try ZoneFile(meaning: Self.abbreviations[name.uppercased()] ?? name)
      return StationClock { zone.offset(at: $0) }
    } catch {
      if !ZoneFile.zones(abbreviated: name).isEmpty {
        throw given.problem("timezone", error.message, hint: error.hint)
      }
      let known = ZoneFile.names() + Self.abbreviations.keys
      let city = known.first { $0.lowercased().hasSuffix("/" + name.lowercased()) }
      if let near = city ?? nearest(name, among: known) {
        throw given.problem("timezone", "no time zone is called '\(name)'; did you mean '\(near)'?")
      }
      throw given.problem("timezone", error.message, hint: error.hint)
    }
  }
}
