import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite("The address of a stream", .waiting, .tags(.stream, .playlists))
struct StreamAddressTests {
  /// All that a text may be made of an address by: descriptions, a dump, and those of values that hold it.
  private func texts(of address: StreamAddress) -> [String] {
    let listed = ListedAddress(address: address, depth: 1)
    let holders: [Any] = [
      address, listed, Optional(address) as Any, [address: address],
      Playlist.Entry(address: address, title: "A"),
      StreamTarget(origin: .server(address), options: StreamOptions()),
      StreamContent(origin: .server(address)),
      ConnectionMachine(address), ConnectionMachine.Action.connect(address),
      ReceiverEvent.programme([listed]),
      FileList(current: listed, rest: [listed]), StreamAddress.Target.address(address),
    ]
    return holders.flatMap { holder in
      var dumped = ""
      dump(holder, to: &dumped)
      return ["\(holder)", String(describing: holder), String(reflecting: holder), dumped]
    } + [address.description, address.debugDescription]
  }

  @Test(
    "what is no address, or none that works here, is refused with its reason",
    arguments: [
      ("", StreamError.Kind.url, "the URL is empty"),
      ("morning fm", .url, "no station \"morning fm\" is configured, and it is not a URL"),
      ("http://", .url, "\"http://\" names no server"),
      ("gopher://a/b", .unsupported, "gopher:// addresses don't work here"),
      ("MMS://a", .unsupported, "mms:// addresses don't work here"),
      ("file:///etc/passwd", .unsupported, "file:// addresses don't work here"),
      ("/music/a.mp3", .url, "no station \"/music/a.mp3\" is configured, and it is not a URL"),
      ("1http://a", .url, "no station \"1http://a\" is configured, and it is not a URL"),
      ("http://a/\0b", .url, "the URL has a control character"),
      ("http://a/b\r\nc: d", .url, "the URL has a control character"),
      ("http://a/\u{7F}", .url, "the URL has a control character"),
      ("http://a@b@c/", .url, "\"http://c/\" names no server"),
      ("http://me:p@a:65536/", .url, "\"http://a:65536/\" has the port 65536: 1 to 65535 expected"),
      ("http://@/", .url, "\"http://…/\" names no server"),
      ("http://a b/", .url, "\"http://a b/\" names no server"),
      ("http://[a@[::1]/", .url, "\"http://[::1]/\" names no server"),
      ("http://[me:secret@[::1]/", .url, "\"http://[::1]/\" names no server"),
      ("http://a\\@b/", .url, "\"http://b/\" names no server"),
      ("http:a@b://c", .url, "\"…b://c\" names no server"),
    ])
  func refused(text: String, kind: StreamError.Kind, message: String) {
    let error = #expect(throws: StreamError.self) { try StreamAddress(text) }
    #expect(error?.kind == kind)
    #expect(error?.message == message)
  }

  @Test("a URL of 8,192 bytes is an address, a longer one is not")
  func longest() throws {
    let text = "http://me:secret@a/" + String(repeating: "x", count: 8192 - 19)
    #expect(try StreamAddress(text).textWithCredentials == text)
    let error = #expect(throws: StreamError.self) { try StreamAddress(text + "x") }
    #expect(error?.kind == .url && error?.message.utf8.count ?? 1000 < 200)
    #expect(!"\(String(reflecting: error))".contains("secret"))
    let endless = String(repeating: "@:/", count: 1 << 20)
    #expect(throws: StreamError.self) { try StreamAddress("http://" + endless) }
  }

