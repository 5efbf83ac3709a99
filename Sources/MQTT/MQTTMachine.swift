public import EventLoop

/// A failure of a connection to a broker, by its remedy.
public enum MQTTFailure: Sendable, Equatable {
  /// The broker refuses the login, or the login can't be read.
  case login(String)
  /// The broker does not speak MQTT 5, or not as the library understands it.
  case protocolVersion
  /// The broker can't be reached, does not answer, or ends the connection.
  case network(String)
  /// The library can't be loaded, for the life of the process.
  case library(LibraryError)

  /// The reason in words.
  public var reason: String {
    switch self {
    case .login(let text), .network(let text): text
    case .library(let error): error.message
    case .protocolVersion: "it does not speak MQTT 5, or not as libmosquitto does"
    }
  }
  var isLogin: Bool { if case .login = self { true } else { false } }
  var isOfLibrary: Bool { if case .library = self { true } else { false } }
}

/// A report of a connection to its owner.
public enum MQTTReport: Sendable, Equatable {
  /// The broker has accepted the login. The number of attempts that failed before is nil if that is not worth a line
  /// of a log.
  case connected(failures: Int?)
  /// A connection that has been lost for a long time and again and again is steady now, after that many failures.
  case steady(failures: Int)
  /// The connection is lost; `isNew` is false for a loss that repeats.
  case disconnected(reason: String, isNew: Bool)
  /// The broker can't be reached, or refuses the login: once for each kind until the next connection.
  case unreachable(MQTTFailure)
  /// The message with a number is sent, and acknowledged where that is asked for.
  case sent(Int)
  /// The message with a number is not sent.
  case unsent(Int, MQTTErrorKind)
  /// So many messages were dropped, as the broker was away for long.
  case overflow(Int)
  /// The answer to `drain`: so many messages have not been sent.
  case drained(Int)
  /// The broker refuses a subscription, or a message to a topic.
  case refused(String)
  /// A message of a topic was dropped, for its bytes or the fault of its topic.
  case tooLarge(topic: String, bytes: Int)
}

/// The rules of a connection to a broker: the times of its opening, the messages that wait, the reports. It has no socket,
/// clock or thread: events go in, and actions come out.
struct MQTTMachine {
  /// The time for the broker's answer to the login, and from the beginning until a slow attempt is reported.
  static let answerLimit = Duration.seconds(10)
  /// The time after which a lost connection is opened again at once, and that after which it counts as steady.
  static let settledTime = Duration.seconds(2)
  static let steadyTime = Duration.seconds(10)
  /// The delay after a refused login.
  static let loginDelay = Duration.seconds(30)
  /// The limits of messages that the library has, and that are not acknowledged.
  static let mostInFlight = 100
  static let mostBytesInFlight = 256_000

  enum Action: Equatable {
    /// Resolve, connect and log in; `MQTT 5` or 3.1.1.
    case open(isFive: Bool)
    /// Close the connection, or drop it when it opens.
    case close
    /// Publish the farewell, and close.
    case farewell
    /// Call `timeout` after that time, and not at an earlier request.
    case wait(Duration)
    case stopWaiting
    case subscribe(String)
    case unsubscribe(String)
    /// Publish the message, and report its end by the number.
    case publish(Int, MQTTMessage)
    case report(MQTTReport)
  }

  private enum Age { case new, settled, steady }

  private enum Phase {
    case idle
    /// On a thread that can't be ended; `isLate` after the limit.
    case opening(isLate: Bool)
    /// The login is sent.
    case greeting
    case connected(Age)
    case away
    case ended
  }

  /// The failures since the last steady connection.
  private struct Outage {
    var failures = 0
    /// The lost connections: the first one and its return are reported.
    var losses = 0
    var (hasReportedLogin, hasReportedNetwork) = (false, false)
  }

