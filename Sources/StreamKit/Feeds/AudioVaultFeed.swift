internal import EventLoop

/// How the XML of an AudioVault system says what is played.
///
/// No public description of that XML is known. The names are those of what they mean, to be set to what a station's
/// feed has; elements may be at any depth, and attributes do as well. Times of day are those of the station's clock, in
/// milliseconds or seconds since midnight or as `14:05:09`.
public struct AudioVaultFeed: Sendable {
  /// What the elements are called; in any case of letters.
  public struct Elements: Sendable {
    /// One thing that is played, with the others in it.
    public var event = "event"
    /// Its title.
    public var title = "title"
    /// Who plays it.
    public var artist = "artist"
    /// When it begins.
    public var start = "start"
    /// How long it is.
    public var length = "length"

    /// The defaults.
    public init() {}
  }

  /// What times are counted in.
  public enum Unit: String, Sendable, CaseIterable {
    /// Milliseconds when a time is beyond 86,400; else what makes the nearest event nearer to now.
    case auto
    case milliseconds = "ms"
    case seconds = "s"
  }

  /// What the elements are called.
  public var elements = Elements()
  /// By how much the stream is behind the times in the feed; may be negative.
  public var delay = Duration.zero
  /// What times are counted in.
  public var unit = Unit.auto
  /// The station's clock.
  public let clock: StationClock

  /// The defaults, by the station's clock.
  public init(clock: StationClock) { self.clock = clock }

  /// Reads an answer that came `now`.
  func content(_ bytes: [UInt8], at now: WallTime) throws(FeedFlaw) -> FeedContent {
    guard let document = FeedText.document(bytes) else { throw .notXML }
    let name = FeedText.name(elements.event)
    let events = document.elements(named: name)
    guard !events.isEmpty else {
      throw .missing(name, in: document, hint: "name what the feed has: elements = { event = \"…\" }")
    }
    let found = events.prefix(FeedContent.entryLimit).map { event in
      Event(
        title: StreamTitle(
          artist: event.value(FeedText.name(elements.artist)),
          title: event.value(FeedText.name(elements.title))),
        start: event.value(FeedText.name(elements.start)).flatMap { FeedTime($0) },
        length: event.value(FeedText.name(elements.length)).flatMap { FeedTime($0, isLength: true) })
    }
    guard found.contains(where: { $0.start != nil }) else {
      // Without times it says what is played now.
      return FeedContent(entries: found.compactMap(\.title).prefix(1).map { FeedContent.Entry(title: $0) })
    }
    let inSeconds = unit == .seconds || unit == .auto && countsSeconds(found, at: now)
    let entries = found.compactMap { entry($0, inSeconds: inSeconds, at: now) }
    return FeedContent(
      entries: entries.enumerated().sorted { a, b in
        (a.element.start ?? now, a.offset) < (b.element.start ?? now, b.offset)
      }.map(\.element))
  }

  private struct Event {
    let title: StreamTitle?
    let start: FeedTime?
    let length: FeedTime?
  }

  private func entry(_ event: Event, inSeconds: Bool, at now: WallTime) -> FeedContent.Entry? {
    guard let title = event.title, let time = event.start?.duration(inSeconds: inSeconds) else { return nil }
    let start = clock.moment(time, near: now.advanced(by: .zero - delay)).advanced(by: delay)
    let length = event.length?.duration(inSeconds: inSeconds).flatMap { $0 > .zero ? $0 : nil }
    return FeedContent.Entry(title: title, start: start, end: length.map { start.advanced(by: $0) })
  }

  private func countsSeconds(_ events: [Event], at now: WallTime) -> Bool {
    guard !events.contains(where: { $0.start?.isBeyondSeconds == true }) else { return false }
    func nearest(_ inSeconds: Bool) -> Duration {
      events.compactMap { $0.start?.duration(inSeconds: inSeconds) }.map { time in
        let away = now.duration(to: clock.moment(time, near: now).advanced(by: delay))
        return away < .zero ? .zero - away : away
      }.min() ?? .zero
    }
    return nearest(true) <= nearest(false)
  }
}

/// A time of day or a length as a feed writes it: at most 24 hours.
private enum FeedTime {
  case number(Double)
  case clock(Duration)

  private static let day = 86_400.0

  init?(_ text: String, isLength: Bool = false) {
    let text = text.prefix(32)
    if let number = Double(text), number >= 0, number <= Self.day * 1000 {
      self = .number(number)
      return
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) ?? -1 }
    guard (2...3).contains(parts.count), parts.allSatisfy({ $0 >= 0 && $0 < 60 }) else { return nil }
    // `14:05` is a time of day, `3:25` a length.
    let places = parts.count == 2 && isLength ? [0] + parts : parts.count == 2 ? parts + [0] : parts
    let seconds = places[0] * 3600 + places[1] * 60 + places[2]
    guard seconds <= Self.day else { return nil }
    self = .clock(.nanoseconds(Int64(seconds * 1e9)))
  }

  var isBeyondSeconds: Bool {
    if case .number(let number) = self { return number > Self.day }
    return false
  }

  func duration(inSeconds: Bool) -> Duration? {
    switch self {
    case .clock(let time): return time
    case .number(let number):
      let seconds = inSeconds ? number : number / 1000
      return seconds <= Self.day ? .nanoseconds(Int64(seconds * 1e9)) : nil
    }
  }
}
