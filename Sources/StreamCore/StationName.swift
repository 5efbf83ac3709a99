internal import EventLoop

/// The name sent by a station: written where it is received, read on the disk thread.
package final class StationName: Sendable {
  private let station = Lock<(name: String?, genre: String?)>((nil, nil))

  package init() {}

  /// The name sent by the station, or the one given to it.
  package var value: String? {
    get { station.withLock { $0.name } }
    set { station.withLock { $0.name = newValue } }
  }
  /// The genre sent by the station.
  package var genre: String? {
    get { station.withLock { $0.genre } }
    set { station.withLock { $0.genre = newValue } }
  }
}