  private var phase = Phase.idle
  private var outage = Outage()
  private var backoff = Backoff(from: .seconds(1), upTo: .seconds(30))
  private var isFive = true
  /// The filters with numbers that grow.
  private var filters: [String: Int] = [:]
  private var lastFilter = 0
  private var outbox = MQTTOutbox()
  private var inFlight: [Int: MQTTOutbox.Entry] = [:]
  private var bytesInFlight = 0
  private var lastNumber = 0
  private var overflow = 0
  private var isDraining = false
  private let birth: MQTTMessage?

  init(birth: MQTTMessage? = nil) { self.birth = birth }

  var isConnected: Bool { if case .connected = phase { true } else { false } }
  /// The number of messages that wait, or are not acknowledged.
  var waiting: Int { outbox.count + inFlight.count }

  // MARK: The connection

  mutating func start() -> [Action] {
    guard case .idle = phase else { return [] }
    return open()
  }

  private mutating func open() -> [Action] {
    phase = .opening(isLate: false)
    return [.open(isFive: isFive), .wait(Self.answerLimit)]
  }

  /// The connection is open, and the login is sent.
  mutating func opened() -> [Action] {
    guard case .opening(let isLate) = phase else { return [.close] }
    phase = .greeting
    return isLate ? [.wait(Self.answerLimit)] : []
  }

  /// The broker has accepted the login.
  mutating func accepted() -> [Action] {
    guard case .greeting = phase else { return [] }
    phase = .connected(.new)
    let isQuiet = outage.losses > 1
    // The owner learns of the connection before messages arrive on it.
    var actions: [Action] = [.report(.connected(failures: isQuiet ? nil : outage.failures))]
    actions.append(.wait(Self.settledTime))
    actions += filters.sorted { $0.value < $1.value }.map { .subscribe($0.key) }
    if overflow > 0 {
      actions.append(.report(.overflow(overflow)))
      overflow = 0
    }
    if let birth { actions.append(launch(MQTTOutbox.Entry(message: birth, token: nil))) }
    return actions + flush() + drained()
  }

  /// The time that `wait` has named is over.
  /// - Parameter jitter: 0..<1, for the next delay.
  mutating func timeout(jitter: Double) -> [Action] {
    switch phase {
    case .opening(false):
      phase = .opening(isLate: true)
      return report(.network("it does not answer"))
    case .greeting: return failed(.network("it does not answer"), jitter: jitter)
    case .connected(.new):
      phase = .connected(.settled)
      backoff.reset()
      return [.wait(Self.steadyTime - Self.settledTime)]
    case .connected(.settled):
      phase = .connected(.steady)
      let last = outage
      outage = Outage()
      return last.losses > 1 ? [.report(.steady(failures: last.failures + last.losses))] : []
    case .away: return open()
    case .idle, .opening, .connected, .ended: return []
    }
  }

  /// The connection has failed or is lost.
  /// - Parameter jitter: 0..<1: a delay is shortened by up to a quarter of it.
  mutating func failed(_ failure: MQTTFailure, jitter: Double) -> [Action] {
    var actions: [Action] = [.close]
    switch phase {
    case .idle, .away, .ended: return []
    case .opening, .greeting:
      if failure == .protocolVersion, isFive {
        isFive = false
        return actions + open()
      }
      outage.failures += 1
      actions += report(failure)
    case .connected:
      if failure == .protocolVersion { isFive = false }
      outage.losses += 1
      actions.append(.report(.disconnected(reason: failure.reason, isNew: outage.losses == 1)))
      actions += returnInFlight()
    }
    phase = .away
    // A library that is missing stays so for this process.
    if failure.isOfLibrary { return actions + drained() }
    let delay = failure.isLogin ? Self.loginDelay : backoff.next()
    return actions + [.wait(delay - delay * (jitter / 4))] + drained()
  }

  private mutating func report(_ failure: MQTTFailure) -> [Action] {
    if failure.isLogin {
      guard !outage.hasReportedLogin else { return [] }
      outage.hasReportedLogin = true
    } else {
      // A loss is reported already, and says the same.
      guard !outage.hasReportedNetwork, outage.losses == 0 else { return [] }
      outage.hasReportedNetwork = true
    }
    return [.report(.unreachable(failure))]
  }

