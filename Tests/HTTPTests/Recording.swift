import EventLoop
import Glibc
import HTTP
import TestSupport
import Testing

// @unchecked Sendable: the semaphore is made for many threads, `state` has a lock, the rest does not change.
/// A receiver that records all events, and lets a test wait for them.
final class Recording: HTTPReceiver, @unchecked Sendable {
  struct State: Sendable {
    var heads: [HTTPResponse] = []
    var body: [UInt8] = []
    var chunks = 0
    var ends: [HTTPError?] = []
  }

  private let state = Lock(State())
  private let semaphore: UnsafeMutablePointer<sem_t>
  private let onHead: @Sendable (HTTPResponse) -> HTTPFlow
  private let onBody: @Sendable (_ sum: Int) -> HTTPFlow

  /// - Parameter onBody: called with the number of bytes so far.
  init(
    onHead: @escaping @Sendable (HTTPResponse) -> HTTPFlow = { _ in .more },
    onBody: @escaping @Sendable (_ sum: Int) -> HTTPFlow = { _ in .more }
  ) {
    (self.onHead, self.onBody) = (onHead, onBody)
    semaphore = .allocate(capacity: 1)  // freed in deinit
    sem_init(semaphore, 0, 0)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    state.withLock { $0.heads.append(head) }
    defer { sem_post(semaphore) }
    return onHead(head)
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    let sum = state.withLock { state in
      state.body.append(contentsOf: bytes)
      state.chunks += 1
      return state.body.count
    }
    defer { sem_post(semaphore) }
    return onBody(sum)
  }

  func receiveEnd(_ failure: HTTPError?) {
    state.withLock { $0.ends.append(failure) }
    sem_post(semaphore)
  }

  var heads: [HTTPResponse] { state.withLock { $0.heads } }
  var body: [UInt8] { state.withLock { $0.body } }
  var chunks: Int { state.withLock { $0.chunks } }
  var text: String { String(decoding: body, as: UTF8.self) }
  var ends: [HTTPError?] { state.withLock { $0.ends } }

  /// Waits until the recorded state fulfils `condition`, for a minute at most.
  func wait(_ what: String = "more", until condition: @Sendable (State) -> Bool) throws {
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += 60
    while !state.withLock({ condition($0) }) {
      guard sem_timedwait(semaphore, &deadline) == 0 || errno == EINTR else {
        throw TestFailure("waited a minute for \(what)")
      }
    }
  }

  /// Waits for the end.
  /// - Returns: the error of the end, nil for none.
  func waitForEnd() throws -> HTTPError? {
    try wait("the end") { !$0.ends.isEmpty }
    return ends[0]
  }
}

/// Polls until `condition` holds, for a minute at most: for states without an event.
func eventually(_ what: String, _ condition: () throws -> Bool) throws {
  for _ in 0..<60_000 {
    if try condition() { return }
    usleep(1_000)
  }
  throw TestFailure("waited a minute until \(what)")
}

extension NetworkThread {
  /// Requests `url` and waits for the end.
  func get(_ url: String, _ change: (inout HTTPRequest) -> Void = { _ in }) throws -> Recording {
    var request = try HTTPRequest(url)
    change(&request)
    let recording = Recording()
    _ = start(request, on: recording)
    _ = try recording.waitForEnd()
    return recording
  }

  /// Returns the error with which a request of `url` ends.
  func failure(_ url: String, _ change: (inout HTTPRequest) -> Void = { _ in }) throws -> HTTPError? {
    try get(url, change).waitForEnd()
  }
}
