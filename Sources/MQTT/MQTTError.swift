public import EventLoop

/// A failure of MQTT.
public typealias MQTTError = Failure<MQTTErrorKind>

/// The kinds of failures of MQTT.
public enum MQTTErrorKind: String, FailureKind {
  /// No broker is configured.
  case notConfigured = "mqtt.not_configured"
  /// The broker is away.
  case notConnected = "mqtt.not_connected"
  /// A text that is no topic.
  case topic = "mqtt.topic"
  /// A text that is no filter.
  case filter = "mqtt.filter"
  /// A message beyond the limit.
  case tooLarge = "mqtt.too_large"
  /// The broker refuses a message, or the queue has no room for it.
  case refused = "mqtt.refused"

  /// The advice to the user.
  public var hint: String? {
    switch self {
    case .notConfigured: "name the broker in the configuration, as in mqtt { host = \"192.168.1.10\" }"
    case .notConnected: "queue = true keeps a message until the broker is back"
    case .topic: "a topic is a name such as home/kitchen/light; + and # are for filters"
    case .filter: "+ stands for one whole level, and # for all levels at the end, as in zigbee2mqtt/#"
    case .tooLarge, .refused: nil
    }
  }
}
