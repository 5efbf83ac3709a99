import EventLoop
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("lists of HLS", .tags(.stream, .hls, .playlists)) struct HLSPlaylistTests {
  private func media(_ text: String) throws -> HLSMedia {
    guard case .media(let media) = try HLSPlaylist(Array(text.utf8), url: "u") else {
      throw StreamError(.content, "a master list")
    }
    return media
  }

  @Test("segments have numbers, lengths, ranges, keys, maps, titles and discontinuities")
  func segments() throws {
    let list = try media(
      """
      #EXTM3U\r
      #EXT-X-TARGETDURATION:10\r
      #EXT-X-MEDIA-SEQUENCE:7\r
      #EXT-X-MAP:URI="init.mp4",BYTERANGE="100@20"\r
      #EXTINF:9.5,A - Café\r
      #EXT-X-BYTERANGE:50@10\r
      a.mp4\r
      #EXT-X-KEY:METHOD=AES-128,URI="k?a,b",IV=0x0102\r
      #EXTINF:10,title="One, two",artist="The X",url=""\r
      #EXT-X-BYTERANGE:20\r
      a.mp4\r
      #EXT-X-DISCONTINUITY\r
      #EXT-X-KEY:METHOD=NONE\r
      #EXT-X-GAP\r
      #EXTINF:3,\r
      b.mp4\r
      #EXT-X-ENDLIST\r
      """)
    #expect(list.sequence == 7 && list.end == 10 && list.isEnded && list.targetDuration == 10)
    #expect(list.segments.map(\.sequence) == [7, 8, 9])
    #expect(list.segments.map(\.duration) == [9.5, 10, 3])
    #expect(list.segments.map(\.title) == ["A - Café", "The X - One, two", nil])
    #expect(list.segments.map(\.range) == [10..<60, 60..<80, nil])
    #expect(list.segments.map(\.isDiscontinuous) == [false, false, true])
    #expect(list.segments.map(\.isAbsent) == [false, false, true])
    #expect(list.segments[0].map == HLSMap(reference: "init.mp4", range: 20..<120))
    let vector = [UInt8](repeating: 0, count: 14) + [1, 2]
    #expect(list.segments.map(\.encryption) == [nil, .aes128(reference: "k?a,b", vector: vector), nil])
  }

  @Test("a live list begins three target durations before its end")
  func start() throws {
    func start(_ lengths: [Double], isEnded: Bool = false) throws -> Int {
      let lines = lengths.map { "#EXTINF:\($0),\nx" } + (isEnded ? ["#EXT-X-ENDLIST"] : [])
      return try media("#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + lines.joined(separator: "\n")).start
    }
    #expect(try start([4, 4, 4, 4, 4, 4]) == 3)
    #expect(try start([4, 4, 4, 4, 4, 1]) == 2)
    #expect(try start([4, 4]) == 0)
    #expect(try start([4, 4, 4, 4, 4, 4], isEnded: true) == 0)
  }

  @Test(
    "damage is refused in words",
    arguments: [
      "#EXTINF:-1,\nx", "#EXTINF:x,\nx", "#EXTINF:1e99,\nx", "#EXT-X-TARGETDURATION:-2\n",
      "#EXT-X-MEDIA-SEQUENCE:99999999999999999999\n", "#EXT-X-MEDIA-SEQUENCE:-1\n",
      "#EXT-X-TARGETDURATION:1\n#EXT-X-BYTERANGE:0\nx", "#EXT-X-KEY:METHOD=AES-128\n",
      "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=12\n", "#EXT-X-MAP:BYTERANGE=\"1@2\"\n",
      "#EXTINF:1,\n#EXT-X-BYTERANGE:9223372036854775807@9223372036854775807\nx",
      "#EXTINF:1,\n#EXT-X-BYTERANGE:1@9223372036854775807\nx", "#EXTINF:1,\n#EXT-X-BYTERANGE:1@-1\nx",
      "#EXTINF:1,\n#EXT-X-BYTERANGE:18446744073709551616@0\nx",
      "#EXT-X-MAP:URI=\"i\",BYTERANGE=\"1@9223372036854775807\"\n",
      String(repeating: "#EXTINF:1,\n#EXT-X-BYTERANGE:1125899906842623\nx\n", count: 9000),
    ])
  func damage(_ text: String) {
    let error = #expect(throws: StreamError.self) { try media("#EXTM3U\n" + text) }
    #expect(error?.kind == .content)
  }

  @Test("kinds of protection are named")
  func protection() throws {
    let list = try media(
      """
      #EXTM3U
      #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://a",KEYFORMAT="com.apple.streamingkeydelivery"
      #EXTINF:1,
      x
      """)
    #expect(list.segments[0].encryption == .foreign("SAMPLE-AES of FairPlay"))
  }

  @Test("versions: sound alone first, the best up to the limit, then lower ones, then those above")
  func versions() throws {
    let text = """
      #EXTM3U
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="other.m3u8"
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="y",DEFAULT=YES,URI="sound.m3u8"
      #EXT-X-STREAM-INF:BANDWIDTH=5000000,RESOLUTION=1x1,AUDIO="a"
      video.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.5"
      64.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=640000
      640.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=200000,CODECS="ec-3"
      dolby.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=128000,CODECS="mp4a.40.2"
      128.m3u8
      """
    guard case .master(let master) = try HLSPlaylist(Array(text.utf8), url: "u") else {
      Issue.record("no master list")
      return
    }
    let order = ["128.m3u8", "64.m3u8", "640.m3u8", "sound.m3u8", "video.m3u8", "dolby.m3u8"]
    #expect(master.candidates(limit: 320_000).map(\.reference) == order)
    #expect(master.candidates(limit: 32_000).first?.reference == "64.m3u8")
  }
}
