/// The figures of a stream's buffer for scripts.
public struct StreamFigures: Sendable {
  /// The size in blocks of 5 KiB.
  public var size: Int
  /// The number of blocks that are not empty.
  public var used = 0
  /// The block that is heard.
  public var playing: Int?
  /// The seconds of unheard sound.
  public var buffered = 0.0
  /// The seconds that it holds when it is full, at the present rate.
  public var capacity = 0.0
  /// The distance from the newest sound in seconds.
  public var timeShift = 0.0
  /// The byte of the received sound that is heard.
  public var byteOffset: Int?
}

extension StreamFigures {
  /// Creates the figures of an empty buffer with that many blocks.
  package init(size: Int) { self.init(size: size, used: 0) }
}
