import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("Changes of the stored state", .tags(.speaker, .recovery))
struct KeptStateTests {
  private let folder: TemporaryFolder
  private let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))

  init() throws { folder = try TemporaryFolder() }

  /// Returns the line of the volume in the file; nil without a file.
  private var volume: String? {
    guard let bytes = try? readBytes(folder.file("house.state")) else { return nil }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init).first {
      $0.hasPrefix("volume")
    }
  }

  @Test("changes within a second are written together, as the speakers are by then; without one, nothing is")
  func gathers() throws {
    var speakers = try HouseSpeakers.configured([SpeakerSpec(name: "A")])
    let state = KeptState(DriverContext(loop: loop, stateFolder: folder.path), writtenBy: [.drive]) {
      speakers
    }
    try loop.finish(
      {
        state.read()
        state.changed()
        try await loop.sleep(for: .milliseconds(900))
        #expect(volume == nil)
        speakers[0].volume = 7
        state.changed()
        try await loop.sleep(for: .milliseconds(200))
        #expect(volume == "volume 7")
        speakers[0].volume = 9
        state.write()
        try await loop.sleep(for: .seconds(2))
        #expect(volume == "volume 7")
        state.changed()
        state.write()
        #expect(volume == "volume 9")
      }, last: {})
  }

  @Test("nothing is written with an access that does not include it", arguments: [HouseAccess.look, .adjust])
  func access(_ access: HouseAccess) throws {
    let context = DriverContext(loop: loop, stateFolder: folder.path, access: access)
    let state = KeptState(context, writtenBy: [.drive]) { [] }
    try loop.finish(
      {
        state.changed()
        try await loop.sleep(for: .seconds(2))
        state.write()
      }, last: {})
    #expect(try LinuxFiles.names(in: folder.path).isEmpty)
  }
}
