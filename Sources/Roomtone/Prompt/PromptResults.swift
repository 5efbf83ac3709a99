internal import EventLoop
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import Scheduling
internal import SpeakerKit

/// The text of results at a prompt.
extension Prompt {
  /// Returns the text of the results of a block, a tab between them.
  func results(_ values: [LuaValue], of text: String) -> String {
    let style = resultStyle
    let name = values.count == 1 ? ResultUnits.name(of: text) : nil
    return values.map { script.state.inspect($0, name: name, style: style) }.joined(separator: "\t")
  }

  private var resultStyle: InspectionStyle {
    var style = InspectionStyle()
    style.width = max(20, width())
    let zone = engine.options.zone
    style.number = { ResultUnits.text($0, $1, zone: zone) }
    style.columns = { ResultUnits.columns[$0] }
    return style
  }
}

/// Names of fields and functions whose numbers have a unit, and the columns of tables of objects.
enum ResultUnits {
  /// The fields that tables of objects show, by class.
  static let columns: [String: [String]] = [
    "speaker": ["name", "volume", "group_name", "role", "is_playing", "muted", "available", "model"],
    "group": ["name", "volume", "devices", "active"],
    "session": ["name", "state", "volume", "devices", "priority"],
    "job": ["name", "next", "runs", "failures", "active"],
    "recording": ["state", "seconds", "bytes", "title", "path"],
    "task": ["name", "done"],
    "subscription": ["event", "active", "failures"],
  ]

  private static let seconds: Set = [
    "position", "duration", "elapsed", "seconds", "buffered_seconds", "buffer_max_seconds", "time_shift",
  ]
  private static let times: Set = ["next", "last", "due"]

  /// Returns a number with the unit that its name means; nil for a name without one.
  static func text(_ name: String, _ value: Double, zone: any LocalZone) -> String? {
    switch name {
    case "volume" where (0...Double(House.maximumVolume)).contains(value):
      return "\(number(value)) of \(House.maximumVolume)"
    case "wifi_signal": return "\(number(value)) dBm"
    case "gain": return "\(number(value)) dB"
    case "bytes" where value >= 0 && value < 1e15: return ByteSize.describe(Int(value))
    case "sample_rate": return "\(number(value)) Hz"
    case _ where seconds.contains(name) && value >= 0 && value < 1e9: return duration(value)
    case _ where times.contains(name) && value > 1e8 && value < 9e9:
      return "\(zone.local(WallTime(inSeconds: value)))"
    default: return nil
    }
  }

  /// Returns the name of the field or the function with which an expression ends: `volume` of `kitchen.volume`.
  static func name(of expression: String) -> String? {
    var text = expression.trimmed[...]
    if text.hasSuffix("()") { text = text.dropLast(2) }
    let name = String(text.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" }.reversed())
    let before = text.dropLast(name.count)
    guard name.isLuaName, before.last == "." || before.last == ":",
      before.allSatisfy({ $0.isLetter || $0.isNumber || "_.:\"'() ".contains($0) })
    else { return nil }
    return name
  }

  private static func number(_ value: Double) -> String {
    Int(exactly: value).map { "\($0)" } ?? "\((value * 10).rounded() / 10)"
  }

  /// Returns seconds with their unit, from a minute on also as minutes: `185 s (3:05)`.
  private static func duration(_ value: Double) -> String {
    guard value >= 60 else { return "\(number(value)) s" }
    return "\(number(value)) s (\(clockText(Int(value))))"
  }
}
