/// Which byte of a file belongs to which time: places that are known, and straight lines between them.
struct SeekTable: Sendable, Equatable {
  struct Place: Sendable, Equatable {
    var byte: Double
    /// From the first frame on, with what the encoder put in front.
    var seconds: Double
  }

  private let places: [Place]

  /// - Parameter places: in order; those that go back in bytes or time are left out. Two at least, else there is none.
  init?(_ places: [Place]) {
    var kept: [Place] = []
    for place in places where place.byte.isFinite && place.seconds.isFinite {
      guard let last = kept.last else {
        kept.append(place)
        continue
      }
      if place.seconds > last.seconds, place.byte > last.byte { kept.append(place) }
    }
    guard kept.count > 1 else { return nil }
    self.places = kept
  }

  /// A file of one rate: `bytesPerSecond` from byte `start` on.
  init?(start: Int, bytesPerSecond: Double) {
    guard bytesPerSecond > 0 else { return nil }
    self.init([
      Place(byte: Double(start), seconds: 0), Place(byte: Double(start) + bytesPerSecond, seconds: 1),
    ])
  }

  /// The byte at a time; the last line goes on.
  func byte(at seconds: Double) -> Double {
    let (from, to) = line { $0.seconds <= seconds }
    return from.byte + (seconds - from.seconds) * (to.byte - from.byte) / (to.seconds - from.seconds)
  }

  /// The time at a byte; the last line goes on.
  func seconds(at byte: Double) -> Double {
    let (from, to) = line { $0.byte <= byte }
    return from.seconds + (byte - from.byte) * (to.seconds - from.seconds) / (to.byte - from.byte)
  }

  /// The places around what is behind all those that `isBefore` holds for.
  private func line(_ isBefore: (Place) -> Bool) -> (Place, Place) {
    let behind = places.firstIndex { !isBefore($0) } ?? places.count
    let second = min(max(1, behind), places.count - 1)
    return (places[second - 1], places[second])
  }
}
