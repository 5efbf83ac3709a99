internal import CMicroHTTPD
internal import EventLoop

/// A request whose body is received, and its answer. The server's thread until it waits for its answer.
package final class Exchange: Sendable {
  /// The head of the request.
  package let head: RequestHead
  private let core: HTTPDaemonCore
  private let limit: BodyLimit?
  private let perform: (@Sendable (Exchange, [UInt8]) -> Void)?
  private let ignored: Int
  private let phase: Lock<Phase>

  private enum Phase {
    /// The body so far.
    case receiving([UInt8])
    /// A body that is ignored, and the bytes that it may still have.
    case ignoring(left: Int, WebAnswer)
    /// The request waits for its answer at this connection, which is suspended.
    case waiting(UInt)
    /// The answer, which the server's thread sends next.
    case answered(WebAnswer)
    /// The answer is sent, or the connection is gone.
    case over
  }

  /// A request whose body is passed to `perform`.
  init(
    _ head: RequestHead, _ core: HTTPDaemonCore, _ limit: BodyLimit, ignoring ignored: Int,
    _ perform: @escaping @Sendable (Exchange, [UInt8]) -> Void
  ) {
    (self.head, self.core, self.limit, self.ignored, self.perform) = (head, core, limit, ignored, perform)
    phase = Lock(.receiving([]))
  }

  /// A request whose body is ignored.
  init(_ head: RequestHead, _ core: HTTPDaemonCore, ignoring ignored: Int, _ answer: WebAnswer) {
    (self.head, self.core, self.ignored, limit, perform) = (head, core, ignored, nil, nil)
    phase = Lock(.ignoring(left: ignored, answer))
  }

  /// Sends the answer; only the first one counts. The loop's thread, on which the server is stopped, or the server's.
  package func answer(_ answer: WebAnswer) {
    let connection = phase.withLock { phase -> UInt? in
      guard case .waiting(let connection) = phase else { return nil }
      phase = .answered(answer)
      return connection
    }
    guard let connection else { return }
    core.remove(self)
    core.mhd.MHD_resume_connection(OpaquePointer(bitPattern: connection))
  }

  // MARK: The server's thread

  /// Receives a part of the body, its end, or a call after `answer`.
  func proceed(
    _ connection: OpaquePointer, _ part: UnsafeRawBufferPointer, _ unread: UnsafeMutablePointer<Int>
  ) -> MHD_Result {
    unread.pointee = 0
    return part.isEmpty ? proceed(connection) : receive(part)
  }

  private func receive(_ part: UnsafeRawBufferPointer) -> MHD_Result {
    let added = Array(part)
    let isReceived = phase.withLock { phase -> Bool in
      switch phase {
      case .receiving(var body):
        guard let limit, body.count + added.count <= limit.bytes else {
          let left = ignored - body.count - added.count
          phase = limit.map { .ignoring(left: left, $0.answer) } ?? .over
          return left >= 0
        }
        phase = .over  // so that the array has one owner while it grows
        body += added
        phase = .receiving(body)
        return true
      case .ignoring(let left, let answer):
        phase = .ignoring(left: left - added.count, answer)
        return left >= added.count
      case .waiting, .answered, .over: return false
      }
    }
    return isReceived ? .YES : .NO
  }

  private enum Step {
    case perform([UInt8])
    case send(WebAnswer)
    case wait
    case close
  }

  private func proceed(_ connection: OpaquePointer) -> MHD_Result {
    let step = phase.withLock { phase -> Step in
      switch phase {
      case .receiving(let body):
        phase = .waiting(UInt(bitPattern: connection))
        return .perform(body)
      case .ignoring(_, let answer), .answered(let answer):
        phase = .over
        return .send(answer)
      case .waiting: return .wait
      case .over: return .close
      }
    }
    switch step {
    case .perform(let body):
      guard core.add(self) else {
        end()
        return core.send(.ending, connection)
      }
      core.deadlines?.answering(UInt(bitPattern: connection))
      // Before the request is passed on: its answer may come at once, on another thread.
      core.mhd.MHD_suspend_connection(connection)
      perform?(self, body)
      return .YES
    case .send(let answer):
      core.deadlines?.answering(UInt(bitPattern: connection))
      return core.send(answer, connection)
    case .wait: return .YES
    case .close: return .NO
    }
  }

  /// Ends the exchange: the request is complete, or its connection is gone.
  func end() {
    phase.withLock { $0 = .over }
    core.remove(self)
  }
}
