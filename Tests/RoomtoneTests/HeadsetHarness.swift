import EventLoop
import HeadsetLink
import LuaRuntime
import Roomtone
import TestSupport
import Testing

@testable import HeadsetBoard

/// Runs scripts with the headset of a simulation.
enum HeadsetHarness {
  /// Firmware 2.0.0 for the usual headset.
  static func firmware() throws -> FirmwareFile {
    let image = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }
    let version = try #require(FirmwareVersion("2.0.0"))
    return try FirmwareFile(image: image, model: "RT-1", version: version, key: .development)
  }

  /// Returns the lines that `code` prints, with the headset in `h`.
  static func printed(
    _ code: String, profile: BoardProfile = .standard, gestures: [(Double, String)] = []
  ) throws -> [String] {
    var harness = try EngineHarness()
    harness.boardProfile = profile
    harness.prepare = { engine in
      for (time, line) in gestures { engine.gesture(line, after: time) }
    }
    return try harness.printed("local headset = require 'headset' local h = headset.connect() " + code)
  }
}

extension Engine {
  /// Has the wearer do something at the headset, so many seconds later.
  func gesture(_ line: String, after seconds: Double) {
    loop.after(.seconds(seconds)) { [unowned self] in
      do throws(BoardError) {
        try boards?[SimulatedBoards.usualAddress]?.perform(try BoardGesture(parsing: line))
      } catch { onFailure(LuaError(code: "test", message: "\(line): \(error.message)")) }
    }
  }
}
