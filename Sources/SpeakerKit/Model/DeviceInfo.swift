public import AudioCore

/// A driver's description of one speaker at discovery.
public struct DeviceInfo: Sendable, Equatable {
  /// The identifier, stable and unique in the house.
  public var id: String
  /// The display name; unique in the house.
  public var name: String
  /// The name of the speaker's group; `Group.ungrouped` when it is in none.
  public var groupName: String
  /// The rank among the members of a group: a speaker that joined earlier has the lower number. With equal
  /// ranks, the first in the house counts as earlier.
  public var groupRank = 0
  /// The id of the group, which is the id of its founder, where the speakers themselves keep it; nil where
  /// the ranks decide.
  public var groupID: String?
  /// The maker's name of the model.
  public var model: String
  /// Dotted IPv4 address, or the driver's equivalent.
  public var ipAddress: String
  /// The TCP port of the control connection.
  public var port: Int
  /// The MAC address: six hexadecimal pairs with colons.
  public var macAddress: String
  /// The firmware version.
  public var version: String
  /// The received signal strength in dBm, -100...0; nil where the driver does not know it.
  public var wifiSignal: Int?
  /// The level, 0...50; 50 is unity, a step 0.9 dB, 0 silence.
  public var volume: Int
  /// `true` if the speaker is muted; `volume` keeps its level meanwhile.
  public var isMuted: Bool
  /// Channels that the speaker renders.
  public var role: ChannelRole
  /// The balance, -6...6, left to right; 0 is the middle.
  public var balance: Int
  /// `true` if the speaker can be reached.
  public var isAvailable: Bool
  /// `true` if the speaker plays sound that another controller has started.
  public var playsOthers = false
  /// The output of the speaker in one line, as in `alsa:hw:2,0 channels 3 and 4`; nil when the driver has
  /// none of its own.
  public var output: String?

  /// Creates the description of a speaker.
  public init(
    id: String, name: String, groupName: String, model: String, ipAddress: String, port: Int,
    macAddress: String, version: String, wifiSignal: Int?, volume: Int = 25, isMuted: Bool = false,
    role: ChannelRole = .stereo, balance: Int = 0, isAvailable: Bool = true
  ) {
    self.id = id
    self.name = name
    self.groupName = groupName
    self.model = model
    self.ipAddress = ipAddress
    self.port = port
    self.macAddress = macAddress
    self.version = version
    self.wifiSignal = wifiSignal
    self.volume = volume
    self.isMuted = isMuted
    self.role = role
    self.balance = balance
    self.isAvailable = isAvailable
  }
}
