public import MQTT

/// A change of the connection to a broker.
public enum BrokerChange: Sendable, Equatable {
  /// The broker has accepted the login; subscriptions have been sent again.
  case connected
  /// The connection is lost, with the reason in words.
  case disconnected(String)
}

/// A broker of MQTT as the parts of a home see it. Confined to the loop.
public protocol MessageBroker: AnyObject {
  /// The first part of the home's own topics, without a slash at its end.
  var base: String { get }
  /// `true` while the broker has accepted the login.
  var isConnected: Bool { get }

  /// Sends a message. While the broker is away up to 1,000 messages or 1 MB wait, of a retained topic the newest.
  func send(_ message: MQTTMessage)
  /// Calls `listener` with each message whose topic matches `filter`, also after the broker was away.
  /// - Returns: a function that ends that.
  func subscribe(to filter: String, _ listener: @escaping (MQTTMessage) -> Void) -> () -> Void
  /// Calls `listener` with each change of the connection.
  /// - Returns: a function that ends that.
  func follow(_ listener: @escaping (BrokerChange) -> Void) -> () -> Void
}
