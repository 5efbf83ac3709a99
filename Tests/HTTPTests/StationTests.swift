import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("The station of the tests", .waiting, .tags(.http, .titles))
struct StationTests {
  private let station: Station
  private let network: NetworkThread

  init() throws { (station, network) = (try Station(), try NetworkThread()) }

  @Test(
    "a client that reconnects after a drop gets the burst again, up to the programme's position then",
    arguments: [
      0, 10_000, 60_000, 500_000,
    ])
  func outage(bytes: Int) throws {
    let live = Live(.noise(seed: 1))
    station.answer(
      "/live", with: .live(live).dropping(at: 150_000, by: .reset, outage: bytes),
      .live(live).dropping(at: 100_000))
    let first = try network.get(station.url("/live"))
    let second = try network.get(station.url("/live"))
    let visits = station.visits
    #expect(first.body.count == 150_000)
    #expect(visits[0].end == visits[0].start + 150_000)
    #expect(visits[1].edge == visits[0].end + bytes)
    #expect(visits[1].start == live.start(edge: visits[1].edge))
    #expect(second.body == live.programme.bytes(visits[1].start..<visits[1].start + 100_000))
    // The cases for a stitcher: an overlap within the burst, a gap beyond it.
    #expect((visits[1].start <= visits[0].end) == (bytes < 65_535))
  }

  @Test("listeners share one programme, which is as far as the furthest of them")
  func shared() throws {
    let live = Live(.noise(seed: 2))
    station.answer(
      "/live", with: .live(live).dropping(at: 400_000), .live(live).dropping(at: 10),
      .live(live).dropping(at: 10))
    for _ in 0..<3 { _ = try network.get(station.url("/live")) }
    let visits = station.visits
    #expect(visits[1].edge == visits[0].end)
    #expect(visits[2].edge == visits[1].edge)
  }

  @Test("a pre-roll comes before the burst, counts for the titles, and the burst may change")
  func preRoll() throws {
    var live = Live(Programme.noise(seed: 3, titles: [.init("Now", at: 0)]))
    (live.preRoll, live.burst, live.metaint) = (SeededBytes.make(3_000, seed: 9), 14_000, 4_000)
    station.answer("/live", with: .live(live).dropping(at: 8_000))
    let recording = try network.get(station.url("/live")) { $0.wantsICY = true }
    let start = station.visits[0].start
    #expect(start == 186_200)  // the first multiple of 1,400 of the last 14,000 bytes of 200,000
    let block = [UInt8](arrayLiteral: 2) + Array("StreamTitle='Now';".utf8) + [UInt8](repeating: 0, count: 14)
    #expect(
      recording.body == live.preRoll + live.programme.bytes(start..<start + 1_000) + block
        + live.programme.bytes(start + 1_000..<start + 5_000 - block.count))
  }

  @Test("in real time no more comes than there is, and time passes without listeners too")
  func realTime() throws {
    var live = Live(.noise(seed: 4, bytesPerSecond: 16_000))
    (live.pace, live.age) = (.realTime(100), 50_000)
    station.answer("/live", with: .live(live).dropping(at: 250_000), .live(live).dropping(at: 1))
    let clock = ContinuousClock()
    var recording: Recording?
    let time = try clock.measure { recording = try network.get(station.url("/live")) }
    #expect(recording?.body == live.programme.bytes(0..<250_000))
    // 50,000 bytes existed; the others need an eighth of a second at 1.6 MB/s, and no less.
    #expect(time >= .milliseconds(125))
    _ = try network.get(station.url("/live"))
    #expect(station.visits[1].edge >= 250_000)
  }

  @Test("bytes stay the same however a programme is cut")
  func programme() {
    for programme in [Programme.noise(seed: 5), Programme(repeating: SeededBytes.make(101))] {
      let whole = programme.bytes(0..<1_000)
      #expect(whole.count == 1_000)
      for cut in [1, 7, 8, 100, 102] {
        #expect(
          stride(from: 0, to: 1_000, by: cut).flatMap { programme.bytes($0..<min(1_000, $0 + cut)) } == whole)
      }
    }
  }

  @Test("a path without responses is 404, and each path has its own sequence")
  func paths() throws {
    station.answer("/a", with: .page("one"), .page("two"))
    station.answer("/b", with: .page("three"))
    let texts = try ["/a", "/b", "/a", "/a"].map { try network.get(station.url($0)).text }
    #expect(texts == ["one", "three", "two", "two"])
    #expect(try network.get(station.url("/c")).heads.first?.status == 404)
    #expect(station.visits.map(\.target) == ["/a", "/b", "/a", "/a", "/c"])
  }

  @Test("a station that closes ends its listeners, whatever they wait for")
  func close() throws {
    station.answer("/live", with: .live(Live(.noise(seed: 6))))
    station.answer("/stall", with: .live(Live(.noise(seed: 6))).stalling(at: 10))
    station.answer("/slow", with: .page("hello").withSlowHead(.seconds(600)))
    let recordings = try ["/live", "/stall", "/slow"].map { path in
      let recording = Recording(onBody: { sum in path == "/live" && sum > 100 ? .pause : .more })
      _ = network.start(try HTTPRequest(station.url(path)), on: recording)
      return recording
    }
    try recordings[0].wait { $0.body.count > 100 }
    try recordings[1].wait { $0.body.count == 10 }
    try eventually("all have come") { station.visits.count == 3 }
    station.close()
    station.close()
    #expect(station.openConnections == 0)
    #expect(try recordings[1].waitForEnd() == nil)
    #expect(try recordings[2].waitForEnd()?.kind == .reset)
  }
}
