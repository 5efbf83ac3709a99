import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

@Suite("The sound of a file in a container", .tags(.codecs, .files))
struct ContainedSoundTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let names = [
    "music-44k.flac", "aac-lc-44k.m4a", "he-aac-v1-48k.m4a", "base.aiff", "base.caf", "base-24bit.wav",
  ]

  private func sound(_ finding: ContainedSound.Finding?) throws -> ContainedSound {
    guard case .sound(let sound)? = finding else { throw TestFailure("\(String(describing: finding))") }
    return sound
  }

  @Test("has the length that its decoder has, by its headers and by its samples", arguments: names)
  func whole(name: String) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    let measured = try sound(ContainedSound.measure(Fixtures.path(name)))
    let checked = try sound(ContainedSound.check(Fixtures.path(name)))
    #expect(measured.frames == decoder.frameCount && measured.format == decoder.format)
    #expect(checked == measured && checked.damage == nil, "\(checked)")
  }

  @Test("is damaged when its end is missing", arguments: names)
  func cut(name: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    let path = try folder.write(Array(bytes.prefix(bytes.count * 2 / 3)), to: name)
    for finding in [ContainedSound.measure(path), ContainedSound.check(path)] {
      switch finding {
      case .sound(let sound): #expect(sound.damage != nil, "\(sound)")
      case .damaged: break
      default: Issue.record("\(String(describing: finding))")
      }
    }
  }

  @Test("of FLAC is damaged where a frame is, or where the MD5 is that of other sound")
  func flac() throws {
    let bytes = try readBytes(Fixtures.path("music-44k.flac"))
    var damaged = bytes
    for index in 0..<16 { damaged[bytes.count / 2 + index] ^= 0x55 }
    #expect(try sound(ContainedSound.check(folder.write(damaged, to: "damaged.flac"))).damage != nil)
    var other = bytes
    // STREAMINFO ends with the MD5, at byte 26 of it, behind "fLaC" and a header of four bytes. Source: RFC 9639 §8.2.
    other[26] ^= 1
    let found = try sound(ContainedSound.check(folder.write(other, to: "other.flac")))
    #expect(found.damage == "sound that differs from the MD5 in its header" && found.frames == 44_100)
    other.replaceSubrange(26..<42, with: [UInt8](repeating: 0, count: 16))
    #expect(try sound(ContainedSound.check(folder.write(other, to: "without.flac"))).damage == nil)
  }

  @Test("of FLAC whose header states no length is as long as its frames") func withoutLength() throws {
    var bytes = try readBytes(Fixtures.path("music-44k.flac"))
    // The length is the lower 4 bits of byte 21, and the 4 bytes behind. Source: RFC 9639 §8.2.
    bytes[21] &= 0xF0
    bytes.replaceSubrange(22..<26, with: [0, 0, 0, 0])
    let path = try folder.write(bytes, to: "piped.flac")
    let measured = try sound(ContainedSound.measure(path))
    #expect(measured.frames == 44_100 && measured.damage == nil, "\(measured)")
    #expect(try sound(ContainedSound.check(path)) == measured)
  }

  @Test("of AAC is damaged where a frame becomes silence")
  func aac() throws {
    var bytes = try readBytes(Fixtures.path("aac-lc-44k.m4a"))
    let data = try #require((0..<bytes.count - 4).first { bytes[$0..<$0 + 4].elementsEqual("mdat".utf8) })
    let middle = data + (bytes.count - data) / 3
    bytes.replaceSubrange(middle..<middle + 2_000, with: [UInt8](repeating: 0xFF, count: 2_000))
    let found = try sound(ContainedSound.check(folder.write(bytes, to: "damaged.m4a")))
    #expect(found.damage?.contains("frames of AAC that can't be decoded") == true, "\(found)")
  }

  @Test("of a kind without a decoder is named, and files of frames, of pages and of none are left to others")
  func others() throws {
    guard case .unsupported(let words)? = ContainedSound.check(Fixtures.path("alac.m4a")) else {
      throw TestFailure("ALAC was decoded")
    }
    #expect(words.contains("ALAC"))
    for name in ["music-44k.ogg", "mp3-vbr-v4-44k.mp3", "aac-lc-44k.aac", "sun_times.txt", "none"] {
      #expect(ContainedSound.check(Fixtures.path(name)) == nil, "\(name)")
    }
  }
}
