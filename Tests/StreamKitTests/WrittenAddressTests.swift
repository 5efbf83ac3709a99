import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

/// Addresses as people write them, on the way to a server.
@Suite("Addresses with blanks and umlauts", .waiting, .tags(.stream, .playlists)) struct WrittenAddressTests {
  private let sound = Result { try readBytes(Fixtures.path("mp3-without-tag.mp3")) }

  /// Returns the targets of the requests that a stream of `url` makes until its sound has come.
  private func targets(_ station: Station, _ url: String) throws -> [String] {
    let receiver = try Receiver(url: url)
    #expect(receiver.wait(for: "format"), "\(receiver.events)")
    _ = receiver.end()
    return station.visits.map(\.target)
  }

  private func station(_ paths: String...) throws -> Station {
    let station = try Station()
    for path in paths { station.answer(path, with: .file(try sound.get(), type: "audio/mpeg")) }
    return station
  }

  @Test("reach the server escaped, in a name of the machine beyond ASCII too")
  func direct() throws {
    let station = try station("/Klassik%20Radio.mp3", "/gr%C3%B6%C3%9Fe?n=%C3%BC", "/a%20b")
    #expect(try targets(station, station.url("/Klassik Radio.mp3")) == ["/Klassik%20Radio.mp3"])
    #expect(try targets(station, station.url("/größe?n=ü")).last == "/gr%C3%B6%C3%9Fe?n=%C3%BC")
    #expect(try targets(station, "http://größe.localhost:\(station.port)/a%20b").last == "/a%20b")
    #expect(station.visits.last?["Host"] == "xn--gre-6ka8i.localhost:\(station.port)")
  }

  @Test("in lists and in redirects too")
  func indirect() throws {
    // libcurl escapes redirects in its own way.
    let station = try station("/neu%20gr%c3%b6%c3%9fe.mp3")
    station.answer("/list", with: .page("#EXTM3U\nalt größe.mp3\n", type: "audio/x-mpegurl"))
    station.answer("/alt%20gr%C3%B6%C3%9Fe.mp3", with: .redirect(to: "/neu größe.mp3"))
    #expect(
      try targets(station, station.url("/list"))
        == ["/list", "/alt%20gr%C3%B6%C3%9Fe.mp3", "/neu%20gr%c3%b6%c3%9fe.mp3"])
  }

  @Test("in lists of segments too")
  func segments() throws {
    let station = try station("/teil%20gr%C3%B6%C3%9Fe.mp3")
    let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:3,\nteil größe.mp3\n#EXT-X-ENDLIST\n"
    station.answer("/live", with: .page(text, type: "application/vnd.apple.mpegurl"))
    #expect(try targets(station, station.url("/live")).last == "/teil%20gr%C3%B6%C3%9Fe.mp3")
  }
}
