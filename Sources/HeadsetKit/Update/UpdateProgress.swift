/// How far an update is: acknowledged bytes, as a part of the image. Never falls, and is 1 only for an image that the
/// board has verified.
struct UpdateProgress {
  /// Less than this more is not told.
  private static let least = 0.001
  /// As much as all bytes are before they are verified.
  private static let unverified = 0.99

  private let size: Int
  /// What was told last.
  private(set) var fraction = 0.0

  /// - Parameter size: bytes of the image.
  init(of size: Int) { self.size = size }

  /// The board has so many bytes.
  /// - Returns: what is to be told, if anything.
  mutating func acknowledged(_ bytes: Int) -> Double? {
    rise(to: min(Double(bytes) / Double(size), Self.unverified))
  }

  /// The board has verified the image.
  mutating func verified() -> Double? { rise(to: 1) }

  private mutating func rise(to new: Double) -> Double? {
    guard new >= fraction + Self.least else { return nil }
    fraction = new
    return new
  }
}
