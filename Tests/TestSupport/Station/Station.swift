internal import EventLoop
internal import Glibc

/// A radio station on a free port of 127.0.0.1, with the faults of real ones. Responses are set by path, and
/// used in turn; the last one is repeated. One connection, one request.
///
/// Its methods may be called on any thread. Ends, with all its threads, with the last reference.
public final class Station: Sendable {
  /// The port, chosen by the kernel.
  public let port: UInt16
  private let core: StationCore
  private let thread: Lock<TestThread?>

  /// Opens a station without responses; every request gets 404 until some are set.
  public init() throws {
    let core = try StationCore()
    (self.core, port) = (core, core.port)
    thread = Lock(try TestThread { core.run() })
    core.listen(true)
  }

  deinit { close() }

  /// Returns the URL of `path`, which begins with a slash.
  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Responds to requests for `path` with each of `answers` in turn, and then with the last of them.
  public func answer(_ path: String, with answers: Answer...) { answer(path, with: answers) }

  /// Responds to requests for `path` with each of `answers` in turn, and then with the last of them.
  public func answer(_ path: String, with answers: [Answer]) {
    precondition(!answers.isEmpty, "an answer is given")
    core.state.withLock { $0.mounts[path] = StationCore.Mount(answers: answers) }
  }

  /// Responds to requests for all other paths with the files of a folder, as they are then.
  public func answer(withFilesIn folder: String) {
    core.state.withLock { $0.folder = StationCore.Folder(path: folder) }
  }

  /// Responds to all requests with what `make` returns for each, on the thread of its connection.
  public func answer(with make: @escaping @Sendable (Visit) -> Answer) {
    core.state.withLock { $0.make = make }
  }

  /// The requests so far, in the order of their arrival.
  public var visits: [Visit] { core.state.withLock { $0.visits } }

  /// Stops recording headers of requests, for a test that measures memory.
  public func forgetHeaders() { core.state.withLock { $0.keepsHeaders = false } }

  /// The number of open connections.
  public var openConnections: Int { core.state.withLock { $0.connections } }

  /// Refuses connections, as a host does without a listener at the port. Returns when that has happened.
  public func refuse() { core.listen(false) }

  /// Accepts connections again.
  public func accept() { core.listen(true) }

  /// Ends all connections that are open now, each when all sent bytes have arrived. Happens soon after this
  /// returns.
  public func cut(by ending: Answer.Ending = .reset) {
    core.state.withLock { $0.cuts.append(ending) }
  }

  /// Ends all connections and waits for the station's threads. A second call does nothing.
  public func close() {
    let thread = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let thread else { return }
    core.stop()
    thread.join()
  }
}

/// A request that a station received.
public struct Visit: Sendable {
  /// The method: `GET`.
  public let method: String
  /// The target: a path; a whole URL where the station is used as a proxy.
  public let target: String
  /// The headers in the order of their arrival.
  public internal(set) var headers: [(name: String, value: String)]
  /// The body of the request.
  public internal(set) var body: [UInt8] = []
  /// Bytes of the programme that existed at that moment; 0 for other content.
  public internal(set) var edge = 0
  /// Position in the programme of the first byte that this listener receives.
  public internal(set) var start = 0
  /// Position behind the last byte that was sent.
  public internal(set) var end = 0
  /// Bytes of a body that were sent, as far as sockets accept them.
  public internal(set) var sent = 0
  /// `true` until the connection has ended.
  public internal(set) var isOpen = true
  /// `true` during a stall of the response.
  public internal(set) var isSilent = false

  /// The value of a header, nil when it is absent.
  public subscript(name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  init?(_ text: String) {
    var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
    guard !lines.isEmpty else { return nil }
    let words = lines.removeFirst().split(separator: " ")
    guard words.count == 3 else { return nil }
    (method, target) = (String(words[0]), String(words[1]))
    headers = lines.compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
    }
  }

  /// The path, also of a whole URL.
  var path: String {
    guard target.hasPrefix("http://") else { return target }
    let rest = target.dropFirst(7)
    return rest.firstIndex(of: "/").map { String(rest[$0...]) } ?? "/"
  }
}

/// The state shared by the threads of a station.
final class StationCore: Sendable {
  /// The responses for a path, and the programme that they share.
  struct Mount: Sendable {
    var answers: [Answer]
    /// The end of the programme; nil before the first live response.
    var edge: Int?
    var opened = ContinuousClock.now

    /// Returns the current end of the programme of `live`.
    mutating func edge(of live: Live) -> Int {
      if case .controlled(let edge) = live.pace { return edge() }
      if edge == nil { (edge, opened) = (live.age, .now) }
      guard case .realTime(let factor) = live.pace else { return edge ?? 0 }
      let seconds = (ContinuousClock.now - opened) / .seconds(1)
      return (edge ?? 0) + Int(seconds * factor * Double(live.programme.bytesPerSecond))
    }
  }

