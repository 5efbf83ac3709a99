public import EventLoop
public import JSONText
public import MQTT

/// A rule that makes triggers of messages: which of them fire, and with which value.
public struct MQTTTrigger: Sendable {
  /// The time within which the same value again does not fire: buttons and brokers send twice.
  public static let repeatTime = Duration.milliseconds(300)

  /// The most firings of a rule in a second.
  public static let mostPerSecond = 20

  /// The name of the trigger.
  public let name: String
  /// The topics.
  public let filter: MQTTFilter
  /// The member of a payload in JSON that is the value; nil for the whole payload.
  public let field: String?
  /// The value that fires; nil for any.
  public let equals: JSON?
  /// `true` if the same value may fire again at once.
  public let repeats: Bool
  private var last: (hash: Int, at: Instant)?
  /// The moments of the last firings, oldest first.
  private var firings: [Instant] = []

  /// A rule; `Trigger.problem(withName:)` accepts its name.
  public init(
    _ name: String, filter: MQTTFilter, field: String? = nil, equals: JSON? = nil, repeats: Bool = false
  ) {
    (self.name, self.filter, self.field) = (name, filter, field)
    (self.equals, self.repeats) = (equals, repeats)
  }

  /// The verdict on a message.
  public enum Verdict: Equatable, Sendable {
    /// The trigger fires, with a value as JSON.
    case fires(String)
    /// The message is left out: retained, empty, another value, or the same again.
    case passes
    /// The rule has fired as often as it may in a second.
    case exceeds
    /// The message can't be a value, for a reason in words.
    case faulty(String)
  }

  /// Returns the verdict on a message that the filter selects.
  public mutating func receive(_ message: MQTTMessage, at now: Instant) -> Verdict {
    // A retained message is the state of a device, not a press; a device that is released may send an empty value.
    guard !message.isRetained, !message.payload.isEmpty else { return .passes }
    guard message.payload.count <= Trigger.largestValue else {
      return .faulty(
        "\(message.payload.count) bytes, where \(Trigger.largestValue) are the limit of a trigger")
    }
    guard let text = String(validating: message.payload, as: UTF8.self) else {
      return .faulty("it is no text in UTF-8")
    }
    guard let value = value(of: text, message.payload) else { return .passes }
    let line = value.line
    guard line.utf8.count <= Trigger.largestValue else { return .faulty("its value is too long as JSON") }
    // Rules may have a thousand large values: the hash of the last one is enough.
    let hash = [message.topic, line].hashValue
    let isRepeated = last.map { $0.hash == hash && $0.at.duration(to: now) < Self.repeatTime } ?? false
    guard !isRepeated || repeats else { return .passes }
    last = (hash, now)
    firings.removeAll { $0.duration(to: now) >= .seconds(1) }
    guard firings.count < Self.mostPerSecond else { return .exceeds }
    firings.append(now)
    return .fires(line)
  }

  /// Returns the value of a payload; nil for one that does not fire.
  private func value(of text: String, _ bytes: [UInt8]) -> JSON? {
    let parsed = JSON(parsing: bytes)
    // A bare nil would be the JSON value null in some of these places.
    let found: JSON? = if let field { parsed?[field] } else { parsed ?? .string(text) }
    guard let value = found, !Self.isEmpty(value) else { return .none }
    guard let equals else { return value }
    // A payload of 1 is the number and the text.
    let isText = field == nil && equals.text == text
    guard isText || Self.areEqual(value, equals) else { return .none }
    return value
  }

  private static func isEmpty(_ value: JSON) -> Bool {
    switch value {
    case .null: true
    case .string(let text): text.isEmpty
    default: false
    }
  }

  private static func areEqual(_ value: JSON, _ other: JSON) -> Bool {
    if let number = number(value), let other = self.number(other) { return number == other }
    return value.line == other.line
  }

  private static func number(_ value: JSON) -> Double? {
    switch value {
    case .number(let number): Double(number)
    case .decimal(let number), .exact(let number): number
    default: nil
    }
  }
}
