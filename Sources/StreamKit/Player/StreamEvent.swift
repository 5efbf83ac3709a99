/// What listeners of a stream are told.
public enum StreamEvent: Sendable {
  case connecting, buffering, started, paused, stopped
  /// A title is heard; `isRealtime`: has come.
  case metadata(StreamTitle, isRealtime: Bool)
  /// A connection failed.
  case failed(StreamError)
  /// The buffer ran dry.
  case queueExhausted
  /// A file has been heard to its end; it stops.
  case fileComplete
  /// It was received again after a connection was lost.
  case reconnected(gap: Double, stitched: Bool, overlap: Int)
}

/// A title as stations send it.
public struct StreamTitle: Sendable, Equatable {
  /// As it was sent; `artist - title` from a feed.
  public let text: String
  /// `StreamUrl`, when one was sent.
  public let url: String?
  /// What a feed tells apart; either may be missing.
  private let told: Told?

  private struct Told: Sendable, Equatable {
    let artist, title: String?
  }

  init(_ metadata: ICYMetadata) {
    text = metadata.title ?? ""
    url = metadata.url
    told = nil
  }

  /// A title as a station sent it.
  init(_ text: String) { (self.text, url, told) = (text, nil, nil) }

  /// A title of a feed, which is cut to a thousand letters; nil when it says nothing.
  init?(artist: String?, title: String?) {
    let told = Told(
      artist: artist.map { String($0.prefix(1000)) }, title: title.map { String($0.prefix(1000)) })
    let parts = [told.artist, told.title].compactMap(\.self)
    guard !parts.isEmpty else { return nil }
    text = parts.joined(separator: " - ")
    url = nil
    self.told = told
  }

  /// What is in front of the first " - ", nil without one; or what a feed tells.
  public var artist: String? { told != nil ? told?.artist : parts?.artist }
  /// What is behind it, the whole without one; or what a feed tells.
  public var withoutArtist: String {
    if let told { return told.title ?? "" }
    return parts?.title ?? text
  }

  private var parts: (artist: String, title: String)? {
    let separator = Array(" - ")
    let letters = Array(text)
    guard letters.count > 3,
      let place = (0...(letters.count - 3)).first(where: { Array(letters[$0..<($0 + 3)]) == separator })
    else { return nil }
    return (String(letters[..<place]), String(letters[(place + 3)...]))
  }
}
