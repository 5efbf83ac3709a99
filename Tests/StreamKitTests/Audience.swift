import EventLoop
import Glibc
import HTTP
import TestSupport

@testable import Reception
@testable import StreamCore

/// Listeners to a station over sockets, in a time that the test advances: the programme appears, delays pass
/// and gaps are measured by the same clock, and no step begins before all bytes that were sent have arrived.
/// So the results do not depend on the load of the machine.
final class Audience {
  /// The settings of a listener: a programme and a position in it.
  struct Seat {
    /// The position in the programme at the start of the test, in seconds.
    var start: Double
    /// The bytes in front of the burst, by connection; the last value is repeated.
    var preRolls: [[UInt8]] = [[]]
    /// The number of bytes between titles, by connection; the last value is repeated.
    var metaints: [Int?] = [8_192]
    /// The number of bytes that a new connection receives at once; the last value is repeated.
    var bursts = [65_535]
    /// The changes of the answer, by connection; the last value is repeated.
    var changes: [@Sendable (Answer) -> Answer] = [{ $0 }]

    /// The bit rate in the station's headers in kbit/s; nil for none. A receiver that knows it reads a
    /// quarter of a second at a time, otherwise each byte.
    var bitRate: Int?

    init(start: Double) { self.start = start }

    /// The number of bytes that may have arrived and are not read.
    var unread: Int { bitRate.map { min(8192, $0 * 125 / 4) } ?? 0 }
  }

  /// A listener.
  final class Member {
    let seat: Seat
    let path: String
    let model: BurstModel
    let receiver: Receiver
    private let clock: Lock<Double>

    fileprivate init(
      _ seat: Seat, _ path: String, _ model: BurstModel, _ receiver: Receiver, _ clock: Lock<Double>
    ) {
      (self.seat, self.path, self.model, self.receiver) = (seat, path, model, receiver)
      self.clock = clock
    }

    /// The byte of the programme up to which it has appeared.
    var edge: Int { model.edge(at: seat.start + clock.withLock { $0 }) }
  }

  let station: Station
  /// The pace at which each member is read.
  var paces: [Duration?] { Receiver.states(of: members.map(\.receiver), on: network).map(\.pace) }
  private(set) var members: [Member] = []
  private let network: NetworkThread
  private let clock = Lock(0.0)

  init() throws {
    station = try Station()
    network = try NetworkThread()
  }

  deinit { network.close() }

  /// The seconds since the start of the test.
  var now: Double { clock.withLock { $0 } }

  /// Returns the edge of a programme that was at `start` at the start of the test.
  func edge(of programme: FrameProgramme, from start: Double) -> @Sendable () -> Int {
    { [model = BurstModel(programme: programme), clock] in model.edge(at: start + clock.withLock { $0 }) }
  }

  /// Adds a listener to `programme`.
  /// - Parameter queue: a recording of what comes.
  @discardableResult
  func add(
    _ programme: FrameProgramme, _ seat: Seat, blocks: Int = 150, options: ReceiverOptions = .init(),
    queue: RecordingQueue? = nil
  ) throws -> Member {
    let path = "/\(members.count)"
    let model = BurstModel(programme: programme)
    let count = max(seat.preRolls.count, seat.metaints.count, seat.bursts.count, seat.changes.count)
    func at<Value>(_ values: [Value], _ index: Int) -> Value { values[min(index, values.count - 1)] }
    let bytes = programme.bytes
    let edge = edge(of: programme, from: seat.start)
    let titles = stride(from: 0, to: bytes.count, by: 50_000).map {
      Programme.Title("Artist - Song \($0)", at: $0)
    }
    let answers = (0..<count).map { index in
      var live = Live(.init(repeating: bytes, titles: titles))
      live.pace = .controlled(edge)
      live.stationHeaders =
        [("icy-name", "Test station")] + (seat.bitRate.map { [("icy-br", "\($0)")] } ?? [])
      live.metaint = at(seat.metaints, index)
      live.preRoll = at(seat.preRolls, index)
      live.burst = at(seat.bursts, index)
      return at(seat.changes, index)(.live(live))
    }
    station.answer(path, with: answers)
    let receiver = try Receiver(
      url: station.url(path), options: options, blocks: blocks, network: network,
      clock: .moved { [clock] in Instant(nanoseconds: Int64(clock.withLock { $0 } * 1e9)) }, queue: queue)
    let member = Member(seat, path, model, receiver, clock)
    members.append(member)
    return member
  }

