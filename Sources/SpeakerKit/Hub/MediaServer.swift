internal import Crypto
package import EventLoop
internal import Glibc
internal import WebServer

/// Serves media to a hub: HTTP at one address of this machine, each medium under a path that can't be guessed. Confined
/// to the loop; its connections have threads of their own.
final class MediaServer {
  /// Media by their paths.
  private final class Shelf: Sendable {
    let media = Lock<[String: Media]>([:])
  }

  /// The address and the port at which it serves.
  let address: String
  let port: Int
  private let shelf = Shelf()
  /// The daemon with its connections.
  private let daemon: HTTPDaemon

  /// Starts to serve.
  /// - Parameters:
  ///   - address: an IPv4 address of this machine.
  ///   - port: 0 for a free one.
  /// - Throws: `speaker.lost` when the machine has no such address, the port is in use, or libmicrohttpd can't be
  ///   loaded.
  init(address: String, port: Int) throws(SpeakerError) {
    if let failure = HTTPDaemon.libraryFailure {
      throw SpeakerError(.lost, "can't serve the hub: \(failure.message)", hint: failure.hint)
    }
    let (listener, bound) = try Self.listener(address, port)
    let shelf = shelf
    let limits = HTTPDaemon.Limits(connections: 64, perAddress: 8, idleSeconds: 60)
    do throws(WebError) {
      // A thread for each connection: its reader may wait for sound.
      daemon = try HTTPDaemon(listener: listener, threads: .perConnection, limits: limits) { head in
        .answer(Self.answer(head, shelf.media.withLock { $0[head.path] }))
      }
    } catch {
      throw SpeakerError(.lost, "the endpoint for the hub can't be started at \(address) port \(bound)")
    }
    (self.address, self.port) = (address, bound)
  }

  deinit { stop() }

  /// Ends all connections and their threads, which another thread waits for: one may be in the call of a file system that
  /// does not answer.
  func close(on loop: EventLoop) async {
    withdrawAll()
    let daemon = daemon
    // Without a thread there is no other way than to wait here.
    do { _ = try await loop.callFiles(atMost: FileDeadline.limit * 2) { daemon.stop() } } catch { stop() }
  }

  /// Ends all connections and their threads, and waits for them.
  func stop() {
    withdrawAll()
    daemon.stop()
  }

  private func withdrawAll() {
    shelf.media.withLock { media in
      for medium in media.values { medium.drop() }
      media = [:]
    }
  }

  /// Publishes a medium.
  /// - Returns: its path, which is secret.
  /// - Throws: `speaker.lost` on a machine without random numbers.
  func publish(_ media: Media) throws(SpeakerError) -> String {
    guard let random = Digest.randomBytes(16) else {
      throw SpeakerError(.lost, "the machine has no random numbers for the path of a medium")
    }
    let digits = random.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let path = "/\(digits)/sound.wav"
    shelf.media.withLock { $0[path] = media }
    return path
  }

  /// Returns the URL of a path.
  func url(_ path: String) -> String { "http://\(address):\(port)\(path)" }

  /// Ends the delivery of a medium.
  func withdraw(_ path: String) { shelf.media.withLock { $0.removeValue(forKey: path) }?.drop() }

  private static func listener(_ address: String, _ port: Int) throws(SpeakerError) -> (Int32, Int) {
    func failure(_ reason: String) -> SpeakerError {
      SpeakerError(
        .lost, "can't serve the hub at \(address) port \(port): \(reason)",
        hint: "`serve` is the address of this machine that the hub can reach; `ip -4 address` lists them")
    }
    guard let place = NetworkAddress(address), !place.isV6 else { throw failure("it is not an IPv4 address") }
    do throws(SystemError) {
      let (descriptor, bound) = try ListeningSocket.open(ListenAddress(place, port: port))
      return (descriptor, bound)
    } catch { throw failure(error.text) }
  }

  // MARK: Answers, on the threads of connections

  private static func answer(_ head: RequestHead, _ media: Media?) -> WebAnswer {
    guard head.method == "GET" || head.method == "HEAD" else { return WebAnswer(405) }
    guard let media else { return WebAnswer(404) }
    var range: Range<Int>?
    if let bytes = media.bytes, let stated = head.header("range") {
      switch ByteRange(stated, of: bytes) {
      case .whole: break
      case .part(let part): range = part
      case .outside: return WebAnswer(416, headers: [("Content-Range", "bytes */\(bytes)")])
      }
    }
    let first = range?.lowerBound ?? 0
    var headers = [("Content-Type", "audio/wav"), ("Cache-Control", "no-store")]
    if media.bytes != nil { headers.append(("Accept-Ranges", "bytes")) }
    if let range, let bytes = media.bytes {
      headers.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes)"))
    }
    return WebAnswer(
      range == nil ? 200 : 206, headers: headers,
      .reader(count: range?.count ?? media.bytes) { MediaReader(media, firstByte: first) })
  }
}

/// The part of a file that a request asks for. Source: RFC 9110 §14.1.2.
enum ByteRange: Equatable {
  /// The whole file: the header asks for several parts, or is invalid.
  case whole
  case part(Range<Int>)
  case outside

  /// Reads the value of a Range header for a file of `count` bytes.
  init(_ text: String, of count: Int) {
    let parts = text.split(separator: "=", maxSplits: 1)
    let ends = parts.last?.split(separator: "-", omittingEmptySubsequences: false) ?? []
    guard parts.count == 2, parts[0] == "bytes", ends.count == 2 else {
      self = .whole
      return
    }
    switch (Int(ends[0]), Int(ends[1])) {
    case (let first?, let last?) where first <= last:
      self = first < count ? .part(first..<min(last, count - 1) + 1) : .outside
    case (let first?, nil) where ends[1].isEmpty: self = first < count ? .part(first..<count) : .outside
    case (nil, let length?) where ends[0].isEmpty && length > 0: self = .part(max(0, count - length)..<count)
    default: self = .whole
    }
  }
}

/// The library that serves media to a hub.
package enum MediaLibrary {
  /// The failure to load libmicrohttpd; nil when it is there.
  package static var failure: LibraryError? { HTTPDaemon.libraryFailure }
}
