/// The positions of a track's frames in the file.
///
/// The tables are kept in the file's own form, so that memory equals their size there; sizes were checked
/// against the size of the file. Source: ISO/IEC 14496-12 §8.6.1 (stts), §8.7.3 (stsz, stz2), §8.7.4 (stsc),
/// §8.7.5 (stco, co64).
struct MP4SampleTable {
  /// The number of frames with sizes and chunks in the tables.
  let count: Int
  /// The duration of all frames together, in units of the track's time.
  let duration: Int

  private let sizes: Sizes
  private let chunks: MP4Bytes
  private let chunkWidth: Int
  private let chunkCount: Int
  private let runs: [Run]

  /// Chunks from `firstChunk` on have `perChunk` frames each; the first of them has the frame `firstSample`.
  private struct Run {
    let firstChunk: Int
    let perChunk: Int
    let firstSample: Int
  }

  private enum Sizes {
    case same(Int)
    /// Big-endian numbers of `bits` bits each.
    case table(MP4Bytes, bits: Int)
  }

  /// The position of a frame in the file.
  struct Location: Equatable {
    let offset: Int
    let size: Int
  }

  /// - Parameters:
  ///   - stbl: content of the box with the tables.
  ///   - fileSize: bytes of the file; the upper bound of the number of frames.
  init(_ stbl: MP4Bytes, fileSize: Int) throws(MP4Obstacle) {
    let (sizes, claimed) = try Self.sizes(stbl)
    let (chunks, width) = try Self.chunkTable(stbl)
    let chunkCount = min((chunks.count - 8) / width, chunks.number(4, 4) ?? 0)
    let runs = try Self.runs(stbl, chunks: chunkCount)
    self.chunkCount = chunkCount
    self.sizes = sizes
    self.chunks = chunks
    chunkWidth = width
    self.runs = runs
    let inChunks = runs.last.map { Self.end(of: $0, chunks: chunkCount) } ?? 0
    count = min(claimed, inChunks, fileSize)
    duration = try Self.duration(stbl)
  }

  /// Returns the size of a frame in bytes; nil when there is no such frame.
  func size(of sample: Int) -> Int? {
    guard sample >= 0, sample < count else { return nil }
    switch sizes {
    case .same(let size): return size
    case .table(let table, 4):
      return table.number(12 + sample / 2, 1).map { sample % 2 == 0 ? $0 >> 4 : $0 & 15 }
    case .table(let table, let bits): return table.number(12 + sample * (bits / 8), bits / 8)
    }
  }

  /// Returns the position of a frame; nil when there is no such frame.
  func location(of sample: Int) -> Location? {
    guard let size = size(of: sample), let position = chunk(of: sample) else { return nil }
    guard var offset = chunks.number(8 + position.chunk * chunkWidth, chunkWidth) else { return nil }
    if case .same(let size) = sizes {
      offset = offset &+ size &* (sample - position.first)
    } else {
      for earlier in position.first..<sample { offset = offset &+ (self.size(of: earlier) ?? 0) }
    }
    return Location(offset: offset, size: size)
  }

  /// Returns the position of the frame after `sample`, which is at `location`.
  func location(after sample: Int, at location: Location) -> Location? {
    guard let size = size(of: sample + 1), let position = chunk(of: sample + 1) else { return nil }
    if position.first == sample + 1 { return self.location(of: sample + 1) }
    return Location(offset: location.offset &+ location.size, size: size)
  }

  /// Returns the chunk of a frame, and the first frame in that chunk.
  private func chunk(of sample: Int) -> (chunk: Int, first: Int)? {
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].firstSample <= sample { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let run = runs[low - 1]
    let steps = (sample - run.firstSample) / run.perChunk
    let chunk = run.firstChunk + steps
    guard chunk < chunkCount else { return nil }
    return (chunk, run.firstSample + steps * run.perChunk)
  }

  // MARK: Reading the tables

  private static func sizes(_ stbl: MP4Bytes) throws(MP4Obstacle) -> (Sizes, count: Int) {
    if let table = stbl.box("stsz"), let same = table.number(4, 4), let count = table.number(8, 4) {
      if same > 0 { return (.same(same), count) }
      return (.table(table, bits: 32), min(count, (table.count - 12) / 4))
    }
    if let table = stbl.box("stz2"), let bits = table.number(7, 1), let count = table.number(8, 4),
      [4, 8, 16].contains(bits)
    {
      return (.table(table, bits: bits), min(count, (table.count - 12) * 8 / bits))
    }
    throw MP4Obstacle(found: "a track without sizes of its frames", byte: stbl.offset)
  }

  private static func chunkTable(_ stbl: MP4Bytes) throws(MP4Obstacle) -> (MP4Bytes, width: Int) {
    if let table = stbl.box("stco"), table.count >= 8 { return (table, 4) }
    if let table = stbl.box("co64"), table.count >= 8 { return (table, 8) }
    throw MP4Obstacle(found: "a track without the positions of its frames", byte: stbl.offset)
  }

  private static func runs(_ stbl: MP4Bytes, chunks: Int) throws(MP4Obstacle) -> [Run] {
    guard let table = stbl.box("stsc"), let claimed = table.number(4, 4) else {
      throw MP4Obstacle(found: "a track without chunks", byte: stbl.offset)
    }
    var runs: [Run] = []
    for index in 0..<min(claimed, (table.count - 8) / 12) {
      guard let number = table.number(8 + 12 * index, 4), let perChunk = table.number(12 + 12 * index, 4)
      else {
        break
      }
      let previous = runs.last
      let isInOrder = number - 1 > previous?.firstChunk ?? -1
      guard number > 0, perChunk > 0, isInOrder, index > 0 || number == 1 else {
        throw MP4Obstacle(found: "chunks out of order", byte: table.offset + 8 + 12 * index)
      }
      guard number <= chunks else { break }
      let start = previous.map { end(of: $0, chunks: number - 1) } ?? 0
      runs.append(Run(firstChunk: number - 1, perChunk: perChunk, firstSample: start))
    }
    return runs
  }

  /// Returns the frame after a run that ends with the chunk before `chunks`. Numbers of 32 bits can't
  /// overflow here.
  private static func end(of run: Run, chunks: Int) -> Int {
    let (length, overflows) = (chunks - run.firstChunk).multipliedReportingOverflow(by: run.perChunk)
    return overflows ? .max / 2 : min(.max / 2, run.firstSample + min(.max / 4, length))
  }

  private static func duration(_ stbl: MP4Bytes) throws(MP4Obstacle) -> Int {
    guard let table = stbl.box("stts"), let claimed = table.number(4, 4) else {
      throw MP4Obstacle(found: "a track without times", byte: stbl.offset)
    }
    var total = 0
    for index in 0..<min(claimed, (table.count - 8) / 8) {
      guard let count = table.number(8 + 8 * index, 4), let delta = table.number(12 + 8 * index, 4) else {
        break
      }
      total = min(.max / 4, total + min(.max / 4, count.multipliedReportingOverflow(by: delta).partialValue))
    }
    return total
  }
}
