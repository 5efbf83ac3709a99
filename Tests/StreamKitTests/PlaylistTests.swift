import EventLoop
import Reception
import StreamCore
import TestSupport
import TestTraits
import Testing

@Suite("Playlists", .waiting, .tags(.stream, .playlists))
struct PlaylistTests {
  private let base: StreamAddress = "http://radio.example/lists/morning.pls"

  private func read(_ text: String, _ format: Playlist.Format) throws -> [Playlist.Entry] {
    try Playlist(Array(text.utf8), format: format, base: base).entries
  }

  @Test("pls: entries in the order of their numbers, with titles, relative ones resolved")
  func pls() throws {
    let entries = try read(
      """
      [playlist]\r
      NumberOfEntries=3\r
      File2=/b.mp3\r
      Title1=Café d'Or\r
      file1 = http://one.example:8000/a.mp3?x=1&y=2\r
      Length1=-1\r
      File10=c d.mp3\r
      Version=2\r
      """, .pls)
    #expect(
      entries == [
        .init(address: "http://one.example:8000/a.mp3?x=1&y=2", title: "Café d'Or"),
        .init(address: "http://radio.example/b.mp3"), .init(address: "http://radio.example/lists/c%20d.mp3"),
      ])
  }

  @Test("m3u: plain, extended, with a byte order mark, in Latin-1")
  func m3u() throws {
    #expect(
      try read("\u{FEFF}#EXTM3U\n#EXTINF:-1,Morning FM\nhttp://a.example/\n\n# a comment\n  b.mp3  \n", .m3u)
        == [
          .init(address: "http://a.example/", title: "Morning FM"),
          .init(address: "http://radio.example/lists/b.mp3"),
        ])
    let latin = Array("#EXTINF:1,Caf".utf8) + [0xE9] + Array("\nhttp://a.example/x".utf8)
    #expect(try Playlist(latin, format: .m3u, base: base).entries.first?.title == "Café")
  }

  @Test(
    "a list in UTF-16 with a byte order mark is recognised and read",
    arguments: [
      ("#EXTM3U\n#EXTINF:-1,Größe\nhttp://a.example/x\n", Playlist.Format.m3u, "text/plain"),
      ("http://a.example/x\n", .m3u, "audio/x-mpegurl"),
      ("[playlist]\r\nFile1=http://a.example/x\r\nTitle1=Größe\r\n", .pls, "text/plain"),
      (
        "<?xml version='1.0' encoding='UTF-16'?><playlist><trackList><track><title>Größe</title>"
          + "<location>http://a.example/x</location></track></trackList></playlist>", .xspf, "text/plain"
      ),
      ("<asx><entry><title>Größe</title><ref href='http://a.example/x'/></entry></asx>", .asx, "text/plain"),
    ])
  func utf16(text: String, format: Playlist.Format, type: String) throws {
    for isLittle in [true, false] {
      let bytes = ("\u{FEFF}" + text).utf16.flatMap { unit in
        isLittle ? [UInt8(unit & 0xFF), UInt8(unit >> 8)] : [UInt8(unit >> 8), UInt8(unit & 0xFF)]
      }
      #expect(Playlist.format(start: bytes, contentType: type, path: "/list") == format)
      let entry = try #require(try Playlist(bytes, format: format, base: base).entries.first)
      #expect(entry.address == "http://a.example/x")
      #expect(entry.title == (text.contains("Größe") ? "Größe" : nil))
    }
    // The first bytes of a frame of layer I are such a mark.
    let frame: [UInt8] = [0xFF, 0xFE, 0x90, 0x00] + [UInt8](repeating: 0x55, count: 500)
    #expect(Playlist.format(start: frame, contentType: "audio/mpeg", path: "/live") == nil)
  }

  @Test("entities that a list in UTF-16 declares are refused as in UTF-8")
  func utf16Entities() throws {
    let text =
      "<!DOCTYPE p [<!ENTITY a 'b'>]><playlist><track><location>http://a/&a;</location></track></playlist>"
    let bytes = ("\u{FEFF}" + text).utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    #expect(throws: StreamError.self) { try Playlist(bytes, format: .xspf, base: base) }
  }

  @Test(
    "addresses with blanks and umlauts are escaped, escapes stay, names of hosts are those of name servers")
  func escapes() throws {
    let entries = try read(
      """
      http://a.example/Klassik Radio.mp3
      http://a.example/gr\u{F6}\u{DF}e?n=\u{FC} 1
      Stra\u{DF}e [live].mp3
      http://a.example/100% live/x%20y.mp3
      http://M\u{FC}nchen.example:8000/x
      //M\u{FC}nchen.example/y
      """, .m3u)
    #expect(
      entries.map(\.address.url) == [
        "http://a.example/Klassik%20Radio.mp3", "http://a.example/gr%C3%B6%C3%9Fe?n=%C3%BC%201",
        "http://radio.example/lists/Stra%C3%9Fe%20%5Blive%5D.mp3",
        "http://a.example/100%25%20live/x%20y.mp3", "http://xn--mnchen-3ya.example:8000/x",
        "http://xn--mnchen-3ya.example/y",
      ])
  }

  @Test("a list of segments is refused by name")
  func segments() {
    let text = "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nsegment1.ts\n"
    let error = #expect(throws: StreamError.self) { try read(text, .m3u) }
    #expect(error?.kind == .unsupported)
    #expect(error?.message == "\(base) is a list of segments (HLS), which doesn't work here")
  }

  @Test("titles have no escape sequences, and a title left blank by that is none")
  func cleanTitles() throws {
    let text =
      "#EXTINF:-1,\u{1B}[31mred\u{202E}\nhttp://a.example/\n#EXTINF:-1,\u{1B}[0m\nhttp://b.example/\n"
    let list = try Playlist(Array(text.utf8), format: .m3u, base: "http://radio.example/")
    #expect(list.entries.map(\.title) == ["red", nil])
  }

  @Test("xspf: tracks with titles and several locations")
  func xspf() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <playlist version="1" xmlns="http://xspf.org/ns/0/"><title>All</title><trackList>
      <track><title>One &amp; Two</title><location>http://a.example/1</location><location>2.mp3</location></track>
      <track><location><![CDATA[http://b.example/?a=1&b=2]]></location></track>
      </trackList></playlist>
      """
    #expect(
      try read(text, .xspf) == [
        .init(address: "http://a.example/1", title: "One & Two"),
        .init(address: "http://radio.example/lists/2.mp3", title: "One & Two"),
        .init(address: "http://b.example/?a=1&b=2"),
      ])
  }

  @Test("asx: names in any case, and XML that is none")
  func asx() throws {
    let text = """
      <ASX version = "3.0"><Title>Station</Title>
      <Entry><Title>First</Title><Ref HREF="http://a.example/x?a=1&b=2" /></entry>
      <entry><ref href='http://b.example/'/></ENTRY>
      <EntryRef href="http://c.example/more.asx"/>
      """
    #expect(
      try read(text, .asx).map(\.address) == [
        "http://a.example/x?a=1&b=2", "http://b.example/", "http://c.example/more.asx",
      ])
  }

  @Test("a list without playable entries is named in the error; of unknown schemes, one is")
  func unusable() {
    let empty = #expect(throws: StreamError.self) { try read("[playlist]\n", .pls) }
    #expect(empty?.kind == .notFound)
    let refused = #expect(throws: StreamError.self) {
      try read("mms://a.example/x\ngopher://b.example/\n", .m3u)
    }
    #expect(refused?.kind == .unsupported)
    #expect(refused?.message.contains("mms://") == true)
    let other = #expect(throws: StreamError.self) { try read("rtsp://u:p@b.example/live\n", .m3u) }
    #expect(other?.kind == .unsupported && other?.hint?.hasSuffix("rtsp://b.example/live") == true)
    let javascript = #expect(throws: StreamError.self) {
      try read("javascript:alert(1)\nfile:///etc/passwd", .m3u)
    }
    #expect(javascript?.kind == .unsupported)
  }

  @Test("the format of a body follows from its bytes, then its type, then its name")
  func formats() {
    func format(_ start: String, _ type: String? = nil, _ path: String = "/") -> Playlist.Format? {
      Playlist.format(start: Array(start.utf8), contentType: type, path: path)
    }
    #expect(format("[PlayList]\n", "audio/mpeg") == .pls)
    #expect(format("\n #EXTM3U\n") == .m3u)
    #expect(format("<?xml version='1.0'?>\n<playlist>") == .xspf)
    #expect(format("<ASX VERSION='3'>") == .asx)
    #expect(format("http://a/", "audio/x-mpegurl") == .m3u)
    #expect(format("http://a/", nil, "/x.M3U8") == .m3u)
    #expect(format("http://a/", "audio/mpeg", "/x") == nil)
    #expect(format("<html>", "audio/x-scpls", "/x.pls") == nil)
    #expect(
      Playlist.format(start: [0xFF, 0xFB, 0x90, 0x64], contentType: "audio/x-mpegurl", path: "/x.m3u") == nil)
  }

  @Test("a document that declares entities is not read")
  func entities() {
    let laughs =
      "<!DOCTYPE a [<!ENTITY x \"http://a.example/\"><!entity y \"&x;&x;\">]><asx><entry><ref href=\"&y;\"/></entry></asx>"
    #expect(throws: StreamError.self) { try read(laughs, .asx) }
  }

  @Test("mutated lists are read or refused, whatever is in them")
  func mutated() throws {
    let sources: [(String, Playlist.Format)] = [
      ("[playlist]\nFile1=http://a.example/\nTitle1=A\nFile2=b\n", .pls),
      ("#EXTM3U\n#EXTINF:-1,A\nhttp://a.example/\n", .m3u),
      ("<playlist><track><title>a</title><location>http://a.example/</location></track></playlist>", .xspf),
      ("<asx><entry><ref href='http://a.example/'/></entry></asx>", .asx),
    ]
    var random = SeededRandom(seed: 7)
    for round in 0..<4000 {
      let (text, format) = sources[round % sources.count]
      var bytes = Array(text.utf8)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let offset = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[offset] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(offset..<min(bytes.count, offset + 5))
        default: bytes.insert(contentsOf: bytes.prefix(offset), at: offset)
        }
        if bytes.isEmpty { bytes = [60] }
      }
      if let list = try? Playlist(bytes, format: format, base: base) {
        #expect(list.entries.allSatisfy { !$0.address.host.isEmpty })
      }
    }
  }
}
