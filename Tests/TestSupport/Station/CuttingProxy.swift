internal import EventLoop
internal import Glibc

/// A TCP proxy on a free port of 127.0.0.1 that can cut the connections to a server behind it.
///
/// Its methods may be called on any thread. Ends, with its thread, with the last reference.
public final class CuttingProxy: Sendable {
  /// The port, chosen by the kernel.
  public let port: UInt16
  private let state: Lock<State>
  private let thread: Lock<TestThread?>

  private struct State {
    var wantsCut = false
    var isCut = false
    var isStopped = false
  }

  /// A proxy in front of a server on `target`.
  /// - Parameter first: the port of the server that gets the first connection in its place.
  public init(to target: UInt16, first: UInt16? = nil) throws {
    let (listener, port) = try Socket.bound(port: 0)
    guard listen(listener, 16) == 0 else { throw TestFailure("the proxy cannot listen") }
    self.port = port
    let state = Lock(State())
    self.state = state
    thread = Lock(try TestThread { Self.run(listener, port, first, target, state) })
  }

  deinit {
    state.withLock { $0.isStopped = true }
    let thread = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    thread?.join()
  }

  /// Cuts all connections with a reset, and refuses new ones until `mend`. Returns when that has happened.
  public func cut() { set(true) }

  /// Accepts connections again.
  public func mend() { set(false) }

  private func set(_ isCut: Bool) {
    state.withLock { $0.wantsCut = isCut }
    while state.withLock({ $0.isCut != isCut && !$0.isStopped }) { usleep(1_000) }
  }

  private static func run(
    _ bound: Int32, _ port: UInt16, _ first: UInt16?, _ target: UInt16, _ state: Lock<State>
  ) {
    var (listener, first) = (bound, first)
    var lines: [(client: Int32, server: Int32)] = []
    while true {
      let now = state.withLock { $0 }
      if now.wantsCut || now.isStopped {
        for line in lines {
          reset(line.client)
          close(line.server)
        }
        lines = []
        if listener >= 0 { close(listener) }
        listener = -1
        state.withLock { $0.isCut = true }
        if now.isStopped { return }
      } else if listener < 0, let (new, _) = try? Socket.bound(port: port), listen(new, 16) == 0 {
        listener = new
        state.withLock { $0.isCut = false }
      }
      step(listener, &lines, &first, target)
    }
  }

  /// Forwards the bytes that arrive within 10 ms.
  private static func step(
    _ listener: Int32, _ lines: inout [(client: Int32, server: Int32)], _ first: inout UInt16?,
    _ target: UInt16
  ) {
    var requests = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
    for line in lines {
      requests.append(pollfd(fd: line.client, events: Int16(POLLIN), revents: 0))
      requests.append(pollfd(fd: line.server, events: Int16(POLLIN), revents: 0))
    }
    guard poll(&requests, nfds_t(requests.count), 10) > 0 else { return }
    for (index, line) in lines.enumerated().reversed() {
      let (fromClient, fromServer) = (requests[1 + 2 * index].revents, requests[2 + 2 * index].revents)
      let isOpen =
        (fromServer == 0 || pass(line.server, line.client))
        && (fromClient == 0 || pass(line.client, line.server))
      if isOpen { continue }
      close(line.client)
      close(line.server)
      lines.remove(at: index)
    }
    guard requests[0].revents != 0 else { return }
    let client = Socket.accepted(from: listener)
    guard client >= 0 else { return }
    let server = try? Socket.connected(to: first ?? target)
    first = nil
    if let server {
      lines.append((client, server))
    } else {
      close(client)
    }
  }

  /// Forwards received bytes.
  /// - Returns: `false` when either side is gone.
  private static func pass(_ from: Int32, _ to: Int32) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = recv(from, &buffer, buffer.count, 0)
    var sent = 0
    while sent < count {
      let more = buffer[sent..<count].withUnsafeBytes {
        send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard more > 0 else { return false }
      sent += more
    }
    return count > 0
  }

  private static func reset(_ socket: Int32) {
    var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    close(socket)
  }
}
