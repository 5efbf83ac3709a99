import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

@Suite(
  "A part that was left behind under the name of a recording that begins", .waiting,
  .tags(.stream, .recording, .recovery))
struct LeftBehindTests {
  /// The lines of the log.
  private final class ReportLog: Sendable {
    private let list = Lock<[String]>([])
    var lines: [String] { list.withLock { $0 } }
    func add(_ line: String) { list.withLock { $0.append(line) } }
  }

  private let folder: TemporaryFolder
  private let reported = ReportLog()
  private let left: [UInt8]

  init() throws {
    folder = try TemporaryFolder()
    let programme = try FrameProgramme(.mp3, seconds: 4, seed: 8)
    left = Array(programme.bytes[..<programme.frames[100].offset])
  }

  /// Records two seconds.
  private func record(
    appends: Bool, settings: RecorderSettings
  ) throws -> WriterHarness {
    let harness = try WriterHarness(
      "show.mp3", { $0.appends = appends }, settings: settings, in: folder,
      log: { [reported] in reported.add($0) })
    harness.queue.mark(StreamTitle("Title"))
    harness.come(2)
    harness.pass()
    harness.end()
    return harness
  }

  private func settings(hasCatalogue: Bool) -> RecorderSettings {
    var settings = RecorderSettings()
    if hasCatalogue { settings.catalogue = folder.file("catalogue.sqlite") }
    return settings
  }

  @Test(
    "is a file of its own then, in the catalogue, and reported: continued, or left as it is",
    arguments: [true, false], [true, false])
  func finished(appends: Bool, hasCatalogue: Bool) throws {
    _ = try folder.write(left + [0xFF, 0xFB], to: "show.mp3.part")
    let harness = try record(appends: appends, settings: settings(hasCatalogue: hasCatalogue))
    let files = harness.files.filter { !$0.hasPrefix("catalogue") }
    #expect(files == (appends ? ["show.mp3"] : ["show (2).mp3", "show.mp3"]), "\(harness.reported)")
    let sound = try readBytes(folder.file("show.mp3"))
    #expect(sound.starts(with: left) && (sound.count > left.count) == appends)
    #expect(reported.lines == ["\(folder.file("show.mp3")): made whole from its part"])
    guard hasCatalogue else { return }
    let rows = try Catalogue(path: folder.file("catalogue.sqlite")).entries()
    #expect(rows.map(\.path).sorted() == files.map { folder.file($0) })
    #expect(rows.allSatisfy { $0.part == nil && $0.samples > 0 })
  }

  @Test("stays, when another process holds it, which is reported") func held() throws {
    let part = try PartFile.create(path: folder.file("show.mp3"))
    try part.write(left)
    _ = try folder.write(left, to: "show.mp3")
    let harness = try record(appends: true, settings: .init())
    #expect(harness.reported == ["stopped record.exists"] && harness.files == ["show.mp3", "show.mp3.part"])
    let error = #expect(throws: RecordError.self) { try PartFile.create(path: folder.file("show.mp3")) }
    #expect(error?.message == "\(folder.file("show.mp3.part")) is being recorded")
    part.abandon(keep: false)
  }

  @Test("stays, when it is no recording; goes, when nothing is in it") func stranger() throws {
    let rubbish = [UInt8](repeating: 9, count: 9_000)
    _ = try folder.write(rubbish, to: "show.mp3.part")
    _ = try record(appends: false, settings: settings(hasCatalogue: true))
    #expect(try readBytes(folder.file("show.mp3.part")) == rubbish)
    #expect(fileNames(in: folder.path).contains("show (2).mp3"))
    _ = try folder.write([], to: "show.mp3.part")
    let harness = try record(appends: true, settings: settings(hasCatalogue: true))
    #expect(harness.reported.last == "finished show.mp3", "\(harness.reported)")
    #expect(!fileNames(in: folder.path).contains("show.mp3.part"))
  }

  @Test("is no folder: a name is wanted behind that") func folderThere() throws {
    mkdir(folder.file("show.mp3"), 0o700)
    let harness = try record(appends: false, settings: .init())
    #expect(harness.reported == ["stopped record.exists"] && harness.files == ["show.mp3"])
  }
}
