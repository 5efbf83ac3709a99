public import EventLoop
internal import HTTP
internal import LuaRuntime

/// What the streams of all scripts of an engine share: the network thread, which begins with the first of them.
/// Confined to the loop.
public final class StreamService {
  private let loop: EventLoop
  private var thread: NetworkThread?

  /// No thread yet.
  public init(loop: EventLoop) { self.loop = loop }

  /// The thread that receives.
  /// - Throws: `simulate.not_here`; `http.system` when the system gives no thread.
  func network() throws -> NetworkThread {
    guard !loop.isVirtual else {
      throw LuaError(
        code: "simulate.not_here", message: "a stream is outside of the simulation",
        hint: "guard it with pcall, or run the script for real")
    }
    if let thread { return thread }
    let new = try NetworkThread()
    thread = new
    return new
  }

  /// Ends the thread, and with it all that is received.
  public func close() {
    thread?.close()
    thread = nil
  }
}
