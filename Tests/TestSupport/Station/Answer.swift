/// How a station answers one request, with its faults. Made from one of the static functions, then changed:
/// `.live(show).dropping(at: 100_000, by: .reset)`.
public struct Answer: Sendable {
  /// How a connection ends.
  public enum Ending: Sendable {
    /// In order (FIN).
    case finish
    /// By a reset (RST), after all that was sent has arrived.
    case reset
  }

  enum Body: Sendable {
    /// Sent as it is, without a head.
    case raw([UInt8])
    case bytes([UInt8])
    /// Bytes that are made when they are asked for.
    case made(@Sendable () -> [UInt8])
    /// As bytes, of which a part can be asked for.
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

  init(_ statusLine: String, _ body: Body) { (self.statusLine, self.body) = (statusLine, body) }

  // MARK: What is sent

  /// A live programme, as Icecast sends it: HTTP/1.0, until the connection ends.
  public static func live(_ live: Live, type: String = "audio/mpeg") -> Answer {
    var answer = Answer("HTTP/1.0 200 OK", .live(live))
    answer.headers = [("Content-Type", type)] + live.stationHeaders
    return answer
  }

  /// A page, a playlist, a feed.
  public static func page(_ bytes: [UInt8], type: String, status: String = "200 OK") -> Answer {
    var answer = Answer("HTTP/1.1 \(status)", .bytes(bytes))
    answer.headers = [("Content-Type", type)]
    return answer
  }

  /// The same, as text.
  public static func page(_ text: String, type: String = "text/html", status: String = "200 OK") -> Answer {
    page(Array(text.utf8), type: type, status: status)
  }

  /// A page that is made when it is asked for.
  public static func page(type: String, _ make: @escaping @Sendable () -> String) -> Answer {
    var answer = Answer("HTTP/1.1 200 OK", .made { Array(make().utf8) })
    answer.headers = [("Content-Type", type)]
    return answer
  }

  /// A file, whole or from an offset on.
  public static func file(_ bytes: [UInt8], type: String) -> Answer {
    var answer = Answer("HTTP/1.1 200 OK", .file(bytes))
    answer.headers = [("Content-Type", type), ("Accept-Ranges", "bytes")]
    return answer
  }

  /// The same, from a server that gives no parts of files.
  public func withoutRanges() -> Answer {
    changed { answer in
      answer.givesRanges = false
      answer.headers.removeAll { $0.name == "Accept-Ranges" }
    }
  }

  /// A status and nothing else, such as `"503 Service Unavailable"`.
  public static func status(_ status: String, retryAfter: String? = nil) -> Answer {
    let answer = page("", status: status)
    return retryAfter.map { answer.with("Retry-After", $0) } ?? answer
  }

  /// A redirect.
  public static func redirect(to location: String, status: String = "302 Found") -> Answer {
    page("elsewhere", status: status).with("Location", location)
  }

  /// These bytes in place of an answer.
  public static func raw(_ bytes: [UInt8]) -> Answer { Answer("", .raw(bytes)) }
  /// This text in place of an answer.
  public static func raw(_ text: String) -> Answer { raw(Array(text.utf8)) }

  /// A head that never ends.
  public static let endlessHeaders = Answer("HTTP/1.1 200 OK", .endlessHeaders)

  // MARK: What is different

  /// With one more header.
  public func with(_ name: String, _ value: String) -> Answer {
    changed { $0.headers.append((name, value)) }
  }
  /// With `ICY 200 OK` for a status line, as Shoutcast 1 has it.
  public func asShoutcast() -> Answer { changed { $0.statusLine = "ICY 200 OK" } }
  /// With a Content-Length of `count`, whatever it is.
  public func claiming(_ count: Int) -> Answer { changed { $0.contentLength = count } }
  /// In chunks of `count` bytes.
  public func chunked(_ count: Int) -> Answer {
    changed {
      $0.chunk = count
      $0.statusLine = $0.statusLine.replacingPrefix("HTTP/1.0", "HTTP/1.1")
    }
  }
  /// Compressed. For bodies of bytes.
  public func gzipped() -> Answer {
    changed { answer in
      guard case .bytes(let bytes) = answer.body else { preconditionFailure("only bytes are compressed") }
      answer.body = .bytes(gzip(bytes))
      answer.headers.append(("Content-Encoding", "gzip"))
    }
  }
  /// Only for who knows the password; 401 for others.
  public func requiring(user: String, password: String) -> Answer {
    changed { $0.credentials = (user, password) }
  }
  /// In sends of these sizes, in turn, with `delay` between them.
  public func inPieces(_ sizes: Int..., delay: Duration = .zero) -> Answer {
    changed { ($0.pieces, $0.pieceDelay) = (sizes, delay) }
  }
  /// With a head that comes byte by byte, with `delay` between two.
  public func withSlowHead(_ delay: Duration) -> Answer { changed { $0.headDelay = delay } }
  /// Silent for `duration` (nil: for ever) when `position` bytes of the body have gone.
  public func stalling(at position: Int, for duration: Duration? = nil) -> Answer {
    changed { $0.stall = (position, duration) }
  }
  /// With an end when `position` bytes of the body have gone, titles counted, chunk sizes not.
  /// - Parameter outage: bytes by which the programme moves on before anybody is let in again.
  /// - Parameter refusal: for how long connections are refused then.
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
  /// How fast a programme comes into being.
  public enum Pace: Sendable {
    /// As fast as the listener that is furthest reads it.
    case asRead
    /// This many times as fast as in real time.
    case realTime(Double)
    /// Up to the position that this says when it is asked, for a test that moves time itself.
    case told(@Sendable () -> Int)
  }

  /// What is sent.
  public var programme: Programme
  /// How many bytes from before they came a listener gets at most.
  public var burst = 65_535
  /// The burst begins at a multiple of this.
  public var block = 1_400
  /// How fast.
  public var pace = Pace.asRead
  /// Bytes between two titles for who asks for titles, nil: none.
  public var metaint: Int?
  /// Sent to every listener in front of the burst.
  public var preRoll: [UInt8] = []
  /// Bytes of the programme that there are when the station opens.
  public var age = 200_000
  /// `icy-name` and such.
  public var stationHeaders: [(name: String, value: String)] = [
    ("icy-name", "Test station"), ("icy-br", "128"),
  ]

  /// The programme as Icecast sends it unless told otherwise.
  public init(_ programme: Programme) { self.programme = programme }

  /// Where the burst of a listener begins that comes when there are `edge` bytes.
  public func start(edge: Int) -> Int { (max(0, edge - burst) + block - 1) / block * block }
}

extension String {
  fileprivate func replacingPrefix(_ old: String, _ new: String) -> String {
    hasPrefix(old) ? new + dropFirst(old.count) : self
  }
}
