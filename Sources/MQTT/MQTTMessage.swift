/// A message as a broker of MQTT delivers it, or as one is sent.
public struct MQTTMessage: Sendable, Equatable {
  /// The largest payload that is sent or received, in bytes.
  public static let largestPayload = 1 << 20

  /// The topic, without wildcards.
  public var topic: String
  /// The payload: any bytes.
  public var payload: [UInt8]
  /// `true` for a message that the broker keeps and sends to each new subscriber.
  public var isRetained: Bool
  /// The quality of service, 0...2.
  public var qos: Int

  /// A message.
  public init(_ topic: String, _ payload: [UInt8], isRetained: Bool = false, qos: Int = 0) {
    (self.topic, self.payload, self.isRetained, self.qos) = (topic, payload, isRetained, qos)
  }

  /// The bytes that it takes, about.
  var size: Int { 64 + topic.utf8.count + payload.count }
}
