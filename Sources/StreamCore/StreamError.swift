package import Codecs
public import EventLoop
package import HTTP

/// A failure of a stream. Matched by `kind` in Swift and by `code` in scripts.
public typealias StreamError = Failure<StreamErrorKind>

/// The kinds of failure of a stream; the raw value is the stable code, as scripts see it.
public enum StreamErrorKind: String, FailureKind {
  /// The URL is missing, or can't be parsed.
  case url = "stream.url"
  /// An unsupported scheme, kind of playlist or format.
  case unsupported = "stream.unsupported"
  /// The server does not have the resource, or a playlist lists nothing playable.
  case notFound = "stream.not_found"
  /// The server answers with another status of 400 or more.
  case http = "stream.http"
  /// The server requires credentials, or refuses those sent.
  case auth = "stream.auth"
  /// The server's name is not known.
  case dns = "stream.dns"
  /// The time limit for an answer passed.
  case timeout = "stream.timeout"
  /// The connection was refused or broke, or there is no network.
  case network = "stream.network"
  /// The content is not audio.
  case content = "stream.content"
  /// The stream can't be moved to that position.
  case noSeek = "stream.no_seek"
  /// The stream plays on another session.
  case inUse = "stream.in_use"
}

extension StreamError {
  /// The error of a server that closed the connection.
  package static func ended(_ url: String) -> StreamError {
    StreamError(.network, "\(url) ended the connection", facts: [.init("url", .string(url))])
  }

  /// The error of a station that sent nothing during a whole recording.
  package static func silent(_ url: String) -> StreamError {
    StreamError(
      .timeout, "\(url) gave no sound before the recording was to end",
      facts: [.init("url", .string(url))])
  }

  /// The error of a file on this machine, which is not recorded.
  package static func isFileHere(_ path: String) -> StreamError {
    StreamError(
      .unsupported, "\(path) is a file of this machine, which is copied, not recorded",
      hint: "copy it with task.exec { \"cp\", FROM, TO }; files at a URL are recorded",
      facts: [.init("url", .string(path))])
  }

  /// The error of a file whose recording began before it was known to be a file.
  package static func notRecorded(_ url: String) -> StreamError {
    StreamError(
      .unsupported, "\(url) is a file, which can't be recorded by the connection that plays it",
      hint: "record it once it plays, or with another stream", facts: [.init("url", .string(url))])
  }

  /// The error of a file recorded with options for stations, or by a second recording: a file is copied
  /// whole.
  package static func recordedAsIs(_ url: String) -> StreamError {
    StreamError(
      .unsupported, "\(url) is a file, which is recorded as it is, once",
      hint: "leave out split, append and format, and record it by one recording",
      facts: [.init("url", .string(url))])
  }

  /// A file that is to be recorded up to a length, and whose sound is not divided into frames here.
  package static func recordedWhole(_ codec: Codec, _ url: String) -> StreamError {
    StreamError(
      .unsupported, "\(url) can't be cut to a length: a file of \(codec.title) is recorded whole",
      hint: "record it without a length", facts: [.init("url", .string(url))])
  }

  /// The error of a file that is being recorded: its bytes come faster than real time.
  package static func copied(_ url: String) -> StreamError {
    StreamError(
      .unsupported, "\(url) is a file that is being recorded, and can't be played meanwhile",
      hint: "play it with another stream", facts: [.init("url", .string(url))])
  }

  /// The error of a file that was replaced by another one while it was received.
  package static func changed(_ url: String, while done: String) -> StreamError {
    StreamError(
      .content, "\(url) has changed while it was \(done)", hint: "start it again",
      facts: [.init("url", .string(url))])
  }

  /// The error of a file whose server sends no parts of it, and ends each connection before new bytes come.
  package static func incomplete(_ url: String, beyond byte: Int) -> StreamError {
    StreamError(
      .network,
      "\(url) can't be received beyond byte \(byte): its server ends each connection by there, and sends no parts of "
        + "files (Range)",
      hint: "use another server, or download it and use it by its path",
      facts: [.init("url", .string(url)), .init("byte", .int(byte))])
  }

  /// The error of a server whose answer has no body.
  package static func empty(_ url: String, status: Int) -> StreamError {
    StreamError(
      .content, "\(url) sent an empty answer: HTTP \(status) without a byte of sound",
      hint: "check the address, and that the station is on the air",
      facts: [.init("url", .string(url)), .init("status", .int(status))])
  }

