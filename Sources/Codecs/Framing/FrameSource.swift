/// Whole frames of compressed sound, one after the other, as a stream brings them.
///
/// Used on the thread of the decoder that reads it.
public protocol FrameSource: AnyObject {
  /// The bytes of the next frame; nil when there is none now.
  func nextFrame() -> [UInt8]?
}
