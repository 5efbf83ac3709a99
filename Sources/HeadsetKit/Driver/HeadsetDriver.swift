internal import HeadsetLink

/// What talks to headsets of one make: the seam behind which another protocol may stand. Confined to a loop.
///
/// A driver knows one headset by its address and speaks with it through the requests of `Messages`, whatever goes over
/// the wire; what the headset lacks is left out of its capabilities and refused as `unsupported`.
protocol HeadsetDriver: AnyObject {
  /// The headset's address, as messages show it.
  var name: String { get }
  /// Whether requests can be made.
  var isConnected: Bool { get }
  /// Takes what the headset tells by itself, in the order of its coming.
  var onEvent: (HeadsetNews) -> Void { get set }
  /// Told when the connection is lost, once for each connection; not by `disconnect` or `connect`.
  var onLost: (HeadsetError) -> Void { get set }
  /// Connects, once; ends the connection that is there.
  /// - Throws: `notAvailable`, `connectionFailed`, `timeout`, `auth`, `challengeLength`.
  func connect() async throws(HeadsetError) -> BoardInfo
  /// Makes a request, after those that were made before. Writes of an update may be under way together, as many as the
  /// board granted with the answer to the last `BeginTransfer`; all other requests one at a time.
  /// - Returns: the answer to come; at the latest when the time for it has run out.
  func begin<Request: LinkRequest>(_ request: Request) -> PendingAnswer<Request.Answer>
  /// Says good-bye and ends the connection. Requests that wait fail as `notConnected`.
  func disconnect() async
  /// Ends the connection without a word.
  func drop()
}

extension HeadsetDriver {
  /// Makes a request and waits for its answer.
  func request<Request: LinkRequest>(_ request: Request) async throws(HeadsetError) -> Request.Answer {
    try await begin(request).value()
  }
}

/// What a headset tells by itself.
enum HeadsetNews: Equatable {
  case noiseCancelling(Bool)
  case ambient(Side, Int)
  case equalizer(preset: Int, values: [Int])
  case battery(percent: Int, isCharging: Bool)
  /// It goes over to its bootloader.
  case bootloader
  /// How far an update is, as the board has it.
  case transfer(TransferStatus)
  /// Something that can't be read.
  case unreadable(HeadsetError)
}

/// The answer to a request that is under way. Confined to a loop.
final class PendingAnswer<Answer> {
  private var result: Result<Answer, HeadsetError>?
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Not answered yet.
  init() {}

  /// Answered already.
  init(_ result: Result<Answer, HeadsetError>) { self.result = result }

  /// Takes the answer; only the first one counts.
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
        // Suspending may take a turn, in which the answer may come.
        if result == nil { waiting.append(continuation) } else { continuation.resume() }
      }
    }
  }
}
