internal import EventLoop
internal import Glibc

/// The notifications of a service to its manager: datagrams of `NAME=value` lines to the socket that NOTIFY_SOCKET names.
/// Source: sd_notify(3), "Notes": the protocol is stable, and need not come from libsystemd.
public struct ServiceNotifier: Sendable {
  /// A notification.
  public enum Notification: Sendable, Equatable {
    case ready
    /// A reload begins; `microseconds` are of CLOCK_MONOTONIC.
    case reloading(microseconds: Int64)
    case stopping
    case watchdog
    /// The state in one line, for `systemctl status`.
    case status(String)

    /// The lines of the datagram.
    public var text: String {
      switch self {
      case .ready: "READY=1"
      case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
      case .stopping: "STOPPING=1"
      case .watchdog: "WATCHDOG=1"
      case .status(let line): "STATUS=\(line.onOneLine)"
      }
    }
  }

  private let address: UnixAddress?
  /// The distance of the notifications that keep the watchdog quiet: half the time that it waits; nil without
  /// a watchdog.
  public let watchdogInterval: Duration?

  /// A notifier that a service manager has started the process with.
  /// - Parameters:
  ///   - socket: NOTIFY_SOCKET: a path, or `@` and an abstract name; nil for no service manager.
  ///   - watchdogMicroseconds, watchdogProcess: WATCHDOG_USEC and WATCHDOG_PID.
  public init(socket: String?, watchdogMicroseconds: String? = nil, watchdogProcess: String? = nil) {
    let name = socket.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    address = name.flatMap { UnixAddress($0) }
    let isOurs = watchdogProcess.map { $0 == "\(getpid())" } ?? true
    let wanted = watchdogMicroseconds.flatMap { Int64($0) } ?? 0
    watchdogInterval = address != nil && isOurs && wanted > 0 ? .microseconds(wanted / 2) : nil
  }

  /// `true` if a service manager listens.
  public var isListening: Bool { address != nil }

  /// Sends notifications in one datagram. A service manager that does not receive is no reason to stop.
  public func send(_ notifications: Notification...) {
    guard let address else { return }
    let fd = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { return }
    defer { close(fd) }
    let text = Array(notifications.map(\.text).joined(separator: "\n").utf8)
    _ = address.withPointer { pointer, length in
      sendto(fd, text, text.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), pointer, length)
    }
  }

  /// Sends that a reload begins.
  func sendReloading() { send(.reloading(microseconds: EventLoop.machineMicroseconds)) }
}
