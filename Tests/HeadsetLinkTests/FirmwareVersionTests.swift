import TestSupport
import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Versions of firmware", .tags(.headset, .link, .firmware)) struct FirmwareVersionTests {
  private func version(_ text: String) throws -> FirmwareVersion { try #require(FirmwareVersion(text)) }

  @Test("versions are compared by number") func order() throws {
    let rising = [
      "0", "0.0.0.1", "0.9", "1", "1.0.1", "1.2", "1.9.9", "1.10", "1.10.2", "2", "10", "4294967295",
    ]
    for (one, other) in zip(rising, rising.dropFirst()) { #expect(try version(one) < version(other)) }
    #expect(try version("1.2") == version("1.2.0.0"))
    #expect(try version("1.2").hashValue == version("1.2.0.0").hashValue)
  }

  @Test("a version is described as it is written", arguments: ["0", "1.2", "1.2.0", "1.10.2.4294967295"])
  func text(text: String) throws { #expect(try version(text).description == text) }

  @Test(
    "a text that is no version is refused",
    arguments: [
      "", ".", "1.", ".1", "1..2", "1.2.3.4.5", "v1", "1.2-beta", " 1", "1 ", "+1", "-1", "01", "1.00",
      "1.0x2",
      "4294967296", "99999999999999999999999", "1.2\n", "1.2\0", "١.٢", "1,2", "1.2\u{301}",
      String(repeating: "1", count: 1_000_000), String(repeating: ".", count: 44),
    ])
  func refused(text: String) { #expect(FirmwareVersion(text) == nil) }
}
