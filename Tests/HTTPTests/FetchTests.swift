import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("Fetching what is small", .waiting, .tags(.http))
struct FetchTests {
  private let station: Station
  private let network: NetworkThread

  init() throws { (station, network) = (try Station(), try NetworkThread()) }

  /// Runs a fetch on a loop of its own.
  private func fetch(
    _ path: String, limit: Int = 1_000_000, on loop: EventLoop = EventLoop()
  ) throws -> Result<(HTTPResponse, [UInt8]), any Error> {
    let request = try HTTPRequest(station.url(path))
    var result: Result<(HTTPResponse, [UInt8]), any Error>?
    loop.start { [network] in
      do {
        result = .success(try await network.fetch(request, limit: limit, on: loop))
      } catch { result = .failure(error) }
    }
    // The fetch holds the loop until its result; a task that has not ended would hold it for ever.
    #expect(loop.run(until: { false }) == .idle)
    return try #require(result)
  }

  @Test("a playlist comes with its type")
  func playlist() throws {
    station.answer(
      "/a.pls", with: .page("[playlist]\nFile1=http://x/\n", type: "audio/x-scpls; charset=utf-8"))
    let (head, body) = try fetch("/a.pls").get()
    #expect(head.contentType?.name == "audio/x-scpls")
    #expect(String(decoding: body, as: UTF8.self).hasPrefix("[playlist]"))
  }

  @Test("a status that is not 200 is an answer too")
  func status() throws {
    station.answer("/a", with: .status("503 Service Unavailable", retryAfter: "120"))
    let (head, _) = try fetch("/a").get()
    #expect(head.status == 503)
    #expect(head.headers["Retry-After"] == "120")
  }

  @Test("a compressed body is decoded, and counted as decoded")
  func compressed() throws {
    let text = String(repeating: "radio ", count: 20_000)
    station.answer("/a", with: .page(text).gzipped())
    let (_, body) = try fetch("/a").get()
    #expect(String(decoding: body, as: UTF8.self) == text)
    #expect(station.visits[0]["Accept-Encoding"] == "gzip, deflate")
    #expect(kind(try fetch("/a", limit: 119_999)) == .tooLarge)
    station.answer("/b", with: .page("hello").with("Content-Encoding", "gzip"))
    #expect(kind(try fetch("/b")) == .encoding)
  }

  @Test("a body that unpacks to much more than its length is refused at the limit")
  func bomb() throws {
    let folder = try TemporaryFolder()
    let zeros = try folder.write([UInt8](repeating: 0, count: 20_000_000), to: "zeros")
    let packed = try Command.succeed("gzip", ["-c", zeros]).output
    #expect(packed.count < 100_000)
    station.answer("/a", with: .page(packed, type: "text/xml").with("Content-Encoding", "gzip"))
    #expect(kind(try fetch("/a", limit: 1_000_000)) == .tooLarge)
  }

  @Test("more than the limit is refused: by the stated length, or as it arrives")
  func limit() throws {
    station.answer("/a", with: .page("hello"))
    #expect(try fetch("/a", limit: 5).get().1.count == 5)
    #expect(kind(try fetch("/a", limit: 4)) == .tooLarge)
    station.answer("/c", with: .page("hello").chunked(2))
    #expect(try fetch("/c", limit: 5).get().1.count == 5)
    #expect(kind(try fetch("/c", limit: 4)) == .tooLarge)
    station.answer("/live", with: .live(Live(.noise(seed: 1))))
    #expect(kind(try fetch("/live", limit: 100_000)) == .tooLarge)
    try eventually("the connection has ended") { station.openConnections == 0 }
  }

  @Test(
    "the limit is exact, with a stated length and without; a compressed body counts as decoded alone",
    arguments: [0, 1, 64])
  func exactLimit(excess: Int) throws {
    let text = String(repeating: "x", count: 1000 + excess)
    station.answer("/stated", with: .page(text))
    station.answer("/chunked", with: .page(text).chunked(100))
    for path in ["/stated", "/chunked"] {
      #expect(kind(try fetch(path, limit: 1000)) == (excess == 0 ? nil : .tooLarge), "\(path) \(excess)")
    }
    // Packed, it is longer than unpacked.
    station.answer("/packed", with: .page("hello").gzipped())
    #expect(try fetch("/packed", limit: 5).get().1.count == 5)
  }

  @Test("an error of the transfer is thrown")
  func failure() throws {
    station.answer("/a", with: .page("hello").claiming(9))
    #expect(kind(try fetch("/a")) == .reset)
    station.refuse()
    #expect(kind(try fetch("/a")) == .refused)
    network.close()
    #expect(kind(try fetch("/a")) == .cancelled)
  }

  @Test("a fetch holds the loop, whose virtual time does not advance meanwhile")
  func hold() throws {
    station.answer("/a", with: .page("hello").stalling(at: 2, for: .milliseconds(100)))
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    let request = try HTTPRequest(station.url("/a"))
    var log: [String] = []
    loop.after(.seconds(3600)) { log.append("an hour later") }
    loop.start { [network] in
      let body = try? await network.fetch(request, limit: 100, on: loop).body
      log.append("\(body?.count ?? -1) bytes after \(loop.now.nanoseconds) ns")
    }
    #expect(loop.heldBy == ["an HTTP request is under way"])
    #expect(loop.run(until: { false }) == .idle)
    #expect(log == ["5 bytes after 0 ns", "an hour later"])
    #expect(loop.heldBy.isEmpty)
  }

  @Test("a cancelled task throws at once, and its connection ends", arguments: [true, false])
  func cancel(beforeStart: Bool) throws {
    station.answer("/a", with: .page("hello").stalling(at: 2))
    let loop = EventLoop()
    let request = try HTTPRequest(station.url("/a"))
    var failure: (any Error)?
    let task = loop.start { [network] in
      if beforeStart { withUnsafeCurrentTask { $0?.cancel() } }
      do { _ = try await network.fetch(request, limit: 100, on: loop) } catch { failure = error }
    }
    if !beforeStart {
      try eventually("the station is asked") { !station.visits.isEmpty }
      task.cancel()
    }
    #expect(loop.run(until: { false }) == .idle)
    #expect(failure is CancellationError)
    #expect(loop.heldBy.isEmpty)
    try eventually("the connection has ended") { station.openConnections == 0 }
    #expect(station.visits.count == (beforeStart ? 0 : 1))
  }

  private func kind(_ result: Result<(HTTPResponse, [UInt8]), any Error>) -> HTTPError.Kind? {
    if case .failure(let error) = result { return (error as? HTTPError)?.kind }
    return nil
  }
}
