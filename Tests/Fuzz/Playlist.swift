import EventLoop
@testable import Reception
@testable import StreamCore

private let bases = [
  "http://radio.example/lists/morning.pls?x=1#y", "https://user:pass@[::1]:8443", "http://a/b/../c/",
].compactMap { try? StreamAddress($0) }
private let other = try? StreamAddress("http://other/")
private let formats: [Playlist.Format] = [.pls, .m3u, .xspf, .asx]

/// libFuzzer's entry: a list. The first byte is its format, the second the address that it came from.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 2 else { return 0 }
  let input = Array(UnsafeBufferPointer(start: start + 2, count: count - 2))
  let (format, base) = (formats[Int(start[0]) % formats.count], bases[Int(start[1]) % bases.count])
  _ = Playlist.format(start: input, contentType: nil, path: "/a.m3u")
  do throws(StreamError) {
    let list = try Playlist(input, format: format, base: base)
    require(
      !list.entries.isEmpty && list.entries.count <= Playlist.entryLimit, "lists are of 1 to 1,000 places")
    for entry in list.entries { check(entry, base) }
    require(try Playlist(input, format: format, base: base) == list, "a list says the same twice")
  } catch {
    require(
      [.notFound, .unsupported, .content].contains(error.kind), "what is no list is told as such")
    require(!error.message.utf8.contains { $0 == 10 || $0 == 13 }, "messages are of one line")
  }
  checkAddress(String(decoding: input, as: UTF8.self))
  return 0
}

private func check(_ entry: Playlist.Entry, _ base: StreamAddress) {
  let text = entry.address.textWithCredentials
  require(
    text.utf8.allSatisfy { $0 > 32 && $0 < 127 }, "addresses have no blanks and no letters beyond ASCII")
  require(
    base.resolving(text) == other?.resolving(text), "a whole address does not depend on where it was found")
}

/// Any text in place of an address.
private func checkAddress(_ text: String) {
  let redacted = StreamAddress.redacted(text)
  require(StreamAddress.redacted(redacted) == redacted, "an address without a password has none to hide")
  guard let address = try? StreamAddress(text) else { return }
  require(!address.host.isEmpty, "what can be played has a host")
  require(address.description == StreamAddress.shown(address.url), "an address is shown as its URL is")
  for text in [redacted, address.url] {
    require(
      (try? StreamAddress(text))?.isSameServer(as: address) == true,
      "an address without its password leads to the same server")
  }
}