  mutating func end() -> [Action] {
    defer { phase = .ended }
    switch phase {
    case .ended: return []
    case .connected: return [.stopWaiting, .farewell]
    case .idle, .opening, .greeting, .away: return [.stopWaiting, .close]
    }
  }

  // MARK: Subscriptions

  /// Subscribes to a filter; to one that is subscribed to again, for its retained messages.
  mutating func subscribe(_ filter: String) -> [Action] {
    if filters[filter] == nil {
      lastFilter += 1
      filters[filter] = lastFilter
    }
    return isConnected ? [.subscribe(filter)] : []
  }

  mutating func unsubscribe(_ filter: String) -> [Action] {
    guard filters.removeValue(forKey: filter) != nil else { return [] }
    return isConnected ? [.unsubscribe(filter)] : []
  }

  // MARK: Messages

  /// Sends a message, or keeps it.
  mutating func send(_ message: MQTTMessage, token: Int? = nil) -> [Action] {
    if token != nil, !isConnected { return [.report(.unsent(token ?? 0, .notConnected))] }
    guard outbox.append(MQTTOutbox.Entry(message: message, token: token)) else {
      if let token { return [.report(.unsent(token, .refused))] }
      overflow += 1
      // While the broker is away, the count is reported at its return.
      guard isConnected, overflow == 1 else { return [] }
      return [.report(.overflow(overflow))]
    }
    return flush()
  }

  /// The message with a number is sent, and acknowledged where that is asked for, or refused by the broker.
  mutating func sent(_ number: Int, isRefused: Bool = false) -> [Action] {
    guard let entry = inFlight.removeValue(forKey: number) else { return [] }
    bytesInFlight -= entry.message.size
    var actions: [Action] = []
    if isRefused { actions.append(.report(.refused(entry.message.topic))) }
    if let token = entry.token {
      actions.append(.report(isRefused ? .unsent(token, .refused) : .sent(token)))
    }
    return actions + flush() + drained()
  }

  /// Asks for a report when no message waits any more, or none can be sent.
  mutating func drain() -> [Action] {
    isDraining = true
    return drained()
  }

  /// Ends the time for that.
  mutating func endDrain() -> [Action] {
    guard isDraining else { return [] }
    isDraining = false
    return [.report(.drained(unsent))]
  }

  private mutating func drained() -> [Action] {
    guard isDraining else { return [] }
    let canSend =
      switch phase {
      case .opening, .greeting, .connected: true
      case .idle, .away, .ended: false
      }
    return unsent > 0 && canSend ? [] : endDrain()
  }

  /// The number of messages that are not sent or acknowledged, without the birth.
  private var unsent: Int { outbox.count + inFlight.values.count { $0.message != birth } + overflow }

  private mutating func flush() -> [Action] {
    guard isConnected else { return [] }
    var actions: [Action] = []
    while inFlight.count < Self.mostInFlight, bytesInFlight < Self.mostBytesInFlight,
      let entry = outbox.popFirst()
    {
      actions.append(launch(entry))
    }
    if outbox.isEmpty, overflow > 1 { actions.append(.report(.overflow(overflow))) }
    if outbox.isEmpty { overflow = 0 }
    return actions
  }

  private mutating func launch(_ entry: MQTTOutbox.Entry) -> Action {
    lastNumber += 1
    inFlight[lastNumber] = entry
    bytesInFlight += entry.message.size
    return .publish(lastNumber, entry.message)
  }

  /// Puts the messages of a lost connection back. Those whose senders wait are dropped, and the birth, as each
  /// connection has its own.
  private mutating func returnInFlight() -> [Action] {
    let entries = inFlight.sorted { $0.key < $1.key }.map(\.value).filter { $0.message != birth }
    (inFlight, bytesInFlight) = ([:], 0)
    outbox.putBack(entries.filter { $0.token == nil })
    return (entries.compactMap(\.token) + outbox.removeAwaited())
      .map { .report(.unsent($0, .notConnected)) }
  }
}
