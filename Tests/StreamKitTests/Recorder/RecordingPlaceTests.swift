import EventLoop
import Glibc
import RecordingKit
import TestTraits
import Testing

@Suite("where a template begins", .waiting, .tags(.stream, .recording))
struct RecordingPlaceTests {
  private let here: String = {
    var path = [CChar](repeating: 0, count: 4096)
    return getcwd(&path, path.count).map { String(cString: $0) } ?? ""
  }()
  private let home = String(cString: getenv("HOME"))

  @Test("it goes from the root on: from a folder, the working directory, or the home folder")
  func absolute() {
    #expect(RecordingTemplate.absolute("/a/{title}.mp3", from: "/b") == "/a/{title}.mp3")
    #expect(RecordingTemplate.absolute("{title}.mp3", from: "/b") == "/b/{title}.mp3")
    #expect(RecordingTemplate.absolute("./a.mp3", from: "/b") == "/b/a.mp3")
    #expect(RecordingTemplate.absolute("a/{n}.mp3") == "\(here)/a/{n}.mp3")
    #expect(RecordingTemplate.absolute("~/{n}.mp3", from: "/b") == "\(home)/{n}.mp3")
    #expect(RecordingTemplate.absolute("~a/{n}.mp3", from: "/b") == "/b/~a/{n}.mp3")
  }

  @Test("braces of a folder are no fields")
  func braces() throws {
    let text = RecordingTemplate.absolute("{title}.{ext}", from: "/b/{x}")
    let template = try RecordingTemplate(text)
    let values = RecordingTemplate.Values(
      title: "A", ext: "mp3", start: LocalTime(.init(seconds: 0), offset: 0))
    #expect(try template.path(values) { _ in false } == "/b/{x}/A.mp3")
  }
}
