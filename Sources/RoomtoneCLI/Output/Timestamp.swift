internal import EventLoop
internal import Glibc
internal import Scheduling

/// Times as text for programs.
enum Timestamp {
  /// Current time.
  static var now: WallTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(seconds: Int64(time.tv_sec)).advanced(by: .nanoseconds(time.tv_nsec))
  }

  /// Returns a time in the format of RFC 3339: `2026-01-05T06:45:00+01:00`.
  static func text(_ time: WallTime, in zone: any LocalZone = ProcessZone()) -> String {
    text(zone.local(time), offset: zone.offset(at: Int(time.seconds)))
  }

  /// Returns a local time, `offset` seconds ahead of UTC, in the format of RFC 3339.
  static func text(_ local: LocalDateTime, offset: Int) -> String {
    let hours = clock(abs(offset)).dropLast(3)
    return "\(local.date)T\(clock(local.time.seconds))\(offset < 0 ? "-" : "+")\(hours)"
  }

  /// Returns seconds of a day as `06:45:00`.
  static func clock(_ seconds: Int) -> String {
    [seconds / 3600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(
      separator: ":")
  }
}
