internal import EventLoop

/// A title as stations send it.
public struct StreamTitle: Sendable, Equatable {
  /// The text as it was sent; `artist - title` from a feed.
  public let text: String
  /// `StreamUrl`, if it was sent.
  public let url: String?
  /// The parts of a feed's title; either may be missing.
  private let tagged: Tagged?

  private struct Tagged: Sendable, Equatable {
    let artist, title: String?
  }

  package init(_ metadata: ICYMetadata) {
    text = metadata.title ?? ""
    url = metadata.url
    tagged = nil
  }

  /// Creates a title as a station sent it.
  package init(_ text: String) { (self.text, url, tagged) = (text, nil, nil) }

  /// Creates a title of a feed, cut to a thousand letters each; nil if it is empty.
  package init?(artist: String?, title: String?) {
    let tagged = Tagged(
      artist: artist.map { String($0.cleaned.prefix(1000)) },
      title: title.map { String($0.cleaned.prefix(1000)) })
    let parts = [tagged.artist, tagged.title].compactMap(\.self)
    guard !parts.isEmpty else { return nil }
    text = parts.joined(separator: " - ")
    url = nil
    self.tagged = tagged
  }

  /// The text before the first " - ", nil without one; or the artist of a feed.
  public var artist: String? { tagged != nil ? tagged?.artist : parts?.artist }
  /// The text after it, or the whole text without one; or the title of a feed.
  public var withoutArtist: String {
    if let tagged { return tagged.title ?? "" }
    return parts?.title ?? text
  }

  private var parts: (artist: String, title: String)? {
    let (letters, space, dash) = (Array(text.utf8), UInt8(ascii: " "), UInt8(ascii: "-"))
    guard letters.count > 3,
      let index = (0...(letters.count - 3)).first(where: {
        letters[$0] == space && letters[$0 + 1] == dash && letters[$0 + 2] == space
      })
    else { return nil }
    return (
      String(decoding: letters[..<index], as: UTF8.self),
      String(decoding: letters[(index + 3)...], as: UTF8.self)
    )
  }
}
