internal import EventLoop
internal import HeadsetLink

/// The connection to a headset of one make: the seam for other protocols. Confined to a loop.
///
/// A driver reaches one headset by its address and exchanges the requests of `Messages` with it, over any
/// protocol; abilities that the headset lacks are missing from its capabilities and refused as `unsupported`.
protocol HeadsetDriver: AnyObject {
  /// The headset's address, as messages show it.
  var name: String { get }
  /// `true` while requests can be made.
  var isConnected: Bool { get }
  /// Calls `listener` with the events of the headset and of the connection, in order.
  func onEvent(_ listener: @escaping (DriverEvent) -> Void)
  /// Connects, once; ends the connection that is there.
  /// - Throws: `notAvailable`, `connectionFailed`, `timeout`, `auth`, `challengeLength`.
  func connect() async throws(HeadsetError) -> BoardInfo
  /// Makes a request, after all earlier requests. Several writes of an update may be under way at once, up to
  /// the number that the board granted with the answer to the last `BeginTransfer`; all other requests are
  /// sent one at a time.
  /// - Returns: the pending reply, which may be a refusal; it fails when its time is over.
  func begin<Request: LinkRequest>(_ request: Request) -> PendingAnswer<LinkReply<Request.Answer>>
  /// Ends the session and the connection. Pending requests fail as `notConnected`.
  func disconnect() async
  /// Ends the connection without a message to the headset.
  func drop()
}

extension HeadsetDriver {
  /// Makes a request and waits for its answer; a refusal is an error.
  func request<Request: LinkRequest>(_ request: Request) async throws(HeadsetError) -> Request.Answer {
    try await begin(request).value().answer(to: Request.operation)
  }

  /// Makes a request that restarts the board, which may end the link before its answer arrives.
  /// - Returns: the answer; nil when none arrived, though the board may have restarted.
  /// - Throws: the board's refusal alone.
  func requestRestart<Request: LinkRequest>(_ request: Request) async throws(HeadsetError) -> Request.Answer?
  {
    let reply: LinkReply<Request.Answer>
    do throws(HeadsetError) { reply = try await begin(request).value() } catch { return nil }
    return try reply.answer(to: Request.operation)
  }
}

extension LinkReply {
  /// Returns the answer to a request of `operation`.
  /// - Throws: the refusal.
  func answer(to operation: LinkOperation) throws(HeadsetError) -> Answer {
    switch self {
    case .done(let answer): return answer
    case .refused(let refusal): throw HeadsetError(refusal, to: operation)
    }
  }
}

/// An event that a headset reports by itself, or the loss of its connection.
enum DriverEvent: Equatable {
  case noiseCancelling(Bool)
  case ambient(Side, Int)
  case equalizer(preset: Int, values: [Int])
  case battery(percent: Int, isCharging: Bool)
  /// The board starts its bootloader.
  case bootloader
  /// The board's state of an update.
  case transfer(TransferStatus)
  /// An event that can't be read.
  case unreadable(HeadsetError)
  /// The connection is lost, once for each connection; not by `disconnect` or `connect`.
  case lost(HeadsetError)
}

/// The answer to a request that is under way. Confined to a loop.
final class PendingAnswer<Answer> {
  private var result: Result<Answer, HeadsetError>?
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Creates an answer that is pending.
  init() {}

  /// Creates an answer that is there already.
  init(_ result: Result<Answer, HeadsetError>) { self.result = result }

  /// Sets the answer and resumes all callers that wait; only the first call has an effect.
  func resolve(_ result: Result<Answer, HeadsetError>) {
    guard self.result == nil else { return }
    self.result = result
    let waiting = waiting
    self.waiting = []
    for continuation in waiting { continuation.resume() }
  }

  /// The answer, as soon as it is there.
  func value() async throws(HeadsetError) -> Answer {
    while true {
      if let result { return try result.get() }
      await withCheckedContinuation { continuation in
        // The answer may come before the continuation exists.
        if result == nil { waiting.append(continuation) } else { continuation.resume() }
      }
    }
  }
}
