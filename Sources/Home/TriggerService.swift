public import EventLoop

/// Something that happens outside of the scripts, such as the ring of a doorbell.
public struct Trigger: Sendable, Equatable {
  /// The door through which a trigger comes.
  public enum Origin: String, Sendable, CaseIterable {
    case ctl, http, mqtt, script
    /// The triggers file of a simulation, unless that names another door.
    case file
  }

  /// The largest value, in bytes of JSON.
  public static let largestValue = 64 << 10
  /// The longest name, in bytes.
  public static let longestName = 64

  /// The name.
  public let name: String
  /// The value as JSON; nil without one.
  public let value: String?
  /// The door through which it comes.
  public let origin: Origin
  /// The sender at the door in words, such as `webhook "doorbell"` or a topic with its payload, which is the cause of the
  /// trigger; nil for a person or a script.
  public let sender: String?

  /// A trigger; `problem(withName:)` accepts its name.
  public init(_ name: String, value: String? = nil, origin: Origin, sender: String? = nil) {
    (self.name, self.value, self.origin, self.sender) = (name, value, origin, sender)
  }

  /// Returns the fault of a name; nil for a correct one.
  public static func problem(withName name: String) -> String? {
    func isAllowed(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      }
    }
    guard !name.isEmpty, name.utf8.count <= longestName, name.utf8.allSatisfy(isAllowed) else {
      return "a name of a trigger expected: 1 to \(longestName) letters, digits, '_', '-' and '.'"
    }
    return nil
  }
}

/// A trigger of a simulation with its time.
public struct PlannedTrigger: Sendable, Equatable {
  /// The moment at which it comes.
  public let time: WallTime
  /// The trigger.
  public let trigger: Trigger

  /// A trigger that comes at `time`.
  public init(at time: WallTime, _ trigger: Trigger) { (self.time, self.trigger) = (time, trigger) }
}

/// The triggers of an engine, passed to all scripts that listen. Confined to the loop.
public final class TriggerService {
  /// The journal of the triggers; nil without one.
  public var journal: Journal?
  /// Called with the name of a trigger that somebody begins to listen for; returns a function that is called at the end of
  /// that.
  public var onListener: (String) -> () -> Void = { _ in {} }
  /// The trigger that is passed to its listeners now, as a cause; nil otherwise.
  public private(set) var delivered: Cause?
  /// The planned triggers that have not come, in order of time.
  public private(set) var planned: [PlannedTrigger]

  private let loop: EventLoop
  private var listeners: [String: Listeners<(Trigger, WallTime) -> Void>] = [:]
  private var timer: LoopTimer?

  /// Creates a service.
  /// - Parameter planned: the triggers of a simulation; those before its beginning never come.
  public init(loop: EventLoop, planned: [PlannedTrigger] = []) {
    self.loop = loop
    // Triggers with the same time keep the order of the file.
    self.planned = planned.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
      .map(\.element)
    schedule()
  }

  /// `true` if planned triggers will come.
  public var isExpecting: Bool { timer != nil || expectsMore() }
  /// Returns `true` if another source of a simulation will fire triggers.
  public var expectsMore: () -> Bool = { false }

  /// Calls `listener` with every trigger called `name`, and its time.
  /// - Returns: a function that ends that.
  public func on(_ name: String, _ listener: @escaping (Trigger, WallTime) -> Void) -> () -> Void {
    let number = listeners[name, default: Listeners()].add(listener)
    let end = onListener(name)
    return { [weak self] in
      end()
      self?.listeners[name]?.remove(number)
      if self?.listeners[name]?.count == 0 { self?.listeners[name] = nil }
    }
  }

  /// Returns the number of listeners for triggers called `name`.
  public func listenerCount(_ name: String) -> Int { listeners[name]?.count ?? 0 }

  /// Passes a trigger to the listeners.
  public func fire(_ trigger: Trigger) {
    loop.assertOnLoop()
    let now = loop.wallNow
    let sender = trigger.sender.map { Cause(.trigger, trigger.name, detail: $0, at: now) }
    let cause = sender ?? journal?.current
    journal?.record(
      .trigger, of: .trigger, trigger.name, to: .number(listenerCount(trigger.name)), detail: trigger.value,
      cause: cause)
    delivered =
      sender ?? Cause(.trigger, trigger.name, detail: trigger.origin.rawValue, at: now, parent: cause)
    defer { delivered = nil }
    for listener in listeners[trigger.name]?.all ?? [] { listener(trigger, now) }
  }

  private func schedule() {
    timer = nil
    guard let next = planned.first(where: { $0.time >= loop.wallNow }) else { return }
    timer = loop.at(next.time) { [weak self] in self?.firePlanned(next.time) }
  }

  /// Fires the triggers of a moment.
  private func firePlanned(_ time: WallTime) {
    let due = planned.filter { $0.time == time }
    planned.removeAll { $0.time == time }
    schedule()
    for planned in due { fire(planned.trigger) }
  }
}
