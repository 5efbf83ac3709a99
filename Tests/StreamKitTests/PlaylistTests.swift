import EventLoop
import StreamKit
import TestSupport
import TestTraits
import Testing

@Suite("Playlists", .waiting)
struct PlaylistTests {
  private let base = "http://radio.example/lists/morning.pls"

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
        .init(url: "http://one.example:8000/a.mp3?x=1&y=2", title: "Café d'Or"),
        .init(url: "http://radio.example/b.mp3"), .init(url: "http://radio.example/lists/c%20d.mp3"),
      ])
  }

  @Test("m3u: plain, extended, with a byte order mark, in Latin-1")
  func m3u() throws {
    #expect(
      try read("\u{FEFF}#EXTM3U\n#EXTINF:-1,Morning FM\nhttp://a.example/\n\n# a comment\n  b.mp3  \n", .m3u)
        == [
          .init(url: "http://a.example/", title: "Morning FM"),
          .init(url: "http://radio.example/lists/b.mp3"),
        ])
    let latin = Array("#EXTINF:1,Caf".utf8) + [0xE9] + Array("\nhttp://a.example/x".utf8)
    #expect(try Playlist(latin, format: .m3u, base: base).entries.first?.title == "Café")
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
        .init(url: "http://a.example/1", title: "One & Two"),
        .init(url: "http://radio.example/lists/2.mp3", title: "One & Two"),
        .init(url: "http://b.example/?a=1&b=2"),
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
      try read(text, .asx).map(\.url) == [
        "http://a.example/x?a=1&b=2", "http://b.example/", "http://c.example/more.asx",
      ])
  }

  @Test("a list without playable entries is named in the error; of unknown schemes, one is")
  func unusable() {
    let empty = #expect(throws: StreamError.self) { try read("[playlist]\n", .pls) }
    #expect(empty?.kind == .notFound)
    let refused = #expect(throws: StreamError.self) {
      try read("mms://a.example/x\nrtsp://b.example/\n", .m3u)
    }
    #expect(refused?.kind == .unsupported)
    #expect(refused?.message.contains("mms://") == true)
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
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + 5))
        default: bytes.insert(contentsOf: bytes.prefix(place), at: place)
        }
        if bytes.isEmpty { bytes = [60] }
      }
      if let list = try? Playlist(bytes, format: format, base: base) {
        #expect(list.entries.allSatisfy { StreamURL.isPlayable($0.url) })
      }
    }
  }
}

@Suite("Stream URLs", .waiting)
struct StreamURLTests {
  @Test(
    "a text that is no usable address is refused with its reason",
    arguments: [
      ("", StreamError.Kind.url, "the URL is empty"),
      ("morning fm", .url, "no station \"morning fm\" is configured, and it is not a URL"),
      ("http://", .url, "\"http://\" names no server"),
      ("rtsp://a/b", .unsupported, "rtsp:// addresses don't work here"),
      ("MMS://a", .unsupported, "mms:// addresses don't work here"),
      ("1http://a", .url, "no station \"1http://a\" is configured, and it is not a URL"),
      ("http://a/\0b", .url, "the URL has a control character"),
      ("http://a/b\r\nc: d", .url, "the URL has a control character"),
    ])
  func refused(url: String, kind: StreamError.Kind, message: String) {
    let error = #expect(throws: StreamError.self) { try StreamURL.check(url) }
    #expect(error?.kind == kind)
    #expect(error?.message == message)
  }

  @Test(
    "addresses that work pass",
    arguments: ["http://a", "HTTPS://user:pw@a.example:8000/x?y=z", "http://[::1]:80/"])
  func accepted(url: String) throws { try StreamURL.check(url) }

  @Test(
    "a server is the same when scheme, host and port are",
    arguments: [
      ("http://a/x", "HTTP://u:p@A:80/y", true), ("https://a", "https://a:443/", true),
      ("http://a", "https://a", false),
      ("http://a:8000/x", "http://a:8001/x", false), ("http://a", "http://b", false), ("x", "x", false),
    ])
  func sameServer(one: String, other: String, expected: Bool) {
    #expect(StreamURL.isSameServer(one, other) == expected)
  }

  @Test(
    "the description of an address has no user and no password",
    arguments: [
      ("http://me:secret@a.example:8000/x@y", "http://a.example:8000/x@y"),
      ("http://a/x?u=@b", "http://a/x?u=@b"),
      ("http://me@a", "http://a"), ("nonsense@x", "…x"), ("http://a:p@b@c/", "http://c/"),
    ])
  func shown(url: String, expected: String) { #expect(StreamURL.shown(url) == expected) }

  @Test(
    "an address is shown without user and password, one that is malformed too",
    arguments: [
      ("http://user:secret@host:8000/a@b?c=d@e", "http://host:8000/a@b?c=d@e"),
      ("https://host/a@b", "https://host/a@b"), ("http://[::1]:80/@x", "http://[::1]:80/@x"),
      ("http://user:se/cret@host/a", "http://…host/a"), ("http://user:se#cret@host", "http://…host"),
      ("user:secret@host/a", "…host/a"), ("http:/user:secret@host/a", "…host/a"),
      ("http//user:secret@host", "…host"), ("http:\\\\user:secret@host\\a", "…host\\a"),
      ("http://user:secret@", "http://…"), ("http://user:secret@ho st/a", "http://…ho st/a"),
    ])
  func shown(url: String, shown: String) {
    #expect(StreamURL.shown(url) == shown && StreamURL.shown(shown) == shown)
    guard url.contains("secret") else { return }
    do throws(StreamError) { try StreamURL.check(url) } catch {
      #expect(!"\(error) \(error.facts)".contains("secret") && !"\(error)".contains("user"))
    }
  }
}
