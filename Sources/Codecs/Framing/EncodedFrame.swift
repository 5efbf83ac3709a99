/// One compressed frame, found in a stream of bytes.
public struct EncodedFrame: Sendable, Equatable {
  /// Byte of the stream at which its header starts.
  public let offset: Int
  /// Bytes, with header and checksum.
  public let length: Int
  /// Bytes in front of the coded sound: the header, and the checksum where there is one.
  public let headerLength: Int
  /// In Hz, as the header tells. AAC with spectral band replication may decode to twice as much.
  public let sampleRate: Int
  /// As the header tells; AAC with parametric stereo tells 1 and decodes to 2. 0 when an AAC frame describes its
  /// channels inside.
  public let channels: Int
  /// PCM frames that it stands for at `sampleRate`.
  public let samples: Int
}

/// What a framing needs to know of a header.
protocol FrameHeader: Sendable {
  /// Bytes that a header takes.
  static var size: Int { get }
  /// Bytes that the longest frame takes.
  static var longest: Int { get }

  /// Reads the header whose `size` bytes start at `index`; nil when they are none.
  init?(_ bytes: [UInt8], at index: Int)

  /// Bytes from this header to the next one; nil in free format while that distance is not known.
  var frameLength: Int? { get }
  /// Bytes of the shortest frame that anybody would send.
  var shortestFrame: Int { get }
  /// Bytes in front of the coded sound.
  var headerLength: Int { get }
  /// In Hz.
  var sampleRate: Int { get }
  var channels: Int { get }
  /// PCM frames in one frame.
  var samplesPerFrame: Int { get }

  /// Whether both may stand in one stream.
  func agrees(with other: Self) -> Bool
  /// The same header, in free format with the length that `other` has.
  func following(_ other: Self) -> Self
  /// The same header, in free format with the next header `distance` bytes away.
  func spanning(_ distance: Int) -> Self
}
