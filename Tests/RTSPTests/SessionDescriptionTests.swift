import TestTraits
import Testing

@testable import RTSP

@Suite("Descriptions of presentations", .tags(.stream))
struct SessionDescriptionTests {
  private static let camera = """
    v=0\r
    o=- 1 1 IN IP4 192.0.2.1\r
    s=Nursery\r
    t=0 0\r
    a=control:*\r
    a=range:npt=0-60.5\r
    m=video 0 RTP/AVP 96\r
    a=rtpmap:96 H264/90000\r
    a=control:track1\r
    m=audio 0 RTP/AVP 97 0\r
    a=rtpmap:97 mpeg4-generic/44100/2\r
    a=fmtp:97 mode=AAC-hbr; config=1210\r
    a=control:track2\r
    """

  @Test("media, their codings, controls and the range are read")
  func media() throws {
    let description = try SessionDescription(Array(Self.camera.utf8))
    #expect(description.name == "Nursery")
    #expect(description.control == "*")
    #expect(description.range == .init(start: 0, end: 60.5))
    #expect(description.media.map(\.kind) == ["video", "audio"])
    let audio = try #require(description.media.last)
    #expect(audio.formats == [97, 0])
    #expect(audio.maps[97] == "mpeg4-generic/44100/2")
    #expect(audio.parameters[97] == "mode=AAC-hbr; config=1210")
    #expect(audio.control == "track2")
  }

  @Test(
    "ranges of normal play time are read in seconds and in hours",
    arguments: [
      ("npt=0-60", 0, 60), ("npt=now-", 0, nil), ("npt=1.5-", 1.5, nil),
      ("npt=0:01:02.5-1:00:00", 62.5, 3600),
      ("npt = 3 - 4 ;time=x", 3, 4),
    ] as [(String, Double, Double?)])
  func ranges(text: String, start: Double, end: Double?) {
    #expect(SessionDescription.Range(text) == .init(start: start, end: end))
  }

  @Test(
    "ranges of other units, and those that are none, are no range",
    arguments: ["smpte=0-1", "npt=", "npt=0", "clock=20200101T000000Z-", "npt=0-x", "npt=0-nan", "npt=0--1"])
  func otherRanges(text: String) { #expect(SessionDescription.Range(text) == nil) }

  @Test("a medium is requested below the address of the presentation, unless its own is whole")
  func uris() {
    let base = "rtsp://h/live"
    #expect(SessionDescription.uri(of: nil, base: base) == base)
    #expect(SessionDescription.uri(of: "*", base: base) == base)
    #expect(SessionDescription.uri(of: "track1", base: base) == "rtsp://h/live/track1")
    #expect(SessionDescription.uri(of: "track1", base: base + "/") == "rtsp://h/live/track1")
    #expect(SessionDescription.uri(of: "rtsp://other/x", base: base) == "rtsp://other/x")
  }

  @Test("too many media are refused, and so is a text without any of it")
  func hostile() {
    let many = "v=0\n" + String(repeating: "m=audio 0 RTP/AVP 0\n", count: 40)
    #expect(throws: RTSPError.self) { try SessionDescription(Array(many.utf8)) }
    #expect(throws: RTSPError.self) { try SessionDescription(Array("<html></html>".utf8)) }
    #expect(throws: RTSPError.self) { try SessionDescription([UInt8](repeating: 0x61, count: 10 << 20)) }
    let twenty = "v=0\n" + String(repeating: "m=video 0 RTP/AVP 96\n", count: 19) + "m=audio 0 RTP/AVP 0\n"
    #expect((try? SessionDescription(Array(twenty.utf8)))?.media.count == 20)
  }
}
