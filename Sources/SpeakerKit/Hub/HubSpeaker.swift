internal import AudioCore
internal import EventLoop
internal import JSONText

/// A speaker as a hub lists it.
struct HubSpeaker: Equatable {
  let id: String
  let name: String
  let groupName: String
  /// The id of the group; nil without one.
  let groupID: String?
  let model: String
  let address: String
  let port: Int
  let macAddress: String
  let version: String
  /// The received signal strength in dBm, -100...0; nil where the hub does not report it.
  let wifiSignal: Int?
  /// The level, as the hub reports it; 0...50 unless it is wrong.
  let statedVolume: Int
  /// `true` if the speaker is in the hub's session.
  let isActive: Bool
  /// `true` if the speaker plays, whichever controller has started it.
  let isPlaying: Bool
  /// The number of the role; nil where the hub does not report it.
  let roleNumber: Int?

  /// The highest number of speakers of a hub that are read.
  private static let most = 256

  /// Reads an element of `DeviceList`; nil without an id that can be kept and shown.
  init?(_ json: JSON) {
    guard let id = json["DeviceID"]?.looseText, NameRule.problem(with: id) == nil, id.cleaned == id,
      !id.contains(",")
    else { return nil }
    func text(_ name: String) -> String { NameRule.fitted(json[name]?.looseText ?? "") }
    self.id = id
    name = [text("DeviceName"), text("ModelName"), id].first { !$0.isEmpty } ?? id
    groupName = text("GroupName")
    groupID = [text("GroupID")].first { !$0.isEmpty && $0 != "0" }
    model = text("ModelName")
    address = text("IPAddress")
    port = min(max(json["Port"]?.looseInt ?? 0, 0), 65_535)
    macAddress = text("MacAddress")
    version = text("Version")
    wifiSignal = (json["WifiSignalStrength"]?.looseInt).map { min(max($0, -100), 0) }
    statedVolume = json["Volume"]?.looseInt ?? 0
    isActive = json["Active"]?.looseBool ?? false
    isPlaying = json["IsPlaying"]?.looseBool ?? false
    roleNumber = json["Role"]?.looseInt
  }

  /// The level of the house, 0...50; one out of range counts as its bound.
  var volume: Int { min(max(statedVolume, 0), House.maximumVolume) }

  /// The number of the only role that the hub's interface documents: `EMono`.
  private static let monoNumber = 21
  /// The role of the speaker; nil where its number is not documented.
  var role: ChannelRole? { roleNumber == Self.monoNumber ? .mono : nil }

  /// Reads the answer to `device_list`: speakers with ids of their own; nil when it has another form.
  static func list(_ json: JSON) -> [HubSpeaker]? {
    guard let elements = json["DeviceList"]?.elements else { return nil }
    var ids: Set<String> = []
    return elements.prefix(most).compactMap { HubSpeaker($0) }.filter { ids.insert($0.id).inserted }
  }
}

/// The playback of a hub, as it answers `playback_status`.
struct HubStatus: Equatable {
  let isPlaying: Bool
  /// Whole seconds of the medium that have been heard; nil when it does not play.
  let elapsed: Int?

  /// Reads an answer; nil when it has another form.
  init?(_ json: JSON) {
    switch json["PlaybackState"]?.text {
    case "PlayerStatePlaying": isPlaying = true
    case "PlayerStatePaused", "PlayerStateStopped": isPlaying = false
    default: return nil
    }
    elapsed = json["TimeElapsed"]?.looseInt.flatMap { (0...(1 << 31)).contains($0) ? $0 : nil }
  }

  init(isPlaying: Bool, elapsed: Int? = nil) { (self.isPlaying, self.elapsed) = (isPlaying, elapsed) }
}

// Hubs write numbers and Booleans also as strings, and ids also as numbers.
extension JSON {
  /// Whole number, also of a string.
  var looseInt: Int? { int ?? text.flatMap { Int($0) } }
  /// Boolean, also of a string.
  var looseBool: Bool? { bool ?? text.flatMap { Bool($0.lowercased()) } }
  /// The text of a string or of a whole number.
  var looseText: String? { text ?? int.map { "\($0)" } }
}
