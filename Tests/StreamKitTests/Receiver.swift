import Codecs
import EventLoop
import Glibc
import HTTP
import TestSupport

@testable import Reception
@testable import StreamCore

/// A receiver of a station of a test, and a record of its events.
final class Receiver: Sendable {
  let network: NetworkThread
  let buffer: StreamBuffer
  private let ownsNetwork: Bool
  private let reported = Lock<[String]>([])
  private let reportedGaps = Lock<[Double]>([])
  private let reception: Lock<StationReceiver?>

  /// Receives `/live` of a station until the buffer is full.
  convenience init(_ station: Station) throws { try self.init(url: station.url("/live")) }

  /// Receives a stream until the buffer is full.
  init(
    url: String, options: ReceiverOptions = .init(), blocks: Int = 150, network: NetworkThread? = nil,
    clock: ReceiverClock = .loop, lead: StreamTime? = nil, queue: RecordingQueue? = nil
  ) throws {
    var options = options
    options.clock = clock
    // Tests have stations that send all they have, unless they measure that.
    options.liveLead = lead
    ownsNetwork = network == nil
    let network = try network ?? NetworkThread()
    self.network = network
    buffer = StreamBuffer(blocks: blocks, wait: .zero)
    buffer.keepUnheard(true)
    reception = Lock(nil)
    let tee = FrameTee()
    tee.play(buffer)
    if let queue { tee.record(queue, back: .zero) }
    let reception = StationReceiver(
      at: try StreamAddress(url), options: options, network: network, tee: tee
    ) { [reported, reportedGaps] event in
      if case .reconnected(let gap, false, _) = event { reportedGaps.withLock { $0.append(gap) } }
      let text = Self.words(for: event)
      reported.withLock { $0.append(text) }
    }
    self.reception.withLock { $0 = reception }
    reception.start()
  }

  /// Seconds of each reported gap.
  var gaps: [Double] { reportedGaps.withLock { $0 } }

  var events: [String] { reported.withLock { $0 } }

  /// Waits for so many events that begin so, a minute at most.
  func wait(for start: String, count: Int = 1) -> Bool {
    for _ in 0..<6_000 {
      if events.count(where: { $0.hasPrefix(start) }) >= count { return true }
      usleep(10_000)
    }
    return false
  }

  /// Waits until no frame has come for half a second, a minute at most.
  func settle() {
    var (end, rounds) = (buffer.range.end, 0)
    for _ in 0..<1_200 where rounds < 10 {
      usleep(50_000)
      (end, rounds) = (buffer.range.end, buffer.range.end == end ? rounds + 1 : 0)
    }
  }

  /// Ends it, and gives the bytes of all frames.
  func end() -> [UInt8] {
    reception.withLock { $0 }?.stop()
    if ownsNetwork { network.close() }
    return frames().flatMap { $0 }
  }

  /// Ends it, and gives the frames.
  func allFrames() -> [[UInt8]] {
    reception.withLock { $0 }?.stop()
    if ownsNetwork { network.close() }
    return frames()
  }

  /// The frames that have come since this was asked last.
  func frames() -> [[UInt8]] {
    var frames: [[UInt8]] = []
    while case .frame(_, let bytes) = buffer.read() { frames.append(bytes) }
    return frames
  }

  /// The player has nothing left, as all that came has been read.
  /// - Returns: `false` if there is something to read.
  func runDry() -> Bool {
    guard buffer.runDry() else { return false }
    reception.withLock { $0 }?.playerIsDry()
    return true
  }

  /// A clock that others move has moved.
  func clockMoved() { reception.withLock { $0 }?.clockMoved() }

  /// The state of a receiver.
  struct State {
    var phase = ConnectionMachine.Phase.idle
    var deadline: Instant?
    /// Answers with sound in them, of all connections.
    var answers = 0
    /// Bytes of sound, of all connections.
    var audio = 0
    /// The interval at which the transfer is read; nil while it is read as its bytes come.
    var pace: Duration?
    /// A second connection is open beside one that has stalled.
    var hasStandby = false
  }

  /// Returns the states of receivers, all at one moment between two of their turns.
  static func states(of receivers: [Receiver], on network: NetworkThread) -> [State] {
    let found = Lock<[State]?>(nil)
    network.loop.post {
      let states = receivers.map { receiver -> State in
        guard let reception = receiver.reception.withLock({ $0 }) else { return State() }
        let answers = receiver.events.count { $0.hasPrefix("answered") }
        return State(
          phase: reception.driver.machine.phase, deadline: reception.driver.machine.deadline,
          answers: answers,
          audio: reception.sound.position, pace: reception.driver.pace, hasStandby: reception.standby != nil)
      }
      found.withLock { $0 = states }
    }
    while true {
      if let states = found.withLock({ $0 }) { return states }
      usleep(100)
    }
  }

  static func words(for event: ReceiverEvent) -> String {
    switch event {
    case .connecting: "connecting"
    case .answered(let station): "answered \(station.name ?? "-") \(station.bitRate ?? 0)"
    case .format(let format): "format \(format.codec) \(format.sampleRate) \(format.channels)"
    case .metadata(let metadata, _): "title \(metadata.title ?? "-")"
    case .failed(let error): "failed \(error.code)"
    case .reconnected(let gap, let stitched, _): "reconnected \(stitched ? "stitched" : "gap \(gap > 0)")"
    case .buffered: "buffered"
    case .full: "full"
    case .file(let facts): "file \(facts.canSeek ? "with" : "without") parts"
    case .heldBack: "held back"
    case .programme(let rest): "programme of \(rest.count + 1)"
    case .copying: "copying"
    case .complete: "complete"
    case .earlier(_, let titles, let error): "earlier \(titles.count) \(error?.code ?? "whole")"
    case .gaveUp(let error): "gave up \(error.code)"
    }
  }
}
