import StreamCore
import TestSupport

/// A model of an Icecast station: the programme appears as it is played, in blocks of 1,400 bytes, and a new
/// listener first receives the last 65,535 bytes of it, from the start of a block. No sockets and no clock.
struct BurstModel: Sendable {
  let programme: FrameProgramme
  var burst = 65_535
  var preRoll: [UInt8] = []
  /// The offset into the first block at which a new connection starts.
  var startsWithin = 0

  private static let block = 1400

  /// Returns the byte of the programme up to which it has appeared.
  func edge(at time: Double) -> Int {
    var (low, high) = (0, programme.ends.count)
    while low < high {
      let middle = (low + high) / 2
      if programme.ends[middle] <= time { low = middle + 1 } else { high = middle }
    }
    let emitted = low > 0 ? programme.frames[low - 1].offset + programme.frames[low - 1].length : 0
    return emitted / Self.block * Self.block
  }

  /// Returns the byte of the programme at which a listener begins who connects at `time`.
  func start(at time: Double) -> Int {
    let first = max(0, edge(at: time) - burst)
    return (first + Self.block - 1) / Self.block * Self.block + startsWithin
  }
}

/// A listener to a station, who loses the connection once and connects again.
struct BurstListener {
  /// The outcome of the second connection.
  enum Outcome: Equatable {
    case stitched(overlap: Int, preRoll: Int)
    case gap(seconds: Double)
    case undecided
  }

  private(set) var stitcher = Stitcher()
  /// The received frames.
  private(set) var received: [StreamFrame] = []
  private(set) var outcome = Outcome.undecided
  /// The seconds from the new connection to the decision.
  private(set) var waited = 0.0
  /// The number of frames received before the loss.
  private(set) var before = 0

  private let station: BurstModel

  init(_ station: BurstModel) { self.station = station }

  /// Plays the station until the connection is lost, and resumes after the outage.
  /// - Parameters:
  ///   - first: the time at which the first connection begins, without a burst, in seconds.
  ///   - loss: the time at which it is lost.
  ///   - cut: the number of bytes of the last block that do not arrive.
  ///   - pieces: the number of bytes that arrive at once.
  ///   - seconds: the length of the second connection.
  mutating func listen(
    from first: Double, loss: Double, cut: Int = 0, outage: Double, pieces: Int = 4096, seconds: Double = 0.8
  ) throws {
    let programme = station.programme
    let end = station.edge(at: loss)
    // The time of the last byte is that of its block.
    var lastTime = loss
    while station.edge(at: lastTime - 0.001) == end { lastTime -= 0.001 }
    let lastByte = end - cut
    let range = programme.frames(before: station.edge(at: first))..<programme.frames(before: lastByte)
    // The stitcher does not read the bytes of frames that pass.
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
        // A released frame counts only with its own bytes.
        if FrameHash.of(bytes) == frame.hash { released.append(frame) }
        return true
      }
      received += released
    default: break
    }
  }

  /// The programme's frames from the first received one on, as many as were received.
  var sent: ArraySlice<StreamFrame> {
    guard let first = received.first, let index = station.programme.frames.firstIndex(of: first) else {
      return []
    }
    return station.programme.frames[index...].prefix(received.count)
  }

  /// `true` if the received frames are those that the station sent, every frame once.
  var isExact: Bool {
    received.count > before && received.map(\.hash) == sent.map(\.hash)
      && received.map(\.length) == sent.map(\.length)
  }

  /// The seconds of the programme between the last frame before the loss and the first behind it, negative
  /// for frames that came again; nil when one of them is silent, as that has no position of its own.
  var missing: Double? {
    guard before > 0, received.count > before else { return nil }
    let programme = station.programme
    let (last, next) = (received[before - 1], received[before])
    let matches = [last, next].map { frame in
      programme.frames.indices.filter { programme.frames[$0].hash == frame.hash }
    }
    guard matches.allSatisfy({ $0.count == 1 }) else { return nil }
    return programme.ends[matches[1][0]] - next.duration.seconds - programme.ends[matches[0][0]]
  }
}
