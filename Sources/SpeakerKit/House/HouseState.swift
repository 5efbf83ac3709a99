internal import AudioCore
internal import EventLoop

/// The state that a house keeps between runs, as a text that a person can read:
///
///     roomtone house 1
///     speaker 001753A1B2C3
///     name Kitchen
///     group Kitchen
///     rank 2
///     volume 22
///     muted no
///     role mono
///     balance 0
///
/// A value extends to the end of its line. A text that breaks a rule is rejected as a whole.
struct HouseState: Equatable {
  /// The kept state of one speaker.
  struct Speaker: Equatable {
    var name = ""
    var group = Group.ungrouped
    var rank = 0
    var volume = 25
    var isMuted = false
    var role = ChannelRole.stereo
    var balance = 0
  }

  /// The maximum length of a text that is read, in bytes.
  static let sizeLimit = 1 << 20
  private static let header = "roomtone house 1"

  /// States by speaker id.
  var speakers: [String: Speaker] = [:]

  init() {}

  /// Creates the state of `devices`, and of further speakers in an older state, which the next configuration
  /// may list again. A state above `sizeLimit` loses those.
  init(_ devices: [DeviceInfo], besides old: HouseState = HouseState()) {
    speakers = old.speakers
    adopt(devices)
    guard text.utf8.count > Self.sizeLimit else { return }
    speakers = [:]
    adopt(devices)
  }

  private mutating func adopt(_ devices: [DeviceInfo]) {
    for device in devices {
      speakers[device.id] = Speaker(
        name: device.name, group: device.groupName, rank: device.groupRank, volume: device.volume,
        isMuted: device.isMuted, role: device.role, balance: device.balance)
    }
  }

  /// Parses a text.
  /// - Returns: the state; or nil, and the number of the line that breaks a rule.
  static func parse(_ bytes: [UInt8]) -> (state: HouseState?, badLine: Int) {
    guard bytes.count <= sizeLimit, let text = String(validating: bytes, as: UTF8.self) else {
      return (nil, 1)
    }
    var state = HouseState()
    var id: String?
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if number == 0 {
        guard line == header else { return (nil, 1) }
        continue
      }
      if line.isEmpty { continue }
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else { return (nil, number + 1) }
      if parts[0] == "speaker" {
        guard state.speakers[parts[1]] == nil, !parts[1].isEmpty else { return (nil, number + 1) }
        id = parts[1]
        state.speakers[parts[1]] = Speaker()
      } else {
        guard let id, state.speakers[id]?.set(parts[0], parts[1]) == true else { return (nil, number + 1) }
      }
    }
    return (state, 0)
  }

  /// The text of the state; deterministic.
  var text: String {
    var lines = [Self.header]
    for (id, speaker) in speakers.sorted(by: { $0.key < $1.key }) {
      lines += [
        "speaker \(id)", "name \(speaker.name)", "group \(speaker.group)", "rank \(speaker.rank)",
        "volume \(speaker.volume)", "muted \(speaker.isMuted ? "yes" : "no")",
        "role \(speaker.role.rawValue)",
        "balance \(speaker.balance)",
      ]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns the configured speakers in their kept state; a kept name that another speaker has now is not
  /// used.
  func applied(to configured: [DeviceInfo]) -> [DeviceInfo] {
    var devices = configured
    let names = names(of: configured)
    for index in devices.indices {
      guard let kept = speakers[devices[index].id] else { continue }
      devices[index].name = names[index]
      devices[index].groupName = kept.group
      devices[index].groupRank = kept.rank
      devices[index].volume = kept.volume
      devices[index].isMuted = kept.isMuted
      devices[index].role = kept.role
      devices[index].balance = kept.balance
    }
    return devices
  }

  /// Returns the kept names of speakers, resolved together since they may have swapped them. Where names
  /// would clash, speakers with a kept name return to the configured one, until each name is unique.
  private func names(of configured: [DeviceInfo]) -> [String] {
    var names = configured.map { device in
      speakers[device.id].flatMap { $0.name.isEmpty ? nil : $0.name } ?? device.name
    }
    while true {
      let uses = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
      let clashing = names.indices.filter {
        uses[names[$0], default: 0] > 1 && names[$0] != configured[$0].name
      }
      if clashing.isEmpty { return names }
      for index in clashing { names[index] = configured[index].name }
    }
  }
}

extension HouseState.Speaker {
  /// Sets one value.
  /// - Returns: `false` when it breaks a rule.
  fileprivate mutating func set(_ key: String, _ value: String) -> Bool {
    switch key {
    case "name":
      name = value
      return NameRule.problem(with: value) == nil
    case "group":
      group = value
      return NameRule.problem(with: value) == nil
    case "rank": return Self.read(value, 0...1_000_000_000, &rank)
    case "volume": return Self.read(value, VolumeLaw.range, &volume)
    case "balance": return Self.read(value, ChannelMix.balanceRange, &balance)
    case "muted":
      isMuted = value == "yes"
      return isMuted || value == "no"
    case "role":
      guard let known = ChannelRole(rawValue: value) else { return false }
      role = known
      return true
    default: return false
    }
  }

  private static func read(_ text: String, _ range: ClosedRange<Int>, _ number: inout Int) -> Bool {
    guard let value = Int(text), range.contains(value) else { return false }
    number = value
    return true
  }
}
