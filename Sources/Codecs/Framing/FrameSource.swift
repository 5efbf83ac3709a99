/// Whole frames of compressed sound, in the order of a stream.
///
/// Used on the thread of the decoder that reads it.
public protocol FrameSource: AnyObject {
  /// Returns the bytes of the next frame; nil when there is none now.
  func nextFrame() -> [UInt8]?
}
