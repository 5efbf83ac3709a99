/// A weak reference to an object of a loop, which closures carry through other threads.
///
/// Unchecked: `object` is written and read on the loop only.
public final class LoopReference<Object: AnyObject>: @unchecked Sendable {
  /// The object, while it lives.
  public weak var object: Object?

  /// Creates a reference; nil for an object that is created later.
  public init(_ object: Object? = nil) { self.object = object }
}
