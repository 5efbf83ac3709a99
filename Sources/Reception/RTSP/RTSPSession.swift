internal import EventLoop
internal import HTTP
internal import RTSP
internal import StreamCore

/// One connection of an `RTSPReceiver`, with the session on it.
struct RTSPSession {
  let connection: NetworkConnection
  /// The address of the connection, to which redirects may have led.
  let address: StreamAddress
  /// The number of redirects that led to it.
  let redirects: Int
  var client: RTSPClient
  var parser = RTSPParser()
  /// The medium, once it is chosen.
  var reception: RTPReception?
  var sound: RTPSound?
  /// The name of the presentation.
  var name: String?
  /// `true` once sound has come.
  var hasSounded = false

  /// The limit of redirects.
  static let redirectLimit = 10
}

extension SessionDescription {
  /// The name of the presentation; nil for one that servers give to all of theirs.
  var stationName: String? {
    guard let name, !name.hasPrefix("Session streamed "), name != "No Name" else { return nil }
    return name
  }
}

extension StreamAddress {
  /// The URL of the server for libcurl, which opens the connection.
  var serverURL: String { "\(scheme.isEncrypted ? "https" : "http")://\(host):\(port)/" }

  /// User and password of the URL.
  var rtspCredentials: RTSPCredentials? {
    let twin = (scheme.isEncrypted ? "https" : "http") + textWithCredentials.drop { $0 != ":" }
    return (try? HTTPRequest(twin))?.credentials.map { RTSPCredentials($0) }
  }

  /// The URL in requests: without user, password and fragment.
  var requestURI: String { String(url.prefix { $0 != "#" }) }
}

extension RTSPCredentials {
  init(_ credentials: HTTPCredentials) { self.init(user: credentials.user, password: credentials.password) }
}

extension StreamError {
  /// The error of a session at `url`.
  init(_ error: RTSPError, url: String) {
    let kind: Kind =
      switch error.kind {
      case .malformed, .tooLarge: .content
      case .auth: .auth
      case .unsupported: .unsupported
      case .ended: .network
      case .status:
        switch error.status {
        case 401, 403: .auth
        case 404, 410: .notFound
        // The session is not known any more: another one is requested.
        case 454: .network
        default: .http
        }
      }
    self.init(
      kind, "\(url) \(error.message)", hint: error.hint ?? Self.hint(kind),
      facts: [.init("url", .string(url))] + error.facts)
  }

  private static func hint(_ kind: Kind) -> String? {
    switch kind {
    case .auth: "write them in the address, rtsp://USER:PASSWORD@HOST/, or as the option auth"
    case .notFound: "check the path of the address"
    case .content: "check the address and the port"
    default: nil
    }
  }

  /// The error of a presentation without a medium that is understood.
  static func noMedium(_ obstacle: RTPObstacle, _ url: String) -> StreamError {
    StreamError(
      .unsupported, "\(url) has no sound that can be received: found \(obstacle.words)",
      hint: "set the sound of the server to AAC, MP3, Opus, G.711 or L16",
      facts: [.init("url", .string(url)), .init("found", .string(obstacle.words))])
  }
}
