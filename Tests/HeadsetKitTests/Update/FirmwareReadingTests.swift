internal import EventLoop
internal import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("Reading firmware from disk", .tags(.headset, .link, .firmware, .files)) struct FirmwareReadingTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func firmware(_ count: Int = 100) throws -> FirmwareFile {
    var random = SeededRandom(seed: 3)
    return try FirmwareFile(
      image: random.bytes(count), model: "RT-1", version: #require(FirmwareVersion("2")), key: .development)
  }

  @Test("a file that was written to disk is read again") func roundTrip() throws {
    let file = try firmware(100_000)
    #expect(try FirmwareFile(contentsOf: folder.write(file.bytes, to: "a")) == file)
  }

  @Test("an unreadable file fails at the step of the check, and the error names file and reason")
  func unreadable()
    throws
  {
    let pipe = folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let huge = try folder.write([], to: "huge")
    #expect(truncate(huge, 1 << 40) == 0)
    let cases = [
      (folder.file("none"), "No such file or directory"), (folder.path, "it is not a regular file"),
      (pipe, "it is not a regular file"), (huge, "it has 1099511627776 bytes"),
      (try folder.write([], to: "empty"), "the manifest ends too early"),
      (try folder.write(firmware().bytes + [1], to: "longer"), "says 100 bytes of image, and 101 follow"),
    ]
    for (path, reason) in cases {
      let error = #expect(throws: HeadsetError.self) { try FirmwareFile(contentsOf: path) }
      #expect(error?.code == "headset.update_failed")
      #expect(error?.message.contains(path) == true)
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
      #expect(error?.facts.contains(ErrorFact("step", .string("check"))) == true)
      #expect(error?.facts.contains(ErrorFact("path", .string(path))) == true)
    }
  }
}