  /// The error of the files of a list that are not recorded.
  /// - Parameter files: at least one file.
  package static func leftOut(_ files: [ListedAddress]) -> StreamError {
    let count = files.count == 1 ? "another file, which is" : "\(files.count) more files, which are"
    return StreamError(
      .unsupported, "the list has \(count) not recorded: \(files.first?.address.description ?? "")",
      hint: "record each file by its own URL")
  }

  /// A station whose sound can only be recorded.
  package static func notPlayed(_ codec: Codec, _ url: String) -> StreamError {
    let name = codec == .other ? codec.title : "\(codec)"
    return StreamError(
      .unsupported, "\(url) can't be played: a live stream of \(name) can't be decoded here",
      hint: "look for one in MP3 or AAC, or record it", facts: [.init("url", .string(url))])
  }

  /// The error of a server that sends content other than sound.
  package static func noAudio(_ found: String, from url: String) -> StreamError {
    let facts: [ErrorFact] = [.init("url", .string(url)), .init("found", .string(found))]
    if found == ForeignSound.transportStream {
      return StreamError(
        .unsupported, "\(url) can't be played: found \(found)", hint: "look for one in MP3 or AAC",
        facts: facts)
    }
    if ContentSniffer.isForeign(found) {
      return StreamError(
        .unsupported, "\(url) can't be received: \(found) is not supported",
        hint: "look for one in MP3, AAC, Vorbis, Opus or FLAC in Ogg", facts: facts)
    }
    return StreamError(
      .content, "\(url) sends no audio: found \(found)", hint: "check the address in a browser", facts: facts)
  }

  /// The error of a failed transfer.
  package init(_ error: HTTPError, at address: StreamAddress) {
    self.init(error, url: address.description, host: address.host)
  }

  /// The error of a failed transfer.
  /// - Parameter url: the URL as it is shown.
  package init(_ error: HTTPError, url: String, host: String) {
    let kind: Kind =
      switch error.kind {
      case .badURL: .url
      case .unsupportedScheme: .unsupported
      case .resolve: .dns
      case .timeout: .timeout
      case .protocolViolation, .headersTooLarge, .encoding, .tooLarge: .content
      case .badHeader, .connect, .refused, .reset, .tls, .tooManyRedirects, .cancelled, .system: .network
      }
    let facts: [ErrorFact] = [.init("url", .string(url))]
    // Without any network, too, a name is not found and a host not reached.
    let isUnreached = [.resolve, .connect, .timeout].contains(error.kind)
    if isUnreached, !NetworkThread.isNetworkUp(for: host) {
      self.init(
        .network, "no network: \(error.message)", hint: "connect this machine to a network", facts: facts)
      return
    }
    self.init(kind, error.message, hint: error.hint ?? Self.hint(error), facts: facts)
  }

  private static func hint(_ error: HTTPError) -> String? {
    switch error.kind {
    case .tls where error.isUntrusted:
      "to trust it, name its file: --ca-file FILE, or ca_file of the station in the configuration"
    case .tls: "check the clock of this machine and its certificates (ca-certificates)"
    case .tooManyRedirects: "check the address in a browser"
    case .refused: "check the address, and that the server runs"
    case .resolve: "check the address, and that this machine is online"
    default: nil
    }
  }
}

extension StreamError {
  /// The HTTP status of the failed answer.
  public var status: Int? { if case .int(let status) = fact("status") { status } else { nil } }

  /// The address that failed.
  public var url: String? { if case .string(let url) = fact("url") { url } else { nil } }

  /// The wait that the server asks for.
  public var retryAfter: Duration? {
    if case .int(let seconds) = fact("retry_after") { .seconds(seconds) } else { nil }
  }

  /// The error of an answer with a status of 400 or more.
  /// - Parameter retryAfter: the delay that the server asks for.
  public static func answer(_ status: Int, url: String, retryAfter: Duration? = nil) -> StreamError {
    var facts: [ErrorFact] = [.init("url", .string(url)), .init("status", .int(status))]
    if let retryAfter { facts.append(.init("retry_after", .int(Int(retryAfter.components.seconds)))) }
    switch status {
    case 401, 403:
      return StreamError(
        .auth, "\(url) requires a valid user and password (HTTP \(status))",
        hint: "set them with auth = {user, password}", facts: facts)
    case 404, 410:
      return StreamError(
        .notFound, "there is nothing at \(url) (HTTP \(status))", hint: "check the address", facts: facts)
    default: return StreamError(.http, "\(url) answered with HTTP \(status)", facts: facts)
    }
  }
}
