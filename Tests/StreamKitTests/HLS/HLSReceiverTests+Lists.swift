import TestSupport
import Testing

@testable import Reception

// Versions and keys in lists, and lists that can't be played.

extension HLSReceiverTests {
  @Test("the best version of at most max_bit_rate plays, and one that fails is left for the next one down")
  func versions() throws {
    let station = try HLSStation(.transport)
    func master(_ entries: [(Int, String)]) -> Answer {
      let lines = entries.map { "#EXT-X-STREAM-INF:BANDWIDTH=\($0.0)000,CODECS=\"mp4a.40.2\"\n\($0.1)" }
      return .page((["#EXTM3U"] + lines).joined(separator: "\n"), type: "application/x-mpegurl")
    }
    station.station.answer(
      "/master.m3u8",
      with: master([(48, "low.m3u8"), (256, "gone.m3u8"), (96, "live/index.m3u8"), (640, "top.m3u8")]))
    var options = ReceiverOptions()
    options.dataTimeout = .seconds(20)
    let receiver = try Receiver(
      url: station.station.url("/master.m3u8"), options: options, blocks: 400, clock: .faster(10))
    #expect(station.wait(for: 5), "\(receiver.events)")
    _ = receiver.end()
    let asked = station.station.visits.map(\.target)
    #expect(Array(asked.prefix(3)) == ["/master.m3u8", "/gone.m3u8", "/live/index.m3u8"])
    #expect(!asked.contains("/top.m3u8") && !asked.contains("/low.m3u8"))
  }

  @Test(
    "what can't be played is refused in words",
    arguments: [
      (
        "#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://x\",KEYFORMAT=\"com.apple.streamingkeydelivery\"\n"
          + "#EXTINF:1,\nx.ts\n", "stream.unsupported"
      ),
      ("#EXT-X-TARGETDURATION:1\n#EXTINF:nan,\nx.ts\n", "stream.content"),
      ("#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nftp://x/x.ts\n", "stream.unsupported"),
      ("#EXT-X-TARGETDURATION:1\n#EXTINF:1,\npage.html\n", "stream.content"),
      ("#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nnothing.ts\n", "stream.not_found"),
      ("#EXT-X-STREAM-INF:BANDWIDTH=1\nrtmp://x/x\n", "stream.not_found"),
      ("#EXT-X-TARGETDURATION:0\n", "stream.timeout"),
    ])
  func refused(list: String, code: String) throws {
    let station = try Station()
    station.answer("/live", with: .page("#EXTM3U\n" + list, type: "application/x-mpegurl"))
    station.answer("/page.html", with: .page(String(repeating: "<html>no sound</html>", count: 200)))
    var options = ReceiverOptions()
    options.dataTimeout = .seconds(5)
    let receiver = try Receiver(url: station.url("/live"), options: options, clock: .faster(10))
    #expect(receiver.wait(for: "gave up"), "\(receiver.events)")
    _ = receiver.end()
    #expect(receiver.events.last == "gave up \(code)", "\(receiver.events)")
  }

  @Test("of an endless list no more than 1 MiB is read, as the first and as one that follows") func endless()
    throws
  {
    let entry = Array("#EXTINF:1,\nx.ts\n".utf8)
    let head = Array("#EXTM3U\n#EXT-X-TARGETDURATION:1\n".utf8)
    // Sent as fast as it is read, for ever.
    var live = Live(Programme(repeating: entry))
    (live.preRoll, live.burst, live.age) = (head, 0, 0)
    let list = Answer.live(live, type: "application/x-mpegurl")
    // What the sockets of both sides hold beside it.
    let most = (1 << 20) + 10_000_000

    let station = try Station()
    station.answer("/live", with: list)
    let receiver = try Receiver(url: station.url("/live"), clock: .faster(10))
    #expect(receiver.wait(for: "gave up stream.content"), "\(receiver.events)")
    #expect(try #require(station.visits.first).sent < most)
    _ = receiver.end()

    let other = try HLSStation(.transport)
    let playing = try receive(other)
    #expect(other.wait(for: 5), "\(playing.events)")
    other.station.answer("/live/index.m3u8", with: list)
    #expect(playing.wait(for: "failed stream.content"), "\(playing.events)")
    #expect(try #require(other.station.visits.last { $0.target == "/live/index.m3u8" }).sent < most)
    _ = playing.end()
  }

  @Test("a key that is missing is named at the start, and one that is another is not played")
  func keys() throws {
    let station = try HLSStation(.encrypted)
    station.station.answer("/live/key.bin", with: .status("404 Not Found"))
    let receiver = try receive(station)
    #expect(receiver.wait(for: "gave up"), "\(receiver.events)")
    #expect(receiver.events.last == "gave up stream.not_found")
    _ = receiver.end()

    station.station.answer("/live/key.bin", with: .file([UInt8](repeating: 1, count: 16), type: "x/y"))
    let other = try receive(station)
    #expect(other.wait(for: "gave up"), "\(other.events)")
    #expect(other.events.last == "gave up stream.content")
    #expect(other.end() == [])
  }
}