  /// A folder whose files are sent by their names.
  struct Folder: Sendable {
    let path: String

    /// Returns the response with a file; nil without one.
    func answer(_ name: String) -> Answer? {
      guard !name.contains(".."), let bytes = try? readBytes(path + name) else { return nil }
      let type = Self.types.first { name.hasSuffix($0.end) }?.type ?? "application/octet-stream"
      return .file(bytes, type: type)
    }

    private static let types: [(end: String, type: String)] = [
      (".m3u8", "application/vnd.apple.mpegurl"), (".ts", "video/mp2t"), (".m4s", "video/iso.segment"),
      (".mp4", "video/mp4"), (".aac", "audio/aac"), (".mp3", "audio/mpeg"),
    ]
  }

  struct State: Sendable {
    var mounts: [String: Mount] = [:]
    /// Makes the responses to all requests, in place of `mounts`; nil for none.
    var make: (@Sendable (Visit) -> Answer)?
    /// The folder for paths that have no responses of their own.
    var folder: Folder?
    var visits: [Visit] = []
    var connections = 0
    /// The endings of past cuts; each applies to all connections that were open then.
    var cuts: [Answer.Ending] = []
    var keepsHeaders = true
    /// Numbers of threads that are about to end.
    var ended: [Int] = []
    var wantsListening = true
    var isListening = false
    var isStopped = false
  }

  private static let maximumConnections = 1000

  let port: UInt16
  let state = Lock(State())
  /// Reserves the port while no socket listens.
  private let reserve: Int32
  /// Wakes the accepting thread, when written to.
  private let bell: (reading: Int32, writing: Int32)
  /// Signals the end of the station, when the writing end is closed.
  private let stopping: (reading: Int32, writing: Int32)

  init() throws {
    (reserve, port) = try Socket.bound(port: 0)
    (bell, stopping) = (try Self.ends(), try Self.ends())
  }

  deinit { for descriptor in [reserve, bell.reading, bell.writing, stopping.reading] { close(descriptor) } }

  /// Returns two connected sockets. Not a pipe, which a child process of another test would inherit.
  private static func ends() throws -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw TestFailure("no sockets for a station") }
    return (ends[0], ends[1])
  }

  func listen(_ isWanted: Bool) {
    state.withLock { $0.wantsListening = isWanted }
    ring()
    while state.withLock({ $0.isListening != isWanted && !$0.isStopped }) { usleep(200) }
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    close(stopping.writing)
    ring()
  }

  private func ring() {
    var byte: UInt8 = 1
    _ = write(bell.writing, &byte, 1)
  }

  /// Accepts connections, each on a thread of its own, and waits for these threads at the end.
  func run() {
    var threads: [Int: TestThread] = [:]
    var accepted = 0
    var listener: Int32 = -1
    while !state.withLock({ $0.isStopped }) {
      let isWanted = state.withLock { $0.wantsListening }
      if isWanted, listener < 0 {
        listener = (try? Socket.bound(port: port).descriptor) ?? -1
        if listener >= 0 { Glibc.listen(listener, 512) }
      } else if !isWanted, listener >= 0 {
        close(listener)
        listener = -1
      }
      state.withLock { $0.isListening = listener >= 0 }
      var requests = [
        pollfd(fd: bell.reading, events: Int16(POLLIN), revents: 0),
        pollfd(fd: listener, events: Int16(POLLIN), revents: 0),  // ignored below 0
      ]
      _ = poll(&requests, 2, -1)
      if requests[0].revents != 0 {
        var bytes = [UInt8](repeating: 0, count: 64)
        _ = read(bell.reading, &bytes, 64)
      }
      guard requests[1].revents != 0 else { continue }
      let descriptor = Socket.accepted(from: listener)
      guard descriptor >= 0 else { continue }
      let isTaken = state.withLock { state in
        guard state.connections < Self.maximumConnections else { return false }
        state.connections += 1
        return true
      }
      let (stop, number) = (stopping.reading, accepted)
      accepted += 1
      let thread = isTaken ? try? TestThread { self.serve(descriptor, stop: stop, number) } : nil
      if let thread { threads[number] = thread } else { close(descriptor) }
      for ended in drainEnded() { threads.removeValue(forKey: ended)?.join() }
    }
    if listener >= 0 { close(listener) }
    for thread in threads.values { thread.join() }
  }

  private func drainEnded() -> [Int] {
    state.withLock { state in
      defer { state.ended = [] }
      return state.ended
    }
  }

  private func serve(_ descriptor: Int32, stop: Int32, _ number: Int) {
    do {
      let socket = Socket(descriptor, stop: stop)
      var connection = StationConnection(socket, of: self)
      connection.serve()
    }
    state.withLock { state in
      state.connections -= 1
      state.ended.append(number)
    }
  }
}
