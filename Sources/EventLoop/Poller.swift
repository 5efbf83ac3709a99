internal import CLinux
internal import Glibc

/// Events of a file descriptor.
public struct FDEvents: OptionSet, Sendable, Hashable {
  /// The raw value: a bit for each event.
  public let rawValue: UInt8
  /// Creates the events of these bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A read would not block: there are bytes, or the end.
  public static let readable = FDEvents(rawValue: 1)
  /// A write would not block.
  public static let writable = FDEvents(rawValue: 2)
  /// The other side is gone. Reported without a request.
  public static let hangup = FDEvents(rawValue: 4)
  /// The descriptor is in error. Reported without a request.
  public static let failed = FDEvents(rawValue: 8)

  fileprivate init(kernel bits: UInt32) {
    var events: FDEvents = []
    if bits & UInt32(LINUX_POLL_IN) != 0 { events.insert(.readable) }
    if bits & UInt32(LINUX_POLL_OUT) != 0 { events.insert(.writable) }
    if bits & UInt32(LINUX_POLL_HANGUP) != 0 { events.insert(.hangup) }
    if bits & UInt32(LINUX_POLL_ERROR) != 0 { events.insert(.failed) }
    self = events
  }

  fileprivate var kernelBits: UInt32 {
    (contains(.readable) ? UInt32(LINUX_POLL_IN) : 0)
      | (contains(.writable) ? UInt32(LINUX_POLL_OUT) : 0)
  }
}

/// The loop's interface to the kernel: puts its thread to sleep and wakes it.
///
/// Confined to the loop's thread, except for `wake`. Source: epoll(7), timerfd_create(2), eventfd(2).
final class Poller {
  /// An event of a wait.
  enum Event {
    /// The civil alarm rang, or the wall clock was set.
    case civil
    case descriptor(token: UInt64, FDEvents)
  }

  private static let capacity = 64
  private static let wakeToken = UInt64.max
  private static let civilToken = UInt64.max - 1
  private static let alarmToken = UInt64.max - 2

  private let epoll: Int32
  private let bell: Int32
  /// A timer descriptor on CLOCK_REALTIME; created with the first civil timer.
  private var civil: Int32 = -1
  private var civilDue: Int64 = 0
  /// A timer descriptor on CLOCK_MONOTONIC, if the kernel has no `epoll_pwait2`.
  private var alarm: Int32 = -1
  private let buffer: UnsafeMutablePointer<epoll_event>

  /// - Parameter usesAlarm: `true` to use a timer descriptor for timeouts, as on kernels before 5.11.
  init(usesAlarm: Bool = false) {
    buffer = .allocate(capacity: Self.capacity)  // freed in deinit
    buffer.initialize(repeating: epoll_event(), count: Self.capacity)
    epoll = Self.opened(epoll_create1(Int32(LINUX_EPOLL_CLOEXEC)), "epoll_create1")
    bell = Self.opened(eventfd(0, Int32(LINUX_EVENTFD_FLAGS)), "eventfd")
    _ = epoll_control(epoll, EPOLL_CTL_ADD, bell, UInt32(LINUX_POLL_IN), Self.wakeToken)
    if usesAlarm { openAlarm() }
  }

  deinit {
    for fd in [epoll, bell, civil, alarm] where fd >= 0 { close(fd) }
    buffer.deallocate()
  }

  /// Returns `fd`, or ends the process with a message: a loop that can't sleep can't run, and
  /// `EventLoop.init` has no way to fail.
  private static func opened(_ fd: Int32, _ call: StaticString) -> Int32 {
    let reason = fd < 0 ? String(cString: strerror(errno)) : ""
    precondition(fd >= 0, "an event loop needs a descriptor, \(call) says: \(reason)")
    return fd
  }

  /// Adds `fd`. Returns 0, or an errno; EPERM for files that are always ready.
  func add(_ fd: Int32, _ events: FDEvents, token: UInt64) -> Int32 {
    epoll_control(epoll, EPOLL_CTL_ADD, fd, events.kernelBits, token)
  }

  /// Changes the events for which `fd` is watched. Returns 0, or an errno.
  func change(_ fd: Int32, _ events: FDEvents, token: UInt64) -> Int32 {
    let status = epoll_control(epoll, EPOLL_CTL_MOD, fd, events.kernelBits, token)
    // Closed and opened again meanwhile: the kernel has forgotten it.
    return status == ENOENT ? add(fd, events, token: token) : status
  }

  /// Removes `fd`; does nothing if it was closed before.
  func remove(_ fd: Int32) { _ = epoll_control(epoll, EPOLL_CTL_DEL, fd, 0, 0) }

  /// Ends the current wait, or the next one. Any thread.
  func wake() {
    var one: UInt64 = 1
    _ = write(bell, &one, 8)
  }

  /// Sets the civil alarm to nanoseconds since the epoch; nil for never.
  func armCivil(_ due: Int64?) {
    let due = due.map { max($0, 1) } ?? 0
    guard due != civilDue else { return }
    if civil < 0 {
      civil = Self.opened(timerfd_create(CLOCK_REALTIME, Int32(LINUX_TIMERFD_FLAGS)), "timerfd_create")
      _ = epoll_control(epoll, EPOLL_CTL_ADD, civil, UInt32(LINUX_POLL_IN), Self.civilToken)
    }
    civilDue = due
    // ECANCELED: the clock was set meanwhile. The alarm is still armed, for a moment that does not move.
    _ = timer_arm(civil, Int32(LINUX_TIMER_CIVIL), due)
  }

  /// Sleeps until an event, a wake-up or the timeout.
  /// - Parameter nanoseconds: the timeout; nil for no timeout.
  /// - Parameter deliver: called for each event, before `wait` returns.
  func wait(nanoseconds: Int64?, deliver: (Event) -> Void) {
    let count = sleep(nanoseconds: nanoseconds)
    guard count > 0 else { return }  // below 0: EINTR, the loop looks again
    for index in 0..<Int(count) {
      let token = epoll_token(buffer + index)
      switch token {
      case Self.wakeToken: drain(bell)
      case Self.alarmToken: drain(alarm)
      case Self.civilToken:
        drain(civil)  // or ECANCELED, when the clock was set
        civilDue = 0  // so that it is armed anew
        deliver(.civil)
      default: deliver(.descriptor(token: token, FDEvents(kernel: epoll_events(buffer + index))))
      }
    }
  }

  private func sleep(nanoseconds: Int64?) -> Int32 {
    if alarm < 0 {
      let count = epoll_wait_nanoseconds(epoll, buffer, Int32(Self.capacity), nanoseconds ?? -1)
      guard count == -ENOSYS || count == -EPERM else { return count }
      openAlarm()
    }
    if let nanoseconds, nanoseconds > 0 { _ = timer_arm(alarm, 0, nanoseconds) }
    let count = epoll_wait_milliseconds(epoll, buffer, Int32(Self.capacity), nanoseconds == 0 ? 0 : -1)
    if let nanoseconds, nanoseconds > 0 { _ = timer_arm(alarm, 0, 0) }
    return count
  }

  private func openAlarm() {
    alarm = Self.opened(timerfd_create(CLOCK_MONOTONIC, Int32(LINUX_TIMERFD_FLAGS)), "timerfd_create")
    _ = epoll_control(epoll, EPOLL_CTL_ADD, alarm, UInt32(LINUX_POLL_IN), Self.alarmToken)
  }

  private func drain(_ fd: Int32) {
    var count: UInt64 = 0
    _ = read(fd, &count, 8)
  }
}
