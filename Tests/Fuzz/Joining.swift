import Codecs
@testable import StreamCore

/// libFuzzer's entry: a stream with titles over connections that break off, from its bytes to the buffer. The first
/// bytes are the distance between titles, where connections end, and how far the next one goes back.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 8 else { return 0 }
  let plan = Array(UnsafeBufferPointer(start: start, count: 8)).map { Int($0) }
  let input = Array(UnsafeBufferPointer(start: start + 8, count: count - 8))
  let interval = plan[0] < 128 ? 0 : (plan[0] - 127) * 8
  let ends = [plan[1], plan[2], plan[3]].map { $0 * input.count / 255 }.sorted() + [input.count]
  var connections: [Connection] = []
  var begin = 0
  for (index, end) in ends.enumerated() {
    // The server sends its burst again, and perhaps some of what was missed is gone.
    let step = (Double(plan[index + 4]) - 64) / 192
    let first = min(end, max(0, index == 0 ? 0 : begin - Int(step * Double(begin))))
    connections.append(Connection(bytes: Array(input[first..<end]), outage: Double(plan[index + 4]) / 16))
    begin = end
  }
  let whole = receive(connections, interval, pieces: input.count)
  require(
    receive(connections, interval, pieces: pieceSize(of: input)) == whole,
    "what is received does not depend on how the bytes are cut")
  return 0
}

private struct Connection {
  let bytes: [UInt8]
  /// Seconds before it.
  let outage: Double
}

/// The result of the connections.
private struct Outcome: Equatable {
  var frames: [StreamFrame] = []
  var titles: [ICYMetadata] = []
  var actions: [Stitcher.Action] = []
}

private func receive(_ connections: [Connection], _ interval: Int, pieces size: Int) -> Outcome {
  var chain = Chain()
  for (index, connection) in connections.enumerated() {
    chain.begin(interval, after: connection.outage)
    inPieces(connection.bytes, of: size) { chain.feed($0) }
    chain.lose(isLast: index == connections.count - 1)
  }
  chain.checkBuffer()
  return chain.outcome
}

/// The stages, one behind the other, as a reception has them.
private struct Chain {
  /// Small, so that old frames make room.
  private static let blocks = 6

  var outcome = Outcome()
  private var icy = ICYDeinterleaver(interval: 0)
  private var framer = StreamFramer()
  private var stitcher = Stitcher()
  private var buffer = PacketBuffer(blocks: Chain.blocks)
  /// Hashes of the connection's frames.
  private var seen: [UInt64] = []
  private var time = 0.0

  mutating func begin(_ interval: Int, after outage: Double) {
    time += outage
    seen = []
    icy = ICYDeinterleaver(interval: interval, audioPosition: icy.audioPosition)
    framer = StreamFramer(contentType: "audio/mpeg", offset: icy.audioPosition)
  }

  mutating func feed(_ bytes: UnsafeRawBufferPointer) {
    var index = 0
    while let part = icy.next(in: bytes, from: &index) {
      switch part {
      case .metadata(let block): outcome.titles.append(ICYMetadata(block.bytes))
      case .audio(let range):
        framer.feed(UnsafeRawBufferPointer(rebasing: bytes[range]))
        drain()
      }
    }
  }

  private mutating func drain() {
    while let item = framer.next() {
      // Pieces of what has no frames depend on the cuts.
      guard case .frame(let frame) = item, frame.codec.hasFrames else { continue }
      seen.append(frame.hash)
      time += 0.001
      let action = framer.withBytes(of: frame) { bytes in
        let action = stitcher.receive(frame, bytes, at: time)
        if case .pass = action { deliver(frame, bytes) }
        return action
      }
      require(action != nil, "a frame has its bytes")
      if let action { resolve(action) }
      require(stitcher.heldSize <= HeldFrames.limit + 16_384, "no more is held than is promised")
      require(stitcher.historySize <= 16 * 1024, "no more is remembered than is promised")
    }
  }

  mutating func lose(isLast: Bool) {
    if isLast { stitcher.searchSeconds = 0 }
    if let action = isLast ? stitcher.decide(at: time) : stitcher.lost(at: time) { resolve(action) }
  }

  private mutating func resolve(_ action: Stitcher.Action) {
    switch action {
    case .pass, .hold: return
    case .gap(let seconds): require(seconds >= 0 && seconds.isFinite, "a gap is not negative")
    case .joined(let overlap, let preRoll):
      let again = seen.dropFirst(preRoll).prefix(overlap)
      require(overlap > 0 && again.count == overlap, "an overlap is of frames that came")
      require(
        again.elementsEqual(outcome.frames.suffix(overlap).map(\.hash)), "what is left out is what was there")
    }
    outcome.actions.append(action)
    var released: [(frame: StreamFrame, bytes: [UInt8])] = []
    stitcher.release {
      released.append(($0, Array($1)))
      return true
    }
    if case .joined(let overlap, let preRoll) = action {
      require(released.count == seen.count - overlap - preRoll, "all behind the overlap goes on")
    }
    require(
      seen.suffix(released.count).elementsEqual(released.map(\.frame.hash)), "what goes on is what came last")
    for (frame, bytes) in released { bytes.withUnsafeBytes { deliver(frame, $0) } }
  }

  private mutating func deliver(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
    require(FrameHash.of(bytes) == frame.hash, "what is delivered is what came")
    outcome.frames.append(frame)
    let isTaken = buffer.append(frame, bytes)
    require(isTaken || frame.length > Chain.blocks * PacketBuffer.blockSize, "old frames make room")
    require(buffer.used <= buffer.size, "no more blocks are used than there are")
  }

  /// The buffer has the last frames, in order, with their bytes.
  func checkBuffer() {
    var cursor = buffer.start
    var held: [UInt64] = []
    var end = buffer.time(at: cursor)
    while let packet = buffer.next(&cursor) {
      require(packet.start == end, "one frame begins where the one before ends")
      end = packet.start + packet.duration
      let hash = buffer.withBytes(of: packet) { FrameHash.of($0) }
      require(hash == packet.frame.hash, "the buffer has the bytes of its frames")
      held.append(packet.frame.hash)
    }
    require(end == buffer.time(at: buffer.end), "the buffer ends with its last frame")
    require(held.elementsEqual(outcome.frames.suffix(held.count).map(\.hash)), "the last frames are held")
  }
}