  @Test("an address has its parts ready, and its whole text for requests alone")
  func parts() throws {
    let address: StreamAddress = "HTTPS://me:p%40@A.example:8000/x%20y/z.mp3?q=1#f"
    #expect(address.scheme == .https && address.host == "A.example" && address.port == 8000)
    #expect(address.path == "/x y/z.mp3" && address.url == "HTTPS://A.example:8000/x%20y/z.mp3?q=1#f")
    #expect(address.description == "HTTPS://A.example:8000/x%20y/z.mp3?…")
    #expect(address.textWithCredentials == "HTTPS://me:p%40@A.example:8000/x%20y/z.mp3?q=1#f")
    #expect(address.withoutCredentials == (try StreamAddress(address.url)))
    #expect(address.withoutCredentials != address)
    let request = try HTTPRequest(address)
    #expect(request.credentials == HTTPCredentials(user: "me", password: "p@"))
    let least: StreamAddress = "http://[::1]"
    #expect(least.host == "[::1]" && least.port == 80 && least.path == "/")
    #expect(("https://a" as StreamAddress).port == 443)
  }

  @Test(
    "a URL may be written as people write it: what servers don't accept is escaped, escapes stay",
    arguments: [
      ("http://a/Klassik Radio.mp3", "http://a/Klassik%20Radio.mp3"),
      ("http://a/größe?n=ü&m=1", "http://a/gr%C3%B6%C3%9Fe?n=%C3%BC&m=1"),
      ("http://a/x%20y/größe", "http://a/x%20y/gr%C3%B6%C3%9Fe"),
      ("http://a/100%/50%zz", "http://a/100%25/50%25zz"),
      ("http://a/[1]{2}|\"<>^`\\.mp3", "http://a/%5B1%5D%7B2%7D%7C%22%3C%3E%5E%60%5C.mp3"),
      ("http://a?q=ä", "http://a?q=%C3%A4"), ("http://a/x#a#b", "http://a/x#a%23b"),
      ("http://größe.example:8000/x", "http://xn--gre-6ka8i.example:8000/x"),
      ("http://MÜNCHEN.example", "http://xn--mnchen-3ya.example"),
      ("http://mü:pä@a/x", "http://a/x"), ("http://[::1]:80/ä", "http://[::1]:80/%C3%A4"),
    ])
  func written(text: String, url: String) throws {
    let address = try StreamAddress(text)
    #expect(address.url == url)
    #expect(try StreamAddress(address.textWithCredentials) == address)
    let request = try HTTPRequest(address)
    #expect(request.url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    if text.contains("@") { #expect(request.credentials == HTTPCredentials(user: "mü", password: "pä")) }
  }

  @Test("a host that can't exist names no server", arguments: ["http://\u{301}a/", "http://ä b/"])
  func impossibleHost(text: String) {
    let error = #expect(throws: StreamError.self) { try StreamAddress(text) }
    #expect(error?.kind == .url && error?.message.contains("names no server") == true)
    #expect(throws: HTTPError.self) { try HTTPRequest(text) }
  }

  @Test(
    "a server is the same when scheme, host and port are",
    arguments: [
      ("http://a/x", "HTTP://u:p@A:80/y", true), ("https://a", "https://a:443/", true),
      ("http://a", "https://a", false), ("http://a:443", "https://a", false),
      ("http://a:8000/x", "http://a:8001/x", false), ("http://a", "http://b", false),
      ("http://b@a/", "http://b/", false), ("http://a/@b", "http://b/", false),
    ] as [(StreamAddress, StreamAddress, Bool)])
  func sameServer(one: StreamAddress, other: StreamAddress, expected: Bool) {
    #expect(one.isSameServer(as: other) == expected && other.isSameServer(as: one) == expected)
  }

  @Test(
    "credentials are for the server of the stream's own address, and no other",
    arguments: [
      ("http://a/live", true), ("http://A:80/other", true), ("http://b/live", false),
      ("http://a:8000/live", false), ("https://a/live", false),
    ] as [(StreamAddress, Bool)])
  func credentials(address: StreamAddress, expected: Bool) throws {
    var options = ReceiverOptions()
    let inURL = HTTPCredentials(user: "me", password: "secret")
    let origin: StreamAddress = "http://me:secret@a/list.m3u"
    #expect(options.credentials(for: address, from: origin) == (expected ? inURL : nil))
    options.credentials = HTTPCredentials(user: "you", password: "other")
    #expect(options.credentials(for: address, from: origin) == (expected ? options.credentials : nil))
    #expect(options.credentials(for: "http://a/", from: "https://me:secret@a/") == nil)
  }

