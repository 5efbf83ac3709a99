import Glibc
import TestSupport

/// A `roomtone board` process whose wearer is the test.
final class EmulatedBoard {
  /// Kind of the link to a board.
  enum Transport: String, CaseIterable, Sendable {
    case unix, pty
  }

  /// Address to which scripts connect.
  let address: String
  private let process: RunningCommand

  /// Starts a board in a home, with its bootloader ready soon.
  convenience init(in home: Home, _ transport: Transport = .unix, _ options: String...) throws {
    try self.init(in: home, transport, options)
  }

  /// Starts a board in a home, with its bootloader ready soon.
  init(in home: Home, _ transport: Transport, _ options: [String]) throws {
    let path = home.path("board")
    let listen = transport == .unix ? "unix:\(path)" : "pty:\(path)"
    address = transport == .unix ? listen : "serial:\(path)"
    process = try home.start(
      ["board", "--listen", listen, "--ready-after", "100"] + options, input: .pipe, deadline: .seconds(180))
    try process.expect("listening on \(address)\n")
  }

  /// Returns the board's state: JSON on one line.
  func state() throws -> String {
    try type("state")
    return try process.consume(upTo: "\n")
  }

  /// Types a command of the wearer: `ambient left 3`.
  func type(_ line: String) throws { try process.type(line + "\n") }

  /// Waits until `text` appears on standard error.
  func expectLog(_ text: String) throws { try process.expectError(text) }

  /// Kills the process, as a loss of power would.
  func kill() throws {
    process.send(SIGKILL)
    _ = try process.finish()
  }
}

extension Home {
  /// Packs firmware for the standard board, signed with the development key.
  func firmware(_ name: String, version: String) throws {
    try write((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }, to: "image.bin")
    let packed = try run(
      "firmware", "pack", "image.bin", "-o", name, "--model", "RT-1", "--version", version)
    guard packed.status == 0 else { throw TestFailure("cannot pack firmware: \(packed)") }
  }

  /// Writes the key of a link, readable by its owner alone.
  func key(_ name: String, digit: Character = "7") throws {
    try write(Array(String(repeating: digit, count: 64).utf8), to: name)
    guard chmod(path(name), 0o600) == 0 else { throw TestFailure("cannot protect the key") }
  }
}
