/// What listeners of a stream are told.
public enum StreamEvent: Sendable {
  case connecting, buffering, started, paused, stopped
  /// A title is heard; `isRealtime`: has come.
  case metadata(StreamTitle, isRealtime: Bool)
  /// A connection failed.
  case failed(StreamError)
  /// The buffer ran dry.
  case queueExhausted
  /// It was received again after a connection was lost.
  case reconnected(gap: Double, stitched: Bool, overlap: Int)
}

/// A title as stations send it.
public struct StreamTitle: Sendable, Equatable {
  /// As it was sent.
  public let text: String
  /// `StreamUrl`, when one was sent.
  public let url: String?

  init(_ metadata: ICYMetadata) {
    text = metadata.title ?? ""
    url = metadata.url
  }

  /// What is in front of the first " - "; nil without one.
  public var artist: String? { parts?.artist }
  /// What is behind it; the whole without one.
  public var withoutArtist: String { parts?.title ?? text }

  private var parts: (artist: String, title: String)? {
    let separator = Array(" - ")
    let letters = Array(text)
    guard letters.count > 3,
      let place = (0...(letters.count - 3)).first(where: { Array(letters[$0..<($0 + 3)]) == separator })
    else { return nil }
    return (String(letters[..<place]), String(letters[(place + 3)...]))
  }
}
