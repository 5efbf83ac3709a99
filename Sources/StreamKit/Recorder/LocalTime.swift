public import EventLoop
internal import Glibc

/// A moment, and what the clocks of a place show then.
public struct LocalTime: Sendable, Hashable {
  /// The moment.
  public let moment: WallTime
  /// How far the clocks are ahead of UTC, in seconds.
  public let offset: Int

  /// A moment in a place whose clocks are `offset` seconds ahead of UTC.
  public init(_ moment: WallTime, offset: Int) { (self.moment, self.offset) = (moment, offset) }

  /// A moment in the zone of this process, from `TZ` or `/etc/localtime`. Any thread.
  public init(_ moment: WallTime) {
    var (time, fields) = (time_t(moment.seconds), tm())
    self.init(moment, offset: localtime_r(&time, &fields) == nil ? 0 : fields.tm_gmtoff)
  }

  /// What calendar and clock show, in a form of strftime(3) without `%Z`, `%z` and `%s`.
  public func formatted(_ format: String) -> String {
    var (time, fields) = (time_t(moment.seconds) + time_t(offset), tm())
    guard gmtime_r(&time, &fields) != nil else { return "" }
    var buffer = [CChar](repeating: 0, count: 1024)
    let count = strftime(&buffer, buffer.count, format, &fields)
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
