/// What a simulated station does of itself, in the order of time.
struct StationAgenda {
  /// What has happened since it was asked last.
  struct News: Equatable {
    /// The title may be another.
    var isChange = false
    /// Connections were closed.
    var closes = false
    /// Nothing came all the time.
    var isSilent = false
  }

  private let station: SimulatedStation
  private let changes: [Duration]
  private var seen = 0
  private var wasSilent = false

  init(_ station: SimulatedStation) {
    self.station = station
    changes = (station.titles.map(\.at) + station.drops.flatMap { [$0.at, $0.end] }).sorted()
  }

  /// When something happens next.
  var next: Duration? { seen < changes.count ? changes[seen] : nil }

  /// Nothing comes of a connection that stands.
  func isSilent(at time: Duration) -> Bool { station.drop(at: time)?.answer == .silence }

  /// Goes on to `time`.
  mutating func advance(to time: Duration) -> News {
    var news = News()
    while let change = next, change <= time {
      seen += 1
      news.isChange = true
      news.closes = news.closes || station.drops.contains { $0.at == change && $0.answer != .silence }
    }
    let isSilent = isSilent(at: time)
    news.isSilent = wasSilent && isSilent
    wasSilent = isSilent
    return news
  }
}
