/// A station's response to one request, with its faults. Made by one of the static functions, then changed:
/// `.live(show).dropping(at: 100_000, by: .reset)`.
public struct Answer: Sendable {
  /// The end of a connection.
  public enum Ending: Sendable {
    /// An orderly end (FIN).
    case finish
    /// A reset (RST), after all sent bytes have arrived.
    case reset
  }

  enum Body: Sendable {
    /// Bytes sent unchanged, without a head.
    case raw([UInt8])
    case bytes([UInt8])
    /// Bytes that are made for each request.
    case made(@Sendable () -> [UInt8])
    /// Bytes of which ranges can be requested.
    case file([UInt8])
    case live(Live)
    case endlessHeaders
  }

  var statusLine: String
  var headers: [(name: String, value: String)] = []
  var body: Body
  var credentials: (user: String, password: String)?
  var contentLength: Int?
  var chunk: Int?
  var pieces: [Int] = []
  var pieceDelay: Duration = .zero
  var headDelay: Duration = .zero
  var stall: (position: Int, duration: Duration?)?
  var drop: (position: Int, ending: Ending)?
  var outage = 0
  var refusal: Duration?
  var givesRanges = true

  /// The time until a connection looks again for bytes that were not due.
  var wait: Duration {
    if case .live(let live) = body, case .realTime = live.pace { .milliseconds(10) } else { .milliseconds(2) }
  }

  init(_ statusLine: String, _ body: Body) { (self.statusLine, self.body) = (statusLine, body) }

  // MARK: Content

  /// Returns a live programme, as Icecast sends it: HTTP/1.0, until the connection ends.
  public static func live(_ live: Live, type: String = "audio/mpeg") -> Answer {
    var answer = Answer("HTTP/1.0 200 OK", .live(live))
    answer.headers = [("Content-Type", type)] + live.stationHeaders
    return answer
  }

  /// Returns a page, a playlist, a feed.
  public static func page(_ bytes: [UInt8], type: String, status: String = "200 OK") -> Answer {
    var answer = Answer("HTTP/1.1 \(status)", .bytes(bytes))
    answer.headers = [("Content-Type", type)]
    return answer
  }

  /// Returns a page of text.
  public static func page(_ text: String, type: String = "text/html", status: String = "200 OK") -> Answer {
    page(Array(text.utf8), type: type, status: status)
  }

  /// Returns a page that is made for each request.
  public static func page(type: String, _ make: @escaping @Sendable () -> String) -> Answer {
    var answer = Answer("HTTP/1.1 200 OK", .made { Array(make().utf8) })
    answer.headers = [("Content-Type", type)]
    return answer
  }

  /// Returns a file, whole or from an offset on.
  public static func file(_ bytes: [UInt8], type: String) -> Answer {
    var answer = Answer("HTTP/1.1 200 OK", .file(bytes))
    answer.headers = [("Content-Type", type), ("Accept-Ranges", "bytes")]
    return answer
  }

  /// Returns the file from a server that ignores range requests.
  public func withoutRanges() -> Answer {
    changed { answer in
      answer.givesRanges = false
      answer.headers.removeAll { $0.name == "Accept-Ranges" }
    }
  }

  /// Returns a status without a body, such as `"503 Service Unavailable"`.
  public static func status(_ status: String, retryAfter: String? = nil) -> Answer {
    let answer = page("", status: status)
    return retryAfter.map { answer.with("Retry-After", $0) } ?? answer
  }

  /// Returns a redirect.
  public static func redirect(to location: String, status: String = "302 Found") -> Answer {
    page("elsewhere", status: status).with("Location", location)
  }

  /// Returns raw bytes in place of a response.
  public static func raw(_ bytes: [UInt8]) -> Answer { Answer("", .raw(bytes)) }
  /// Returns raw text in place of a response.
  public static func raw(_ text: String) -> Answer { raw(Array(text.utf8)) }

  /// An endless head.
  public static let endlessHeaders = Answer("HTTP/1.1 200 OK", .endlessHeaders)

  // MARK: Changes

