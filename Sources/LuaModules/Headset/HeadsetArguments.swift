internal import EventLoop
internal import HeadsetKit
internal import LuaRuntime

extension LuaCall {
  /// A preset, by its name or its number from 0.
  func headsetPreset(_ number: Int) throws -> Int {
    let names = Headset.presetNames
    switch value(number) {
    case .string(let name):
      guard let preset = names.firstIndex(of: name) else {
        throw problem(number, unknown("preset", name, among: names))
      }
      return preset
    case .int, .number: return try int(number, in: 0...(names.count - 1))
    default: throw mismatch(number, "name of a preset, or its number from 0,")
    }
  }

  /// A list of whole numbers.
  func wholeNumbers(_ number: Int) throws -> [Int] {
    try list(number, limit: 256).enumerated().map { index, value in
      switch value {
      case .int(let whole): return whole
      case .number(let given):
        guard let whole = Int(exactly: given) else {
          throw problem(number, "value \(index + 1): whole number expected, got \(state.text(value))")
        }
        return whole
      default:
        throw problem(number, "value \(index + 1): number expected, got \(state.typeName(value))")
      }
    }
  }
}
