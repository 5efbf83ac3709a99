/// A compressed frame, found in a stream of bytes.
public struct EncodedFrame: Sendable, Equatable {
  /// The byte of the stream at which its header starts.
  public let offset: Int
  /// The length in bytes, with header and checksum.
  public let length: Int
  /// The number of bytes before the coded sound: the header, and the checksum where there is one.
  public let headerLength: Int
  /// The sample rate in Hz, from the header. AAC with spectral band replication may decode to twice that
  /// rate.
  public let sampleRate: Int
  /// The channels, from the header; AAC with parametric stereo states 1 and decodes to 2. 0 when an AAC frame
  /// describes its channels inside.
  public let channels: Int
  /// The number of PCM frames of its sound at `sampleRate`.
  public let samples: Int
}

/// The properties of a frame header that a framing needs.
protocol FrameHeader: Sendable {
  /// The length of a header in bytes.
  static var size: Int { get }
  /// The length of the longest frame in bytes.
  static var longest: Int { get }

  /// Reads the header in the `size` bytes from `index` on; nil when they are not a header.
  init?(_ bytes: [UInt8], at index: Int)

  /// The codec of the frame.
  var codec: Codec { get }
  /// The number of bytes from this header to the next one; nil in free format while that distance is not
  /// known.
  var frameLength: Int? { get }
  /// The length in bytes of the shortest frame that occurs in practice.
  var shortestFrame: Int { get }
  /// The number of bytes before the coded sound.
  var headerLength: Int { get }
  /// The sample rate in Hz.
  var sampleRate: Int { get }
  var channels: Int { get }
  /// The number of PCM frames in one frame.
  var samplesPerFrame: Int { get }

  /// `true` if both may occur in one stream.
  func agrees(with other: Self) -> Bool
  /// Returns this header, in free format with the length of `other`.
  func following(_ other: Self) -> Self
  /// Returns this header, in free format with the next header `distance` bytes away.
  func spanning(_ distance: Int) -> Self
}

/// Whole frames of compressed sound, in the order of a stream.
///
/// Used on the thread of the decoder that reads it.
public protocol FrameSource: AnyObject {
  /// Returns the bytes of the next frame; nil when no frame is available now.
  func nextFrame() -> [UInt8]?
}