  /// Adds a header.
  public func with(_ name: String, _ value: String) -> Answer {
    changed { $0.headers.append((name, value)) }
  }
  /// Replaces the status line by `ICY 200 OK`, as of Shoutcast 1.
  public func asShoutcast() -> Answer { changed { $0.statusLine = "ICY 200 OK" } }
  /// Adds a Content-Length of `count`, independent of the body.
  public func claiming(_ count: Int) -> Answer { changed { $0.contentLength = count } }
  /// Sends the body in chunks of `count` bytes.
  public func chunked(_ count: Int) -> Answer {
    changed {
      $0.chunk = count
      $0.statusLine = $0.statusLine.replacingPrefix("HTTP/1.0", "HTTP/1.1")
    }
  }
  /// Compresses the body. For bodies of bytes.
  public func gzipped() -> Answer {
    changed { answer in
      guard case .bytes(let bytes) = answer.body else { preconditionFailure("only bytes are compressed") }
      answer.body = .bytes(gzip(bytes))
      answer.headers.append(("Content-Encoding", "gzip"))
    }
  }
  /// Requires a user and a password; the response to others is 401.
  public func requiring(user: String, password: String) -> Answer {
    changed { $0.credentials = (user, password) }
  }
  /// Sends pieces of these sizes, in turn, with `delay` between them.
  public func inPieces(_ sizes: Int..., delay: Duration = .zero) -> Answer {
    changed { ($0.pieces, $0.pieceDelay) = (sizes, delay) }
  }
  /// Sends the head byte by byte, with `delay` between two.
  public func withSlowHead(_ delay: Duration) -> Answer { changed { $0.headDelay = delay } }
  /// Stalls for `duration` (nil: for ever) when `position` bytes of the body have been sent.
  public func stalling(at position: Int, for duration: Duration? = nil) -> Answer {
    changed { $0.stall = (position, duration) }
  }
  /// Ends the connection when `position` bytes of the body have been sent, titles counted, chunk sizes not.
  /// - Parameter outage: bytes by which the programme advances before connections are accepted again.
  /// - Parameter refusal: the time for which connections are refused after that.
  public func dropping(
    at position: Int, by ending: Ending = .finish, outage: Int = 0, refusing refusal: Duration? = nil
  ) -> Answer {
    changed { ($0.drop, $0.outage, $0.refusal) = ((position, ending), outage, refusal) }
  }

  private func changed(_ change: (inout Answer) -> Void) -> Answer {
    var answer = self
    change(&answer)
    return answer
  }
}

/// A programme as a station sends it to listeners.
public struct Live: Sendable {
  /// The rate at which a programme is produced.
  public enum Pace: Sendable {
    /// The rate at which the most advanced listener reads it.
    case asRead
    /// A multiple of real time.
    case realTime(Double)
    /// Up to the position that the closure returns at each request, for a test that advances time itself.
    case controlled(@Sendable () -> Int)
  }

  /// The programme to send.
  public var programme: Programme
  /// The most bytes before its arrival that a listener receives.
  public var burst = 65_535
  /// The unit in bytes at a multiple of which the burst begins.
  public var block = 1_400
  /// The rate of production.
  public var pace = Pace.asRead
  /// Bytes between two titles for listeners that ask for titles, nil: none.
  public var metaint: Int?
  /// Bytes sent to every listener in front of the burst.
  public var preRoll: [UInt8] = []
  /// Bytes of the programme that exist when the station opens.
  public var age = 200_000
  /// The headers `icy-name` and such.
  public var stationHeaders: [(name: String, value: String)] = [
    ("icy-name", "Test station"), ("icy-br", "128"),
  ]

  /// A programme with Icecast's defaults.
  public init(_ programme: Programme) { self.programme = programme }

  /// Returns the start of the burst of a listener that arrives when `edge` bytes exist.
  public func start(edge: Int) -> Int { (max(0, edge - burst) + block - 1) / block * block }
}

extension String {
  fileprivate func replacingPrefix(_ old: String, _ new: String) -> String {
    hasPrefix(old) ? new + dropFirst(old.count) : self
  }
}
