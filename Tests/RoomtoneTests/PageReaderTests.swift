import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing
import WebServer

@testable import Roomtone

@Suite("Files of the page that are read on a thread", .waiting, .tags(.page)) struct PageReaderTests {
  /// A mount that answers when it is told to.
  private final class Mount: Sendable {
    let answers = Lock(false)
    let calls = Lock(0)

    func reader(_ loop: EventLoop, limit: Duration) throws -> PageReader {
      let address = try #require(ListenAddress(parsing: "127.0.0.1:8420"))
      let settings = PageSettings(listen: address)
      return PageReader("/mount/token", loop: loop, limit: limit) { [self] in
        calls.withLock { $0 += 1 }
        while !answers.withLock({ $0 }) { usleep(5000) }
        return PageContents(settings, stateFolder: nil)
      }
    }
  }

  @Test("a mount that hangs is said, holds one thread however often it is tried, and is read when it answers")
  func silence() throws {
    let (loop, mount) = (EventLoop(), Mount())
    let reader = try mount.reader(loop, limit: .milliseconds(100))
    var results: [Result<PageContents, PageError>] = []
    func isFailed() -> Bool { if case .failure? = results.last { true } else { false } }
    try loop.finish {
      for count in 1...3 {
        reader.read { results.append($0) }
        try await loop.wait { results.count == count }
        #expect(isFailed() && !reader.isReading)
        if case .failure(let error)? = results.last {
          #expect(error.kind == .files && error.message.contains("no answer within"), "\(error)")
        }
      }
      #expect(mount.calls.withLock { $0 } == 1)
      mount.answers.withLock { $0 = true }
      while isFailed() {
        let count = results.count
        reader.read { results.append($0) }
        try await loop.wait { results.count > count }
      }
    }
    #expect(mount.calls.withLock { $0 } >= 2)
  }

  @Test("files that are to be read while they are read are read once more, and the loop goes on meanwhile")
  func again() throws {
    let (loop, mount) = (EventLoop(), Mount())
    let reader = try mount.reader(loop, limit: .seconds(60))
    var (results, ends) = (0, 0)
    reader.onEnd = { ends += 1 }
    try loop.finish {
      reader.read { _ in results += 1 }
      #expect(reader.isReading)
      try await loop.wait { mount.calls.withLock { $0 } == 1 }
      for _ in 0..<3 { reader.read { _ in results += 1 } }
      mount.answers.withLock { $0 = true }
      try await loop.wait { ends == 1 }
    }
    #expect(mount.calls.withLock { $0 } == 2 && results == 1 && !reader.isReading)
  }
}
