import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Keys of links", .tags(.headset, .link)) struct LinkKeyTests {
  private let digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1E1F"

  @Test("a key is 64 hexadecimal digits, with space around them") func text() throws {
    let key = LinkKey(bytes: [UInt8](0..<32))
    for text in [digits, digits.uppercased(), " \(digits)\n", "\r\n\t\(digits)\r\n"] {
      #expect(try LinkKey(text: text, from: "it") == key)
    }
  }

  @Test(
    "a file that is no key is refused without revealing its content",
    arguments: [
      "", " \n", "000102", String(repeating: "0", count: 63), String(repeating: "0", count: 65),
      String(repeating: "g", count: 64), String(repeating: "secret", count: 20),
      String(repeating: "0", count: 32) + " " + String(repeating: "0", count: 32),
      String(repeating: "0", count: 64) + " 0", String(repeating: "٣", count: 32),
    ])
  func refused(text: String) {
    do throws(HeadsetError) {
      _ = try LinkKey(text: text, from: "the key file k")
      Issue.record("\(text.count) characters were taken as a key")
    } catch {
      #expect(error.kind == .auth)
      #expect(error.message == "the key file k is not a key of a headset: 64 hexadecimal digits expected")
      #expect(error.hint == "openssl rand -hex 32 makes one")
    }
  }

  @Test("a key file is read only when its owner alone may read it") func file() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array("\(digits)\n".utf8), to: "key")
    for mode: mode_t in [0o600, 0o400, 0o700] {
      chmod(path, mode)
      #expect(try LinkKey(file: path) == LinkKey(bytes: [UInt8](0..<32)))
    }
    for mode: mode_t in [0o644, 0o640, 0o604, 0o620, 0o602, 0o610, 0o601] {
      chmod(path, mode)
      let error = #expect(throws: HeadsetError.self) { try LinkKey(file: path) }
      #expect(error?.kind == .auth)
      #expect(error?.message == "the key file \(path) can't be used: it can be read by others than its owner")
      #expect(error?.hint == "chmod 600 \(path)")
    }
  }

  @Test("a key file that is not there, is no file, or is long is refused") func noFile() throws {
    let folder = try TemporaryFolder()
    mkfifo(folder.path + "/pipe", 0o600)
    _ = try folder.write([UInt8](repeating: 0x30, count: 1_000_000), to: "long")
    chmod(folder.path + "/long", 0o600)
    for (name, words) in [
      ("none", "can't be used: No such file or directory"), ("", "is not a regular file"),
      ("pipe", "is not a regular file"),
      ("long", "it has 1000000 bytes, and 256 are the most"),
    ] {
      let error = #expect(throws: HeadsetError.self) { try LinkKey(file: "\(folder.path)/\(name)") }
      #expect(error?.kind == .auth && error?.message.contains(words) == true, "\(name)")
    }
  }
}
