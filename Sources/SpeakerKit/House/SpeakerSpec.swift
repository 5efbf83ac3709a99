public import AudioCore
internal import EventLoop

/// A speaker in the configuration.
public struct SpeakerSpec: Sendable, Equatable {
  /// The display name, unique in the house.
  public let name: String
  /// The name of the speaker's group; nil for none.
  public let group: String?
  /// Channels that the speaker renders.
  public let role: ChannelRole
  /// The initial level, 0...50.
  public let volume: Int
  /// The balance, -6...6, left to right.
  public let balance: Int
  /// The sound card of the speaker; nil for the output of the house.
  public var output: Output?
  /// Channels on the sound card, counted from 1: a pair, or one that plays both sides; empty for the first
  /// two.
  public var channels: [Int]
  /// The time by which the speaker plays late, so that rooms with slow amplifiers are in step; 0...500 ms.
  public var delay: Duration
  /// The highest volume; nil for none.
  public var limit: SpeakerLimit?

  /// Creates a speaker called `name`.
  public init(
    name: String, group: String? = nil, role: ChannelRole = .stereo, volume: Int = 25, balance: Int = 0,
    output: Output? = nil, channels: [Int] = [], delay: Duration = .zero
  ) {
    self.name = name
    self.group = group
    self.role = role
    self.volume = volume
    self.balance = balance
    (self.output, self.channels, self.delay) = (output, channels, delay)
  }

  /// Returns the speaker with the output of the house.
  public var onHouseOutput: SpeakerSpec {
    var spec = SpeakerSpec(name: name, group: group, role: role, volume: volume, balance: balance)
    spec.limit = limit
    return spec
  }
}

/// The descriptions of the embedded house's speakers.
public enum HouseSpeakers {
  /// Returns the names of the speakers and of their groups in a house that has kept no other names.
  /// - Parameter specs: those of the configuration; nil for the demonstration house.
  public static func names(_ specs: [SpeakerSpec]?) -> (speakers: [String], groups: [String]) {
    let names: [(String, String?)] =
      if let specs { specs.map { ($0.name, $0.group) } } else {
        demonstration.map { ($0.name, $0.groupName) }
      }
    return (names.map(\.0), Array(Set(names.compactMap(\.1))).sorted())
  }

  /// The demonstration house: six speakers in four rooms.
  static let demonstration: [DeviceInfo] = [
    info(0, SpeakerSpec(name: "Living Room Left", group: "Living Room", role: .left), "Omni 20+", -47),
    info(1, SpeakerSpec(name: "Living Room Right", group: "Living Room", role: .right), "Omni 20+", -49),
    info(2, SpeakerSpec(name: "Kitchen", group: "Kitchen", role: .mono, volume: 22), "Omni 10+", -58),
    info(3, SpeakerSpec(name: "Bedroom Left", group: "Bedroom", role: .left, volume: 18), "Omni 10+", -63),
    info(4, SpeakerSpec(name: "Bedroom Right", group: "Bedroom", role: .right, volume: 18), "Omni 10+", -64),
    info(5, SpeakerSpec(name: "Bathroom", group: "Bathroom", role: .mono, volume: 20), "Omni 10+", -71),
  ]

  /// Returns the speakers of a configuration.
  /// - Throws: `speaker.range` for a value outside its range and for a name that `NameRule` refuses,
  ///   `speaker.unknown` for a name that is missing or used twice.
  static func configured(_ specs: [SpeakerSpec]) throws(SpeakerError) -> [DeviceInfo] {
    var names: Set<String> = []
    var infos: [DeviceInfo] = []
    for (index, spec) in specs.enumerated() {
      guard !spec.name.isEmpty, names.insert(spec.name).inserted else {
        throw SpeakerError(
          .unknown, spec.name.isEmpty ? "a speaker has no name" : "two speakers are called \"\(spec.name)\"",
          hint: "give each speaker a name of its own")
      }
      try NameRule.check(spec.name, of: "speaker")
      if let group = spec.group { try NameRule.check(group, of: "group") }
      guard VolumeLaw.range.contains(spec.volume), ChannelMix.balanceRange.contains(spec.balance) else {
        throw SpeakerError(
          .range, "\"\(spec.name)\" has volume \(spec.volume) and balance \(spec.balance)",
          hint: "volume is \(VolumeLaw.range), balance \(ChannelMix.balanceRange)")
      }
      infos.append(info(index, spec, "Omni 10+", -45 - index * 7 % 30))
    }
    return infos
  }

  /// Returns the description of a speaker that is added later.
  /// - Throws: as `configured`; also when the name or its id is that of a present speaker.
  static func added(
    _ spec: SpeakerSpec, at index: Int, to present: [DeviceInfo]
  ) throws(SpeakerError) -> DeviceInfo {
    let info = info(index, spec, "Omni 10+", try configured([spec])[0].wifiSignal)
    guard !present.contains(where: { $0.name == spec.name || $0.id == info.id }) else {
      throw SpeakerError(
        .range, "\"\(spec.name)\" is, or once was, the name of another speaker",
        hint: "give each speaker a name of its own", facts: [.init("name", .string(spec.name))])
    }
    return info
  }

  /// Returns a speaker's description. Id and MAC address follow from the name, so that a speaker keeps them
  /// when the list is reordered.
  private static func info(
    _ index: Int, _ spec: SpeakerSpec, _ model: String, _ wifiSignal: Int?
  ) -> DeviceInfo {
    let pairs = address(of: spec.name)
    return DeviceInfo(
      id: pairs.joined(), name: spec.name, groupName: spec.group ?? Group.ungrouped, model: model,
      ipAddress: "192.168.1.\(41 + index % 200)", port: 10025, macAddress: pairs.joined(separator: ":"),
      version: "1.6.2.0", wifiSignal: wifiSignal, volume: spec.volume, role: spec.role,
      balance: spec.balance)
  }

  /// Returns the id of the speaker that is configured under a name, whatever its present one.
  static func id(of name: String) -> String { address(of: name).joined() }

  private static func address(of name: String) -> [String] {
    let digest = fnv1a(name)
    let bytes = [0x00, 0x17, 0x53] + [16, 8, 0].map { Int(digest >> $0 & 0xff) }
    return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
  }

  /// FNV-1a, 64 bit. Source: http://www.isthe.com/chongo/tech/comp/fnv/
  private static func fnv1a(_ text: String) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
