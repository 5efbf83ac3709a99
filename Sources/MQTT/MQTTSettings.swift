/// The settings of a connection to a broker.
public struct MQTTSettings: Sendable {
  /// The host: a name or an address.
  public var host: String
  /// The port.
  public var port = 1883
  /// The name for the login; nil without one.
  public var user: String?
  /// The absolute path of the file with the password; nil without one.
  public var passwordFile: String?
  /// `true` to encrypt by TLS; the certificate of the broker has to name `host`.
  public var usesTLS = false
  /// The absolute path of a file of certificates in PEM that may sign that of the broker; nil for those of the system.
  public var certificateFile: String?
  /// The name of this client, of which a broker has one connection at a time.
  public var clientID = "roomtone"
  /// The seconds after which a silent connection is checked.
  public var keepAlive = 30
  /// The message that the broker publishes when the connection is lost, also published at a tidy end; nil for none.
  public var will: MQTTMessage?
  /// The message that is published with each connection, before all others; nil for none.
  public var birth: MQTTMessage?

  /// The settings for a broker at `host`, with the usual port.
  public init(host: String) { self.host = host }

  /// Returns the fault of a client id; nil for a correct one.
  public static func problem(withClientID id: String) -> String? {
    MQTTTopic.problem(with: id, called: "client id")
  }

  /// The broker in messages: `mqtt.home:1883`.
  public var address: String { "\(host):\(port)" }
}
