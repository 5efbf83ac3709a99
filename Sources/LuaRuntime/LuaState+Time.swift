internal import CLuaShim
internal import EventLoop

/// The time that the code of a state has used.
public struct LuaUsage: Sendable, Equatable {
  /// The processor time of its code.
  public var busy = Duration.zero
  /// The longest time without suspending, in which nothing else on the loop ran: elapsed time, including time
  /// in which the system used the processor for something else.
  public var longestHold = Duration.zero
  /// The `file:line` during the longest hold; nil when the hold was short, or the line is unknown.
  public var longestHoldLocation: String?

  /// Creates a usage of zero.
  public init() {}
}

extension LuaState {
  /// Starts to measure the time of the code, for `usage` and `onHold`. Has an effect only in a state with a
  /// watchdog.
  public func measureTime() { shim_measure(shim) }

  /// The time that the code has used since `measureTime`.
  public var usage: LuaUsage {
    var usage = LuaUsage()
    guard !isClosed, let raw = shim_usage_of(shim) else { return usage }
    usage.busy = .nanoseconds(Int64(clamping: raw.pointee.busy))
    usage.longestHold = .nanoseconds(Int64(clamping: raw.pointee.longest))
    usage.longestHoldLocation = Self.location(raw.pointee.longest_at)
    return usage
  }

  /// Reports the slice that has just ended.
  func reportHold() {
    guard let raw = shim_usage_of(shim) else { return }
    let (time, location) = (raw.pointee.last, Self.location(raw.pointee.last_at))
    for listener in holdListeners.all { listener(.nanoseconds(Int64(clamping: time)), location) }
  }

  private static func location<Text>(_ text: Text) -> String? {
    let bytes = withUnsafeBytes(of: text) { $0.prefix { $0 != 0 }.map { $0 } }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// Makes the watchdog write `text` into the file at `path` when the code has run for half of the time after
  /// which the watchdog ends the process. The file is removed when the code suspends or ends: it stays when
  /// the process ends before that.
  /// - Returns: `false` for a path that is too long.
  @discardableResult
  public func setMark(path: String, text: String) -> Bool { shim_set_mark(shim, path, text) }
}
