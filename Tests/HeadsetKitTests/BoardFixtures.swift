import EventLoop
import TestSupport

@testable import HeadsetBoard
@testable import HeadsetLink

extension BoardOptions {
  /// The usual board with some options changed.
  static func with(_ change: (inout BoardOptions) throws -> Void) rethrows -> BoardOptions {
    var options = BoardOptions()
    try change(&options)
    return options
  }
}

extension TemporaryFolder {
  /// The path of a firmware file for the standard board, signed with the development key.
  func firmware(version: FirmwareVersion, length: Int, seed: UInt64) throws -> String {
    var random = SeededRandom(seed: seed)
    let file = try FirmwareFile(
      image: random.bytes(length), model: BoardProfile.standard.model, version: version, key: .development)
    return try write(file.bytes, to: "\(version).rtfw")
  }
}
