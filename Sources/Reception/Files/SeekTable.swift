/// Maps times to bytes of a file: known points, and straight lines between them.
struct SeekTable: Sendable, Equatable {
  struct Point: Sendable, Equatable {
    var byte: Double
    /// The time from the first frame on, with the encoder's delay.
    var seconds: Double
  }

  private let points: [Point]

  /// Creates a table of at least two points; nil for fewer points.
  /// - Parameter points: the points in order; points that go back in bytes or time are left out.
  init?(_ points: [Point]) {
    var kept: [Point] = []
    for point in points where point.byte.isFinite && point.seconds.isFinite {
      guard let last = kept.last else {
        kept.append(point)
        continue
      }
      if point.seconds > last.seconds, point.byte > last.byte { kept.append(point) }
    }
    guard kept.count > 1 else { return nil }
    self.points = kept
  }

  /// Creates the table of a constant rate: `bytesPerSecond` from byte `start` on.
  init?(start: Int, bytesPerSecond: Double) {
    guard bytesPerSecond > 0 else { return nil }
    self.init([
      Point(byte: Double(start), seconds: 0), Point(byte: Double(start) + bytesPerSecond, seconds: 1),
    ])
  }

  /// Returns the byte at a time; the last line is extended.
  func byte(at seconds: Double) -> Double {
    let (from, to) = line { $0.seconds <= seconds }
    return from.byte + (seconds - from.seconds) * (to.byte - from.byte) / (to.seconds - from.seconds)
  }

  /// Returns the time at a byte; the last line is extended.
  func seconds(at byte: Double) -> Double {
    let (from, to) = line { $0.byte <= byte }
    return from.seconds + (byte - from.byte) * (to.seconds - from.seconds) / (to.byte - from.byte)
  }

  /// Returns the points around the first position for which `isBefore` does not hold.
  private func line(_ isBefore: (Point) -> Bool) -> (Point, Point) {
    let behind = points.firstIndex { !isBefore($0) } ?? points.count
    let second = min(max(1, behind), points.count - 1)
    return (points[second - 1], points[second])
  }
}
