public import AudioCore

/// What a driver knows of one speaker when it finds it.
public struct DeviceInfo: Sendable, Equatable {
  /// Stable and unique in the house.
  public var id: String
  /// What people call it; unique in the house.
  public var name: String
  /// Name of its group; `Group.ungrouped` when it is in none.
  public var groupName: String
  /// Orders the members of a group: who joined it earlier has the lower number. Of equal ones the first in the
  /// house counts as earlier.
  public var groupRank = 0
  /// Maker's name of the model.
  public var model: String
  /// Dotted IPv4 address, or what the driver has instead.
  public var ipAddress: String
  /// TCP port of its control connection.
  public var port: Int
  /// Six hexadecimal pairs with colons.
  public var macAddress: String
  /// Version of its firmware.
  public var version: String
  /// Received signal strength in dBm, -100...0.
  public var wifiSignal: Int
  /// 0...50; 50 is unity, a step 0.9 dB, 0 silence.
  public var volume: Int
  /// Whether it is muted; `volume` keeps its level meanwhile.
  public var isMuted: Bool
  /// Which channels it renders.
  public var role: ChannelRole
  /// -6...6, left to right; 0 is the middle.
  public var balance: Int
  /// Whether it can be reached.
  public var isAvailable: Bool

  /// A speaker as found.
  public init(
    id: String, name: String, groupName: String, model: String, ipAddress: String, port: Int,
    macAddress: String, version: String, wifiSignal: Int, volume: Int = 25, isMuted: Bool = false,
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
