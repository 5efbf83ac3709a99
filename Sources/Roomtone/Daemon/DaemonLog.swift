public import EventLoop
internal import Home

/// The log of the daemon and its scripts: the last lines, and the clients that follow it. A script that
/// floods it is limited, and the number of lines that were left out is logged. Confined to the loop.
public final class DaemonLog {
  /// The kind of a line.
  public enum Level: String, Sendable, CaseIterable {
    case debug, info, print, warn, error

    /// The level of a line that a script logged.
    init(_ level: LogLevel) {
      self =
        switch level {
        case .debug: .debug
        case .info: .info
        case .warn: .warn
        case .error: .error
        }
    }
  }

  /// A line, or the several lines of an error.
  public struct Entry: Sendable {
    /// The moment.
    public let time: WallTime
    /// The kind.
    public let level: Level
    /// The name of the script; nil for the daemon itself.
    public let script: String?
    /// The text.
    public let message: String
    /// The fields, sorted by name.
    public let fields: [(String, String)]
  }

  /// The longest message, in bytes: the rest is cut off.
  static let longestMessage = 16 << 10
  /// The most entries that are kept, and the most bytes of them.
  private static let mostKept = 1000, mostBytes = 256 << 10
  /// The time after which lines that were left out are counted in the log.
  private static let report = Duration.seconds(5)

  /// Receives every entry.
  public var onEntry: (Entry) -> Void = { _ in }
  /// The last entries, oldest first.
  public private(set) var kept: [Entry] = []
  private var keptBytes = 0
  private var followers = Listeners<(Entry) -> Void>()
  private var limits: [String: LogLimit] = [:]
  private var timer: LoopTimer?
  private let loop: EventLoop

  init(_ loop: EventLoop) { self.loop = loop }

  /// Adds a line.
  /// - Parameter script: the name of the script, whose rate is limited; nil for the daemon.
  func add(_ level: Level, _ message: String, fields: [(String, String)] = [], script: String? = nil) {
    if let script {
      let size = min(message.utf8.count, Self.longestMessage)
      guard limits[script, default: LogLimit()].admit(size, at: loop.now) else {
        if timer == nil {
          timer = loop.after(Self.report, keepsAlive: false) { [weak self] in self?.reportLeftOut() }
        }
        return
      }
    }
    keep(
      Entry(
        time: loop.wallNow, level: level, script: script, message: Self.cut(message),
        fields: fields.map { ($0.0, Self.cut($0.1)) }))
  }

  /// Returns a text without the bytes beyond the longest message.
  private static func cut(_ text: String) -> String {
    let count = text.utf8.count
    guard count > longestMessage else { return text }
    return String(decoding: text.utf8.prefix(longestMessage), as: UTF8.self)
      + "… (\(count - longestMessage) bytes more)"
  }

  /// Calls `body` with each entry from now on; the returned function ends that.
  func follow(_ body: @escaping (Entry) -> Void) -> () -> Void {
    let number = followers.add(body)
    return { [weak self] in self?.followers.remove(number) }
  }

  private func keep(_ entry: Entry) {
    kept.append(entry)
    keptBytes += entry.size
    while kept.count > Self.mostKept || keptBytes > Self.mostBytes, let first = kept.first {
      keptBytes -= first.size
      kept.removeFirst()
    }
    onEntry(entry)
    for follower in followers.all { follower(entry) }
  }

  private func reportLeftOut() {
    timer = nil
    for script in limits.keys.sorted() {
      guard let count = limits[script]?.drain(), count > 0 else { continue }
      keep(
        Entry(
          time: loop.wallNow, level: .warn, script: script,
          message:
            "\(count) line\(count == 1 ? "" : "s") of its log left out: more than \(Int(LogLimit.perSecond)) lines or \(Int(LogLimit.bytesPerSecond) >> 10) KiB a second",
          fields: []))
    }
    // A script with a full allowance needs no entry.
    limits = limits.filter { !$0.value.isRested(at: loop.now) }
  }
}

extension DaemonLog.Entry {
  fileprivate var size: Int {
    message.utf8.count + fields.reduce(64) { $0 + $1.0.utf8.count + $1.1.utf8.count }
  }
}

/// The allowance of one script in the log: a token bucket for its lines, and one for their bytes.
struct LogLimit {
  /// The lines at once, and the lines a second in the long run.
  static let burst = 200.0, perSecond = 20.0
  /// The bytes at once, and the bytes a second in the long run.
  static let byteBurst = 131_072.0, bytesPerSecond = 8192.0
  private var allowance = LogLimit.burst
  private var byteAllowance = LogLimit.byteBurst
  private var last: Instant?
  private var leftOut = 0

  /// Counts a line of `bytes`; `false` when it is to be left out.
  mutating func admit(_ bytes: Int, at now: Instant) -> Bool {
    if let last {
      let seconds = last.duration(to: now).inSeconds
      allowance = min(Self.burst, allowance + seconds * Self.perSecond)
      byteAllowance = min(Self.byteBurst, byteAllowance + seconds * Self.bytesPerSecond)
    }
    last = now
    guard allowance >= 1, byteAllowance >= Double(bytes) else {
      leftOut += 1
      return false
    }
    allowance -= 1
    byteAllowance -= Double(bytes)
    return true
  }

  /// Returns the number of lines that were left out since the last call.
  mutating func drain() -> Int {
    defer { leftOut = 0 }
    return leftOut
  }

  /// `true` if the allowance is whole again.
  func isRested(at now: Instant) -> Bool {
    guard leftOut == 0, let last else { return leftOut == 0 }
    let seconds = last.duration(to: now).inSeconds
    return allowance + seconds * Self.perSecond >= Self.burst
      && byteAllowance + seconds * Self.bytesPerSecond >= Self.byteBurst
  }
}
