internal import EventLoop
internal import StreamCore

/// Reads the XML of an AudioVault system. No public description of that XML is known. The default names are
/// guesses from their meaning, to be replaced by those of a station's feed; elements may be at any depth, and
/// attributes serve as well. Times of day are those of the station's clock, in milliseconds or seconds since
/// midnight or as `14:05:09`.
public struct AudioVaultFeed: Sendable {
  /// The names of the elements, in any case of letters.
  public struct Elements: Sendable {
    /// An item that is played, which holds the others.
    public var event = "event"
    /// The title of the item.
    public var title = "title"
    /// The artist of the item.
    public var artist = "artist"
    /// The time at which the item begins.
    public var start = "start"
    /// The length of the item.
    public var length = "length"

    /// Creates the default names.
    public init() {}
  }

  /// The unit of times.
  public enum Unit: String, Sendable, CaseIterable {
    /// Milliseconds when a time is beyond 86,400; otherwise the unit for which the nearest event is nearer to
    /// now.
    case auto
    case milliseconds = "ms"
    case seconds = "s"
  }

  /// The names of the elements.
  public var elements = Elements()
  /// The delay of the stream after the times in the feed; may be negative.
  public var delay = Duration.zero
  /// The unit of times.
  public var unit = Unit.auto
  /// The clock of the station.
  public let clock: StationClock

  /// Creates a reader with the defaults, by the station's clock.
  public init(clock: StationClock) { self.clock = clock }

  /// Parses an answer that came `now`.
  func content(_ bytes: [UInt8], at now: WallTime) throws(FeedFlaw) -> FeedContent {
    let fields = [elements.title, elements.artist, elements.start, elements.length].map(FeedText.name)
    let name = FeedText.name(elements.event)
    let names = FeedNames(event: name, fields: Set(fields))
    guard let document = FeedText.document(bytes, names) else { throw .notXML }
    let events = document.elements(named: name)
    guard !events.isEmpty else {
      throw .missing(name, in: document, hint: "name the elements of the feed: elements = { event = \"…\" }")
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
      // An answer without times names the current item.
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
    self = .clock(Duration(inSeconds: seconds))
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
      return seconds <= Self.day ? Duration(inSeconds: seconds) : nil
    }
  }
}
