public import EventLoop
internal import Glibc

/// A point in time, with the local offset from UTC.
public struct LocalTime: Sendable, Hashable {
  /// The point in time.
  public let moment: WallTime
  /// The lead of the local clocks over UTC, in seconds.
  public let offset: Int

  /// Creates the time at a place whose clocks are `offset` seconds ahead of UTC.
  public init(_ moment: WallTime, offset: Int) { (self.moment, self.offset) = (moment, offset) }

  /// Creates the time in the zone of this process, from `TZ` or `/etc/localtime`. Any thread.
  public init(_ moment: WallTime) {
    var (time, fields) = (time_t(moment.seconds), tm())
    self.init(moment, offset: localtime_r(&time, &fields) == nil ? 0 : fields.tm_gmtoff)
  }

  /// Returns the local date and time in a format of strftime(3) without `%Z`, `%z` and `%s`.
  public func formatted(_ format: String) -> String {
    var (time, fields) = (time_t(moment.seconds) + time_t(offset), tm())
    guard gmtime_r(&time, &fields) != nil else { return "" }
    var buffer = [CChar](repeating: 0, count: 1024)
    let count = strftime(&buffer, buffer.count, format, &fields)
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
