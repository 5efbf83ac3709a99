import Codecs
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

@Suite("Appending to a recording", .waiting, .tags(.stream, .recording, .recovery)) struct FileJoinTests {
  private let folder: TemporaryFolder
  private let audio: [UInt8]

  init() throws {
    folder = try TemporaryFolder()
    audio = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
  }

  private func finish(_ part: String, _ path: String, base: Int) throws {
    var join = try FileJoin(part: part, to: path, base: base)
    while try !join.step() {}
  }

  @Test("puts the frames of the part behind those that are there, without its tag", arguments: [true, false])
  func joins(hasTag: Bool) throws {
    let long = Array([[UInt8]](repeating: audio, count: 20).joined())
    let head = try RecordingTag(title: "first").make()
    let path = try folder.write(head + audio, to: "a.mp3")
    let part = try folder.write(
      (hasTag ? try RecordingTag(title: "second").make() : []) + long, to: "a.mp3.part")
    try finish(part, path, base: head.count + audio.count)
    #expect(try readBytes(path) == head + audio + long)
    #expect(try RecordedFrames.walk(path).isWhole)
  }

  @Test("is begun again wherever it was left, and harms nothing that was there") func resumes() throws {
    let long = Array([[UInt8]](repeating: audio, count: 40).joined())
    let path = try folder.write(audio, to: "a.mp3")
    let part = try folder.write(long, to: "a.mp3.part")
    for steps in [3, 1, 2, 0] {
      // Interrupted in the middle, as by a kill.
      var join = try FileJoin(part: part, to: path, base: audio.count)
      for _ in 0..<steps { #expect(try !join.step()) }
      let bytes = try readBytes(path)
      #expect(Array(bytes[..<audio.count]) == audio && bytes.count == audio.count + join.copied)
      #expect(join.copied == steps * 256 * 1024)
    }
    try finish(part, path, base: audio.count)
    #expect(try readBytes(path) == audio + long)
    try finish(part, path, base: audio.count)
    #expect(try readBytes(path) == audio + long)
  }

  @Test("a file that is shorter than it was is another one, and is left alone") func shorter() throws {
    let path = try folder.write([1, 2, 3], to: "a.mp3")
    let part = try folder.write(audio, to: "a.mp3.part")
    #expect { try finish(part, path, base: 4) } throws: { ($0 as? RecordError)?.kind == .write }
    #expect { try finish(part, folder.file("none"), base: 0) } throws: {
      ($0 as? RecordError)?.kind == .write
    }
    #expect { try finish(folder.file("none"), path, base: 3) } throws: {
      ($0 as? RecordError)?.kind == .write
    }
    #expect(try readBytes(path) == [1, 2, 3])
    #expect(access(folder.file("none"), F_OK) != 0)
  }

  @Test("a disk without room leaves the recording as it was") func full() throws {
    let path = try folder.write(audio, to: "a.mp3")
    let part = try folder.write(audio, to: "a.mp3.part")
    // A file of the largest size that the file system allows has no room either.
    var (least, most) = (audio.count, Int.max)
    while most - least > 1 {
      let middle = least + (most - least) / 2
      if truncate(path, middle) == 0 { least = middle } else { most = middle }
    }
    let base = least - 1000
    #expect(truncate(path, base) == 0)
    #expect { try finish(part, path, base: base) } throws: { ($0 as? RecordError)?.kind == .write }
    var status = stat()
    #expect(stat(path, &status) == 0 && Int(status.st_size) == base)
    #expect(try readBytes(part) == audio)
  }

  @Test("only what has the same codec, rate and channels goes behind") func check() throws {
    let path = try folder.write(RecordingTag().make() + audio, to: "a.mp3")
    let format = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 1)
    try FileJoin.check(path, accepts: format)
    let others = [
      StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2),
      StreamFormat(codec: .mp3, sampleRate: 48_000, channels: 1),
      StreamFormat(codec: .aac, sampleRate: 44_100, channels: 1),
    ]
    for other in others {
      #expect { try FileJoin.check(path, accepts: other) } throws: {
        ($0 as? RecordError)?.code == "record.exists"
      }
    }
    #expect { try FileJoin.check(path, accepts: others[0]) } throws: {
      ($0 as? RecordError)?.message
        == "\(path) is mp3 at 44100 Hz, mono, the stream is mp3 at 44100 Hz, stereo"
    }
    let text = try folder.write(Array("notes".utf8), to: "notes.mp3")
    #expect { try FileJoin.check(text, accepts: format) } throws: {
      ($0 as? RecordError)?.message == "\(text) has no frames, the stream is mp3 at 44100 Hz, mono"
    }
  }
}
