import StreamKit
import TestSupport

/// A station as Icecast is one: the programme appears as it is played, in blocks of 1,400 bytes, and a new listener is
/// first sent the last 65,535 bytes of it, from the start of a block. No sockets and no clock.
struct Station: Sendable {
  let programme: Programme
  var burst = 65_535
  var preRoll: [UInt8] = []
  /// What a new connection gets in front of the first block, when it is not sent from its start.
  var startsWithin = 0

  private static let block = 1400

  /// Byte of the programme up to which it has appeared.
  func edge(at time: Double) -> Int {
    var (low, high) = (0, programme.ends.count)
    while low < high {
      let middle = (low + high) / 2
      if programme.ends[middle] <= time { low = middle + 1 } else { high = middle }
    }
    let emitted = low > 0 ? programme.frames[low - 1].offset + programme.frames[low - 1].length : 0
    return emitted / Self.block * Self.block
  }

  /// Byte of the programme at which a listener begins who comes at `time`.
  func start(at time: Double) -> Int {
    let first = max(0, edge(at: time) - burst)
    return (first + Self.block - 1) / Self.block * Self.block + startsWithin
  }
}

/// Somebody who listens to a station, loses the connection once, and comes back.
struct Listener {
  /// What became of the second connection.
  enum Outcome: Equatable {
    case stitched(overlap: Int, preRoll: Int)
    case gap(seconds: Double)
    case undecided
  }

  private(set) var stitcher = Stitcher()
  /// What was received, as frames.
  private(set) var received: [StreamFrame] = []
  private(set) var outcome = Outcome.undecided
  /// Seconds from the new connection to the decision.
  private(set) var waited = 0.0
  /// What was received before the connection was lost.
  private(set) var before = 0

  private let station: Station

  init(_ station: Station) { self.station = station }

  /// Plays the station until the connection is lost, and goes on after the outage.
  /// - Parameters:
  ///   - first: seconds at which the first connection begins, without a burst.
  ///   - loss: seconds at which it is lost.
  ///   - cut: bytes of the last block that do not come.
  ///   - pieces: bytes that come at once.
  ///   - seconds: how long the second connection is listened to.
  mutating func listen(
    from first: Double, loss: Double, cut: Int = 0, outage: Double, pieces: Int = 4096, seconds: Double = 0.8
  ) throws {
    let programme = station.programme
    let end = station.edge(at: loss)
    // The last byte came with its block.
    var lastTime = loss
    while station.edge(at: lastTime - 0.001) == end { lastTime -= 0.001 }
    let lastByte = end - cut
    let range = programme.frames(before: station.edge(at: first))..<programme.frames(before: lastByte)
    // The bytes of what passes are not looked at.
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    for frame in programme.frames[range] { pass(frame, stitcher.receive(frame, nothing)) }
    before = received.count
    let lastEnd = received.last.map { $0.offset + $0.length } ?? 0
    pass(stitcher.lost(at: lastTime, pending: lastByte - lastEnd))
    try comeBack(at: lastTime + outage, pieces: pieces, seconds: seconds)
  }

  private mutating func comeBack(at start: Double, pieces: Int, seconds: Double) throws {
    var framer = StreamFramer()
    var sent = station.start(at: start)
    var time = start
    feed(station.preRoll, to: &framer, at: time, since: start, pieces: pieces)
    var isOver = false
    while !isOver {
      let edge = station.edge(at: time)
      if edge > sent {
        feed(Array(station.programme.bytes[sent..<edge]), to: &framer, at: time, since: start, pieces: pieces)
        sent = edge
      } else {
        decided(stitcher.decide(at: time), since: start, at: time)
      }
      isOver = time >= start + seconds && !stitcher.isJoining
      guard time < station.programme.seconds else { throw TestFailure("the programme is too short") }
      time += 0.05
    }
  }

  private mutating func feed(
    _ bytes: [UInt8], to framer: inout StreamFramer, at time: Double, since start: Double, pieces: Int
  ) {
    for first in stride(from: 0, to: bytes.count, by: pieces) {
      bytes[first..<min(bytes.count, first + pieces)].withUnsafeBytes { framer.feed($0) }
      while let item = framer.next() {
        guard case .frame(let frame) = item else { continue }
        let action = framer.withBytes(of: frame) {
          stitcher.receive(frame, $0, at: time, pending: framer.pendingBytes)
        }
        if action == .pass { received.append(frame) }
        decided(action, since: start, at: time)
      }
    }
  }

  private mutating func decided(_ action: Stitcher.Action?, since start: Double, at time: Double) {
    pass(action)
    if outcome == .undecided { waited = time - start }
    switch action {
    case .joined(let overlap, let preRoll): outcome = .stitched(overlap: overlap, preRoll: preRoll)
    case .gap(let seconds): outcome = .gap(seconds: seconds)
    default: break
    }
  }

  private mutating func pass(_ frame: StreamFrame, _ action: Stitcher.Action) {
    if action == .pass { received.append(frame) } else { pass(action) }
  }

  private mutating func pass(_ action: Stitcher.Action?) {
    switch action {
    case .joined, .gap:
      var released: [StreamFrame] = []
      stitcher.release { frame, bytes in
        // What is released must be the bytes of its frame.
        if FrameHash.of(bytes) == frame.hash { released.append(frame) }
        return true
      }
      received += released
    default: break
    }
  }

  /// The programme's frames from the first that was received on, as many as were received.
  var sent: ArraySlice<StreamFrame> {
    guard let first = received.first, let index = station.programme.frames.firstIndex(of: first) else {
      return []
    }
    return station.programme.frames[index...].prefix(received.count)
  }

  /// Whether what was received is what the station sent: every frame once.
  var isExact: Bool {
    received.count > before && received.map(\.hash) == sent.map(\.hash)
      && received.map(\.length) == sent.map(\.length)
  }

  /// Seconds of the programme between the last frame before the loss and the first behind it; below 0 when it came
  /// again. Nil when one of them is silent: then nobody knows.
  var missing: Double? {
    guard before > 0, received.count > before else { return nil }
    let programme = station.programme
    let (last, next) = (received[before - 1], received[before])
    let places = [last, next].map { frame in
      programme.frames.indices.filter { programme.frames[$0].hash == frame.hash }
    }
    guard places.allSatisfy({ $0.count == 1 }) else { return nil }
    return programme.ends[places[1][0]] - next.duration.seconds - programme.ends[places[0][0]]
  }
}
