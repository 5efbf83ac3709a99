/// Parses playlists in XML, also in malformed XML.
enum XMLPlaylist {
  /// Parses `<track><location>` with `<title>`. Source: https://www.xspf.org/spec
  static func xspf(_ bytes: [UInt8], _ base: String) -> [Playlist.Entry] {
    guard let document = XMLDocument(bytes) else { return [] }
    return document.elements(named: "track").flatMap { track in
      let title = track.children.first { $0.name == "title" }?.text
      return track.children.filter { $0.name == "location" }.map {
        Playlist.Entry(url: $0.text, title: title)
      }
    }
  }

  /// Parses `<entry><ref href=…>` with `<title>`, written as HTML is: an element that closes itself may hold
  /// what follows. Source:
  /// https://learn.microsoft.com/windows/win32/wmp/windows-media-metafile-elements-reference
  static func asx(_ bytes: [UInt8], _ base: String) -> [Playlist.Entry] {
    guard let document = XMLDocument(bytes, isLoose: true) else { return [] }
    let entries = document.elements(named: "entry").flatMap { entry in
      let title = entry.children.first { $0.name == "title" }?.text
      return entry.elements(named: "ref")
        .compactMap { $0.attributes["href"] }.map { Playlist.Entry(url: $0, title: title) }
    }
    let others = document.elements(named: "entryref").compactMap { $0.attributes["href"] }
    return entries + others.map { Playlist.Entry(url: $0) }
  }
}
