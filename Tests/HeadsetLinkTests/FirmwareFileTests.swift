import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Firmware files", .tags(.headset, .link, .firmware, .hostile)) struct FirmwareFileTests {
  private func firmware(
    _ image: [UInt8] = Array("an image".utf8), model: String = "RT-1", version: String = "1.10.2",
    lowest: String? = "1.2", key: SigningKey = .development
  ) throws -> FirmwareFile {
    try FirmwareFile(
      image: image, model: model, version: #require(FirmwareVersion(version)),
      lowestVersion: lowest.map { try #require(FirmwareVersion($0)) }, key: key)
  }

  @Test("a manifest lies in the file as it is written down") func layout() throws {
    let file = try firmware()
    let head =
      Array("RTFW".utf8) + [1] + [4] + Array("RT-1".utf8) + [6] + Array("1.10.2".utf8) + [3]
      + Array("1.2".utf8) + [8, 0, 0, 0] + SHA256.hash(Array("an image".utf8))
    let signature = SigningKey.development.sign(head)
    #expect(file.bytes == head + signature + Array("an image".utf8))
    #expect(file.manifest.bytes == head + signature)
    #expect(file.manifest.digest == SHA256.hash(head + signature))
  }

  @Test("a written file is read again") func roundTrip() throws {
    var random = SeededRandom(seed: 1)
    for _ in 0..<200 {
      let model = String(repeating: "ü", count: Int.random(in: 1...127, using: &random))
      let file = try firmware(
        random.bytes(Int.random(in: 1...3_000, using: &random)), model: model,
        lowest: Bool.random(using: &random) ? "0.1" : nil)
      let read = try FirmwareFile(parsing: file.bytes)
      #expect(read == file)
      #expect(read.manifest.bytes.count <= FirmwareManifest.longest)
      #expect(try FirmwareManifest(parsing: file.manifest.bytes) == file.manifest)
      try read.check(trusting: .development)
    }
  }

  @Test("a file that ends early anywhere is refused") func truncated() throws {
    let bytes = try firmware().bytes
    for count in 0..<bytes.count {
      #expect(throws: FirmwareFault.self) { try FirmwareFile(parsing: Array(bytes.prefix(count))) }
    }
    #expect(throws: FirmwareFault.size(said: 8, found: 9)) { try FirmwareFile(parsing: bytes + [0]) }
    #expect(throws: FirmwareFault.size(said: 8, found: 7)) { try FirmwareFile(parsing: bytes.dropLast()) }
  }

  @Test("a changed bit anywhere is found") func flipped() throws {
    let bytes = try firmware().bytes
    for bit in 0..<bytes.count * 8 {
      var other = bytes
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: FirmwareFault.self, "bit \(bit)") {
        try FirmwareFile(parsing: other).check(trusting: .development)
      }
    }
  }

  @Test("no bytes make the reader fail other than with what is wrong") func hostile() throws {
    var random = SeededRandom(seed: 2)
    let bytes = try firmware().bytes
    for _ in 0..<20_000 {
      let changed = random.mutated(bytes)
      do {
        let file = try FirmwareFile(parsing: changed)
        #expect(file.bytes == changed)
      } catch { #expect(!error.reason.isEmpty) }
    }
  }

  @Test("an image, a model and versions that can't be are refused") func limits() throws {
    #expect(throws: FirmwareFault.self) { try firmware([]) }
    #expect(throws: FirmwareFault.self) { try firmware([UInt8](repeating: 0, count: 16 << 20 + 1)) }
    #expect(throws: FirmwareFault.self) { try firmware(model: "") }
    #expect(throws: FirmwareFault.self) { try firmware(model: "RT\u{1B}[2J") }
    #expect(throws: FirmwareFault.self) { try firmware(model: String(repeating: "ü", count: 128)) }
    #expect(throws: FirmwareFault.self) { try firmware(version: "1.2", lowest: "1.2.1") }
    #expect(try firmware(version: "1.2", lowest: "1.2").manifest.lowestVersion == FirmwareVersion("1.2"))
    #expect(try firmware(lowest: nil).manifest.lowestVersion == FirmwareVersion("0"))
  }

  @Test("a size that no image has is refused before any image is there") func size() throws {
    var bytes = try firmware().manifest.bytes
    for said in [0, 17 << 20, 0xFFFF_FFFF] {
      bytes.replaceSubrange(21..<25, with: (0..<4).map { UInt8(truncatingIfNeeded: said >> (8 * $0)) })
      #expect(throws: FirmwareFault.self) { try FirmwareManifest(parsing: bytes) }
    }
  }

  @Test("a wrong hash and a wrong signature have different errors, and signing anew mends the signature")
  func trust() throws {
    let other = try #require(SigningKey(seed: [UInt8](repeating: 7, count: 32)))
    var file = try firmware(key: other)
    #expect(throws: FirmwareFault.signature) { try file.check(trusting: .development) }
    #expect(file.manifest.isSigned(by: other.verifyingKey))
    file.sign(with: .development)
    try file.check(trusting: .development)
    #expect(!file.manifest.isSigned(by: other.verifyingKey))
    var bytes = file.bytes
    bytes[bytes.count - 1] ^= 1
    let damaged = try FirmwareFile(parsing: bytes)
    #expect(damaged.manifest.isSigned(by: .development))
    #expect(!damaged.isIntact)
    #expect(throws: FirmwareFault.hash) { try damaged.check(trusting: .development) }
  }

  @Test("another model, a downgrade and too old a board are refused") func boards() throws {
    func board(_ version: String, _ model: String = "RT-1") -> BoardInfo {
      BoardInfo(
        image: .application, capabilities: [], longestPayload: 1_024, model: model, firmwareVersion: version,
        boots: 1)
    }
    let manifest = try firmware().manifest
    for version in ["1.2", "1.9.9", "1.10.2"] { try manifest.check(for: board(version)) }
    #expect(throws: FirmwareFault.model(firmware: "RT-1", board: "RT-2")) {
      try manifest.check(for: board("1.9", "RT-2"))
    }
    #expect(throws: FirmwareFault.downgrade(to: "1.10.2", from: "1.10.3")) {
      try manifest.check(for: board("1.10.3"))
    }
    try manifest.check(for: board("1.10.3"), allowingDowngrade: true)
    #expect(throws: FirmwareFault.tooOld(board: "1.1", lowest: "1.2")) {
      try manifest.check(for: board("1.1"))
    }
    #expect(throws: FirmwareFault.boardVersion("new")) { try manifest.check(for: board("new")) }
  }
}
