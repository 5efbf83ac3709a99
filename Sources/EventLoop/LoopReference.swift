/// A weak reference to an object of a loop, which closures carry through other threads.
///
/// Unchecked: `object` is written and read on the loop alone.
public final class LoopReference<Object: AnyObject>: @unchecked Sendable {
  /// The object, while it lives.
  public weak var object: Object?

  /// Creates a reference; to an object that is made later when it is nil.
  public init(_ object: Object? = nil) { self.object = object }
}
