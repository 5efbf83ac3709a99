public import MQTT

/// The settings of MQTT in a home.
public struct MQTTOptions: Sendable {
  /// The connection.
  public var settings: MQTTSettings
  /// The first part of the home's own topics.
  public var base = "roomtone"
  /// `true` to appear in Home Assistant.
  public var homeAssistant = false
  /// The triggers from topics.
  public var triggers: [MQTTTrigger] = []
  /// `true` if the configuration names the client id.
  public var namesClient = false

  /// The usual settings for a broker.
  public init(_ settings: MQTTSettings) { self.settings = settings }

  /// Returns the settings of the connection of a process.
  /// - Parameter house: `true` for the process that stands for the house, `false` for one beside it: that has a client
  ///   id of its own, so that it does not take the place of the other, and no last will.
  func connection(ofHouse house: Bool, process: Int32, host: String) -> MQTTSettings {
    var settings = settings
    if !namesClient { settings.clientID = "roomtone-\(host)-\(base)" }
    guard house else {
      settings.clientID += "-\(process)"
      return settings
    }
    settings.will = MQTTMessage(statusTopic, Array("offline".utf8), isRetained: true, qos: 1)
    settings.birth = MQTTMessage(statusTopic, Array("online".utf8), isRetained: true, qos: 1)
    return settings
  }

  /// The topic of the state of the house: `online`, or, by the last will, `offline`.
  var statusTopic: String { "\(base)/house/status" }
  /// The topic at which houses hear of each other.
  var identityTopic: String { "\(base)/house/id" }
}
