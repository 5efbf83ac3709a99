internal import EventLoop
internal import HeadsetLink

/// A gesture of the wearer at the board.
enum BoardGesture: Equatable {
  case noiseCancelling(Bool)
  case ambient(Side, UInt8)
  case preset(UInt8)
  case battery(UInt8)
  case charging(Bool)
  case disconnect
  case reboot

  /// The forms of the lines, for messages.
  static let forms = [
    "noise on|off", "ambient left|right LEVEL", "preset NUMBER", "battery PERCENT", "charging on|off",
    "disconnect", "reboot", "state",
  ]

  /// Reads a line: `ambient left 3`.
  /// - Throws: `gesture`, whose message has the expected form.
  init(parsing line: String) throws(BoardError) {
    let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
    guard let first = words.first else { throw BoardError(.gesture, "the line is empty") }
    guard let form = Self.forms.first(where: { $0.split(separator: " ").first ?? "" == first }) else {
      let known = Self.forms.compactMap { $0.split(separator: " ").first.map(String.init) }
      throw .unknown(.gesture, "command", first, among: known)
    }
    guard let gesture = Self.read(words) else {
      throw BoardError(
        .gesture, "\"\(line.prefix(60).description.onOneLine)\" can't be read: \(form) expected")
    }
    self = gesture
  }

  private static func read(_ words: [String]) -> BoardGesture? {
    let number = words.last.flatMap { UInt8($0) }
    switch (words[0], words.count) {
    case ("noise", 2): return flag(words[1]).map { .noiseCancelling($0) }
    case ("charging", 2): return flag(words[1]).map { .charging($0) }
    case ("battery", 2): return number.map { .battery($0) }
    case ("preset", 2): return number.map { .preset($0) }
    case ("ambient", 3):
      guard let number, let side = ["left": Side.left, "right": .right][words[1]] else { return nil }
      return .ambient(side, number)
    case ("disconnect", 1): return .disconnect
    case ("reboot", 1): return .reboot
    default: return nil
    }
  }

  private static func flag(_ word: String) -> Bool? { ["on": true, "off": false][word] }
}

extension BoardMachine {
  /// Performs a gesture that changes the sound or the battery.
  mutating func perform(_ gesture: BoardGesture) throws(LinkRefusal) {
    switch gesture {
    case .noiseCancelling(let isOn): _ = try set(noiseCancelling: isOn)
    case .ambient(let side, let level): _ = try set(ambient: AmbientLevel(side: side, level: level))
    case .preset(let preset): _ = try select(preset: preset)
    case .battery(let percent):
      _ = try set(battery: Battery(percent: percent, isCharging: settings.battery.isCharging))
    case .charging(let isOn):
      _ = try set(battery: Battery(percent: settings.battery.percent, isCharging: isOn))
    case .disconnect, .reboot: break
    }
  }
}
