import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("The files of an embedded house", .tags(.speaker, .outputs))
struct WAVFolderTests {
  @Test("names are made legal, and collisions numbered")
  func names() {
    #expect(
      WAVFolder.fileNames(for: ["Kitchen", "kitchen", "A/B", "A\\B", "", "..", "\u{0}x"]) == [
        "Kitchen.wav", "kitchen 2.wav", "A_B.wav", "A_B 2.wav", "Speaker.wav", "_...wav", "_x.wav",
      ])
    let long = WAVFolder.fileNames(for: [String(repeating: "🔊", count: 300)])[0]
    #expect(long.utf8.count < 256)
  }

  @Test("a script that never plays leaves a folder without files")
  func lazily() throws {
    let harness = try HouseHarness.run { harness in try await harness.wait(1) }
    #expect(try Command.run("ls", ["-A", harness.folder.file("out")]).output.isEmpty)
  }

  @Test("a folder that can't be made is reported at open")
  func unwritable() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write([1], to: "file")
    for path in [file, file + "/sub", "/proc/none/x"] {
      let error = #expect(throws: AudioError.self) {
        try HouseHarness.run(output: .wav(folder: path)) { _ in }
      }
      #expect(error?.code == "audio.no_output")
    }
  }
}
