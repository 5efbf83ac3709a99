import Home
import TestTraits
import Testing

@Suite("amounts of bytes", .waiting, .tags(.recording))
struct ByteSizeTests {
  @Test(
    "are read with their unit",
    arguments: [
      ("2GB", 2_000_000_000), ("1.5 TB", 1_500_000_000_000), ("500mb", 500_000_000), ("64MiB", 67_108_864),
      ("740b", 740), ("0B", 0), ("1TiB", 1 << 40), ("2g", 2_000_000_000), ("1.5 T", 1_500_000_000_000),
    ])
  func read(_ text: String, _ bytes: Int) { #expect(ByteSize.parse(text) == bytes) }

  @Test(
    "are nothing else",
    arguments: [
      "", "GB", "2", "-2GB", "+2GB", "2..5GB", ".5GB", "5.GB", "2GB ", "0x2GB", "nanGB", "9e9GB",
      "9999999999TB", "２GB",
    ])
  func refused(_ text: String) { #expect(ByteSize.parse(text) == nil, "\(text)") }

  @Test(
    "are written with two digits at least",
    arguments: [
      (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (14_400_000, "14 MB"),
      (1_440_000, "1.4 MB"), (9_950_000, "10 MB"), (999_400, "999 kB"), (999_600, "1.0 MB"),
      (57_600_000, "58 MB"), (123_456_789_012, "123 GB"), (5_000_000_000_000_000, "5000 TB"),
    ])
  func written(_ bytes: Int, _ text: String) { #expect(ByteSize.describe(bytes) == text) }
}
