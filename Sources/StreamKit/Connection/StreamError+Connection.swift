internal import EventLoop
internal import HTTP

extension StreamError {
  /// A server that has closed.
  static func ended(_ url: String) -> StreamError {
    StreamError(.network, "\(url) ended the connection", facts: [.init("url", .string(url))])
  }

  /// A station that sent nothing as long as it was wanted.
  static func silent(_ url: String) -> StreamError {
    StreamError(
      .timeout, "\(url) gave no sound before the recording was to end",
      facts: [.init("url", .string(url))])
  }

  /// A file, which does not go by as a station does.
  static func notRecorded(_ url: String) -> StreamError {
    StreamError(
      .unsupported, "\(url) is a file, which can't be recorded", hint: "download it",
      facts: [.init("url", .string(url))])
  }

  /// A station whose sound can only be recorded.
  static func notPlayed(_ codec: StreamCodec, _ url: String) -> StreamError {
    let name = codec == .other ? "this kind" : "\(codec)"
    return StreamError(
      .unsupported, "\(url) can't be played: a live stream of \(name) can't be decoded here",
      hint: "look for one in MP3 or AAC, or record it", facts: [.init("url", .string(url))])
  }

  /// A server that sends something else than sound.
  static func noAudio(_ found: String, from url: String) -> StreamError {
    StreamError(
      .content, "\(url) sends no audio: found \(found)", hint: "check the address in a browser",
      facts: [.init("url", .string(url)), .init("found", .string(found))])
  }

  /// What a failed transfer is to a stream.
  init(_ error: HTTPError, url: String) {
    let kind: Kind =
      switch error.kind {
      case .badURL: .url
      case .unsupportedScheme: .unsupported
      case .resolve, .timeout: .timeout
      case .protocolViolation, .headersTooLarge, .encoding, .tooLarge: .content
      case .badHeader, .connect, .refused, .reset, .tls, .tooManyRedirects, .cancelled, .system: .network
      }
    let facts: [ErrorFact] = [.init("url", .string(url))]
    // A name is not found and a host not reached where there is no network at all.
    let isUnreached = [.resolve, .connect, .timeout].contains(error.kind)
    if isUnreached, !NetworkThread.isNetworkUp(for: StreamURL.host(url) ?? "") {
      self.init(
        .network, "no network: \(error.message)", hint: "connect this machine to a network", facts: facts)
      return
    }
    self.init(kind, error.message, hint: Self.hint(error.kind), facts: facts)
  }

  private static func hint(_ kind: HTTPError.Kind) -> String? {
    switch kind {
    case .tls:
      "check the clock of this machine and its certificates (ca-certificates), or the station's http:// address"
    case .tooManyRedirects: "check the address in a browser"
    case .refused, .resolve: "check the address, and that the server runs"
    default: nil
    }
  }
}
