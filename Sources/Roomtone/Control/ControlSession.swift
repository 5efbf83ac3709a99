internal import JSONText

/// The protocol with one client of the control socket: newline-delimited JSON-RPC 2.0, without the socket.
///
/// The owner performs the actions, reports the results of requests with `finished`, and writes `output`.
struct ControlSession {
  /// The longest request in bytes.
  static let longestRequest = 1 << 20
  /// The unread output in bytes above which a client is dropped.
  static let longestBacklog = 1 << 20
  /// The longest answer in bytes.
  static let longestAnswer = 512 << 10
  /// The most requests of a client that are under way.
  static let mostCalls = 100

  /// The number of a request of this client.
  typealias CallNumber = Int

  /// A step for the owner.
  enum Action {
    /// Performs a request.
    case perform(CallNumber, RPCRequest)
    /// Gives up requests whose answers the client no longer waits for.
    case cancel([CallNumber])
    /// Closes the connection at once.
    case close
  }

  private enum Phase {
    case open
    /// No more input is read; the connection closes when all is answered and written.
    case closing
    case closed
  }

  private struct Call {
    let id: JSON?
    /// The batch that the answer belongs to; nil for a single request.
    let batch: Int?
  }

  private struct Batch {
    var open: Int
    var answers: [JSON] = []
  }

  private var phase = Phase.open
  private var input: [UInt8] = []
  private var calls: [CallNumber: Call] = [:]
  private var batches: [Int: Batch] = [:]
  private var last = 0
  /// Bytes that were not written yet.
  private(set) var output: [UInt8] = []

  /// `true` while input is read.
  var isReading: Bool { if case .open = phase { true } else { false } }
  /// `true` after the end of the connection.
  var isClosed: Bool { if case .closed = phase { true } else { false } }

  /// Receives bytes, cut anywhere.
  mutating func received(_ bytes: some Collection<UInt8>) -> [Action] {
    guard isReading else { return [] }
    var actions: [Action] = []
    var rest = Array(bytes)[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      input += rest[..<end]
      rest = rest[(end + 1)...]
      if input.count > Self.longestRequest { return actions + refuseLongRequest() }
      let line = input
      input.removeAll()
      if !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { actions += perform(RPCLine(line)) }
      guard isReading else { return actions }
    }
    input += rest
    if input.count > Self.longestRequest { actions += refuseLongRequest() }
    return actions
  }

  /// The client sends nothing more: requests under way are still answered.
  mutating func inputEnded() -> [Action] {
    guard isReading else { return [] }
    phase = .closing
    return closeIfDone()
  }

  /// The connection has ended.
  mutating func disconnected() -> [Action] {
    guard !isClosed else { return [] }
    return end()
  }

  /// A request has ended. Does nothing when it is not under way.
  mutating func finished(_ number: CallNumber, _ result: Result<JSON, RPCError>) -> [Action] {
    guard let call = calls.removeValue(forKey: number) else { return [] }
    var actions: [Action] = []
    let answer = call.id.map { Self.answer(result, id: $0) }
    if let batch = call.batch {
      if let answer { batches[batch]?.answers.append(answer) }
      batches[batch]?.open -= 1
      actions = sendIfWhole(batch)
    } else if let answer {
      actions = send(answer)
    }
    return actions + closeIfDone()
  }

  /// Sends a notification.
  mutating func notify(_ method: String, _ parameters: JSON) -> [Action] {
    guard isReading else { return [] }
    return send(RPCAnswer.notification(method, parameters))
  }

  /// Removes the first bytes of `output`, which were written.
  mutating func wrote(_ count: Int) -> [Action] {
    output.removeFirst(count)
    return closeIfDone()
  }

  // MARK: Requests

  private mutating func perform(_ line: RPCLine) -> [Action] {
    switch line {
    case .single(let element): return perform(element, batch: nil)
    case .batch(let elements):
      last += 1
      let batch = last
      batches[batch] = Batch(open: elements.count)
      return elements.flatMap { perform($0, batch: batch) }
    }
  }

  private mutating func perform(_ element: RPCLine.Element, batch: Int?) -> [Action] {
    last += 1
    switch element {
    case .request(let request):
      calls[last] = Call(id: request.id, batch: batch)
      guard calls.count <= Self.mostCalls else {
        return finished(
          last, .failure(RPCError(.invalidRequest, "\(Self.mostCalls) requests of this client are under way"))
        )
      }
      return [.perform(last, request)]
    case .invalid(let id, let error):
      calls[last] = Call(id: id, batch: batch)
      return finished(last, .failure(error))
    }
  }

  private mutating func refuseLongRequest() -> [Action] {
    input = []
    let error = RPCError(.invalidRequest, "the request is longer than \(Self.longestRequest >> 20) MiB")
    phase = .closing
    return send(RPCAnswer.failure(error, id: .null)) + closeIfDone()
  }

  // MARK: Output

  private static func answer(_ result: Result<JSON, RPCError>, id: JSON) -> JSON {
    switch result {
    case .success(let value): RPCAnswer.result(value, id: id)
    case .failure(let error): RPCAnswer.failure(error, id: id)
    }
  }

  private mutating func sendIfWhole(_ number: Int) -> [Action] {
    guard let batch = batches[number], batch.open == 0 else { return [] }
    batches[number] = nil
    return batch.answers.isEmpty ? [] : send(.array(batch.answers))
  }

  private mutating func send(_ message: JSON) -> [Action] {
    guard !isClosed else { return [] }
    var line = Array(message.line.utf8)
    if line.count > Self.longestAnswer {
      let error = RPCError(
        .failed, "the answer is longer than \(Self.longestAnswer >> 10) KiB", hint: "ask for less at once")
      line = Array(RPCAnswer.failure(error, id: message["id"] ?? .null).line.utf8)
    }
    guard output.count + line.count < Self.longestBacklog else { return end() }
    output += line
    output.append(UInt8(ascii: "\n"))
    return []
  }

  private mutating func closeIfDone() -> [Action] {
    guard case .closing = phase, calls.isEmpty, output.isEmpty else { return [] }
    return end()
  }

  private mutating func end() -> [Action] {
    let open = calls.keys.sorted()
    (phase, input, output, calls, batches) = (.closed, [], [], [:], [:])
    return (open.isEmpty ? [] : [.cancel(open)]) + [.close]
  }
}