  @Test(
    "an address is shown without its query and fragment, which may be secrets",
    arguments: [
      ("http://a/x?token=sesame", "http://a/x?…"), ("http://a/x#sesame", "http://a/x#…"),
      ("https://me:pw@a:1/x?a=1&key=sesame#sesame", "https://a:1/x?…"), ("http://a/x", "http://a/x"),
      ("gopher://a/x?token=sesame", "gopher://a/x?…"), ("a file?.mp3", "a file?.mp3"),
      ("http://me:se?same@a/x?sesame", "http://…a/x?…"), ("http:///x?token=sesame", "http:///x?…"),
    ])
  func query(text: String, shown: String) throws {
    #expect(StreamAddress.shown(text) == shown && StreamAddress.shown(shown) == shown)
    do throws(StreamError) {
      #expect(try StreamAddress(text).description == shown)
    } catch { #expect(!"\(error) \(error.facts)".contains("sesame"), "\(error)") }
  }

  @Test(
    "an address is shown without user and password, one that is malformed too",
    arguments: [
      ("http://user:secret@host:8000/a@b?c=d@e", "http://host:8000/a@b?c=d@e"),
      ("http://me@a", "http://a"), ("http://a/x?u=@b", "http://a/x?u=@b"), ("nonsense@x", "…x"),
      ("http://a:p@b@c/", "http://c/"),
      ("https://host/a@b", "https://host/a@b"), ("http://[::1]:80/@x", "http://[::1]:80/@x"),
      ("http://user:se/cret@host/a", "http://…host/a"), ("http://user:se#cret@host", "http://…host"),
      ("user:secret@host/a", "…host/a"), ("http:/user:secret@host/a", "…host/a"),
      ("http//user:secret@host", "…host"), ("http:\\\\user:secret@host\\a", "…host\\a"),
      ("http://user:secret@", "http://…"), ("http://user:secret@ho st/a", "http://…ho st/a"),
      ("http://user:secret@\u{301}host/a", "http://\u{301}host/a"),
      ("http://user:secret\u{600}@host/a", "http://host/a"),
    ])
  func shown(text: String, shown: String) throws {
    #expect(StreamAddress.redacted(text) == shown && StreamAddress.redacted(shown) == shown)
    do throws(StreamError) {
      #expect(try StreamAddress(text).url == shown)
    } catch {
      var dumped = ""
      dump(error, to: &dumped)
      for told in ["\(error) \(error.facts)", String(reflecting: error), dumped] where text.contains("secret")
      {
        #expect(!told.contains("secret") && !told.contains("user"))
      }
    }
  }

  @Test(
    "no description and no dump of an address, or of a value that holds it, has the user and the password")
  func unsaid() throws {
    let address: StreamAddress = "http://jane:secret@a.example:8000/x"
    for text in texts(of: address) {
      #expect(!text.contains("secret") && !text.contains("jane"), "\(text)")
      #expect(text.contains("a.example"))
    }
    let errors = [
      StreamError(HTTPError(.refused, host: address.host), at: address),
      StreamError(HTTPError(.tls, host: address.host), at: address),
    ]
    for error in errors { #expect(error.url == "http://a.example:8000/x" && !"\(error)".contains("secret")) }
  }

  @Test(
    "a password in any address, well formed or not, is in no text, and goes to the server of the address alone"
  )
  func hostile() throws {
    let starts = ["http://", "https://", "HTTP://", "rtsp://", "http:", "http:/", "http:///", "//", ""]
    let pieces = [
      "a", "%40", "%00", "@", ":", "é", " ", "\\", "[", "]", "\u{301}", "\u{600}", "😀", "\u{1}", "\r\n",
      "b80",
      ".",
    ]
    let rests = pieces + ["/", "?", "#", "//", "[::1]", "b.example", ":8000", "/x", "/..", "%2F"]
    var random = SeededRandom(seed: 11)
    func text(_ pieces: [String]) -> String {
      (0..<Int.random(in: 0...5, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        .joined()
    }
    var accepted = 0
    for _ in 0..<20_000 {
      let given =
        (starts.randomElement(using: &random) ?? "") + text(pieces) + ":s3cret@" + text(rests)
      let shown = StreamAddress.redacted(given)
      #expect(
        !shown.contains("s3cret") && StreamAddress.redacted(shown) == shown, "\(given.debugDescription)")
      do throws(StreamError) {
        let address = try StreamAddress(given)
        accepted += 1
        #expect(!texts(of: address).contains { $0.contains("s3cret") }, "\(given.debugDescription)")
        #expect(try StreamAddress(shown).isSameServer(as: address), "\(given.debugDescription)")
        // libcurl, which sends the password, and libxml2, which decides about it, see one server.
        guard let request = try? HTTPRequest(address) else { continue }
        #expect(request.host.lowercased() == address.host.lowercased(), "\(given.debugDescription)")
        #expect(!request.url.contains("s3cret"), "\(given.debugDescription)")
      } catch { #expect(!"\(error) \(error.facts)".contains("s3cret"), "\(given.debugDescription)") }
    }
    #expect(accepted > 100)
  }

  @Test(
    "references are resolved with libxml2's rules, and keep user and password within the list's own server")
  func resolving() throws {
    let base: StreamAddress = "http://me:secret@a.example:8000/lists/b.pls?x#y"
    #expect(base.resolving("c d.mp3") == .address("http://me:secret@a.example:8000/lists/c%20d.mp3"))
    #expect(base.resolving("//b.example/x") == .address("http://b.example/x"))
    #expect(base.resolving("https://b.example/x") == .address("https://b.example/x"))
    #expect(base.resolving("file:///etc/passwd") == .unsupported(scheme: "file"))
    #expect(base.resolving("http:///x") == .unsupported(scheme: "http"))
    #expect(base.resolving("") == nil && base.resolving(String(repeating: "a", count: 8193)) == nil)
  }

  @Test("addresses of RTSP have their own ports, and are other servers than those of HTTP")
  func rtsp() throws {
    let (plain, encrypted): (StreamAddress, StreamAddress) = (
      "RTSP://me:s@cam.example/live?x=1", "rtsps://cam.example/live"
    )
    #expect(plain.port == 554 && encrypted.port == 322 && plain.scheme.isRTSP && encrypted.scheme.isEncrypted)
    #expect(!plain.isSameServer(as: encrypted) && !plain.isSameServer(as: "http://cam.example:554/"))
    #expect(plain.description == "RTSP://cam.example/live?…")
    let error = #expect(throws: StreamError.self) { try StreamAddress("mms://a/b" as String) }
    #expect(error?.hint?.contains("http:// address now") == true)
  }

  @Test("URLs are told from paths and names by their scheme")
  func schemes() {
    for (text, scheme) in [
      ("http://x", "http"), ("HTTPS://x", "https"), ("icy+x-1.0://", "icy+x-1.0"), ("a//b", nil),
      ("./a://b", nil), ("1a://b", nil), ("://b", nil), ("ä://b", nil), ("", nil),
    ] {
      #expect(StreamAddress.scheme(of: text) == scheme, "\(text)")
      #expect(StreamAddress.looksLikeURL(text) == (scheme != nil), "\(text)")
    }
    #expect(StreamAddress.scheme(of: "a:/b") == "a" && !StreamAddress.looksLikeURL("a:/b"))
  }
}
