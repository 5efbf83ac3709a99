internal import EventLoop
internal import StreamCore

/// Reads the answers of Live365: `Refresh`, in seconds, and `PlaylistEntry` elements with `Title` and
/// `Artist`; the first entry is being played.
enum Live365Feed {
  private static let names = FeedNames(event: "playlistentry", fields: ["title", "artist", "refresh"])

  /// Parses an answer.
  static func content(_ bytes: [UInt8]) throws(FeedFlaw) -> FeedContent {
    guard let document = FeedText.document(bytes, names) else { throw .notXML }
    let entries = document.elements(named: names.event)
    let refresh = document.root.value("refresh").flatMap { Double($0.prefix(16)) }
    guard !entries.isEmpty || refresh != nil else {
      throw .missing(
        names.event, in: document, hint: "ask for viewType=xml, and check the name of the station")
    }
    let title = entries.first.flatMap { StreamTitle(artist: $0.value("artist"), title: $0.value("title")) }
    return FeedContent(
      entries: title.map { [FeedContent.Entry(title: $0)] } ?? [],
      refresh: Duration(
        inSeconds: min(max(refresh.flatMap { $0.isFinite ? $0 : nil } ?? 60, 0), 86_400)))
  }
}