  /// Advances the time by `seconds`.
  func pass(_ seconds: Double, step: Double = 0.1) throws {
    let end = now + seconds
    try settle()
    while now < end - 1e-6 {
      clock.withLock { $0 = min(end, $0 + step) }
      for member in members { member.receiver.clockMoved() }
      try settle()
    }
  }

  /// Ends all connections, and refuses new ones for `outage` seconds.
  func cut(by ending: Answer.Ending = .reset, outage: Double, step: Double = 0.1) throws {
    try settle()
    if outage > 0 { station.refuse() }
    let before = station.visits.count
    station.cut(by: ending)
    // Listeners that may come back at once have visits of their own.
    while station.visits.prefix(before).contains(where: \.isOpen) { usleep(500) }
    try pass(outage, step: step)
    if outage > 0 { station.accept() }
    try settle()
  }

  /// Waits until all bytes that were sent have arrived, and no other work is due at this moment.
  private func settle() throws {
    var unsettled: [String] = []
    let (clock, start) = (ContinuousClock(), ContinuousClock.now)
    repeat {
      unsettled = whatIsUnsettled()
      if unsettled.isEmpty { return }
      usleep(500)
    } while clock.now < start + .seconds(60)
    throw TestFailure("at \(now) s something is missing: \(unsettled.prefix(3))")
  }

  private func whatIsUnsettled() -> [String] {
    let states = Receiver.states(of: members.map(\.receiver), on: network)
    let visits = Dictionary(grouping: station.visits, by: \.target)
    let time = Instant(nanoseconds: Int64(now * 1e9))
    return zip(members, states).compactMap { member, state in
      let visits = visits[member.path] ?? []
      if isSettled(member, state, visits, at: time) { return nil }
      let last = visits.last.map { "open: \($0.isOpen), \($0.end)" } ?? ""
      return "\(state), \(visits.count) visits, the last \(last), \(member.receiver.events)"
    }
  }

  private func isSettled(_ member: Member, _ state: Receiver.State, _ visits: [Visit], at time: Instant)
    -> Bool
  {
    if state.phase == .idle { return true }
    if state.hasStandby { return visits.count == state.answers + 1 && visits.last?.end == member.edge }
    guard state.answers == visits.count else { return false }
    guard let last = visits.last, last.isOpen else {
      return state.phase == .waiting && state.deadline.map { $0 > time } ?? false
    }
    var sent = 0
    for (index, visit) in visits.enumerated() {
      sent += visit.end - visit.start + member.seat.preRolls[min(index, member.seat.preRolls.count - 1)].count
    }
    let isSent = last.isSilent || last.end == member.edge
    return isSent && (sent - member.seat.unread...sent).contains(state.audio) && state.phase != .waiting
  }
}

extension Audience.Member {
  /// The reported outcomes of the connections: `reconnected stitched` and such.
  var joins: [String] { receiver.events.filter { $0.hasPrefix("reconnected") } }

  /// Returns the difference between the received frames and those that the station sent, every frame once;
  /// nil for none. To be called once, at the end.
  func fault(_ visits: [Visit]) -> String? {
    let frames = receiver.frames()
    guard let first = visits.first(where: { $0.target == path }) else { return "nobody came" }
    let programme = model.programme
    let begin = programme.frames.firstIndex { $0.offset >= first.start } ?? 0
    let sent = programme.frames[begin..<programme.frames(before: edge)]
    let least = programme.frames(before: edge - seat.unread) - begin
    if !(least...sent.count).contains(frames.count) {
      return "\(frames.count) frames, not \(sent.count): \(joins)"
    }
    for (frame, expected) in zip(frames, sent) where frame != Array(programme.bytes[expected.range]) {
      return "another frame at \(expected.offset): \(joins)"
    }
    return nil
  }
}

extension StreamFrame {
  /// The range of the frame in the received bytes.
  var range: Range<Int> { offset..<(offset + length) }
}
