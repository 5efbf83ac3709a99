internal import AudioCore

/// The frames of AAC in an MP4 file.
final class MP4PacketSource: AACPacketSource {
  let path: String
  /// The file's description of them.
  let demuxer: MP4Demuxer

  /// The number of frames present: all of the tables', or those before the end of a file that was cut off.
  let count: Int

  private let file: FileDescriptor
  private var sample = 0
  private var last: (sample: Int, location: MP4SampleTable.Location)?
  /// The part of the file that was read last.
  private var part: ArraySlice<UInt8> = []
  private var partOffset = 0

  private static let chunk = 16_384

  init(_ file: consuming FileDescriptor, path: String) throws {
    let demuxer = try MP4Demuxer(file, path: path)
    count = Self.frames(of: demuxer.table, fileSize: file.size)
    self.demuxer = demuxer
    self.file = file
    self.path = path
  }

  /// The number of samples of the core in all frames of the tables.
  var sampleCount: Int { demuxer.table.count.multipliedReportingOverflow(by: samplesPerFrame).partialValue }
  /// The number of samples of the core in the frames present.
  var presentSampleCount: Int { count.multipliedReportingOverflow(by: samplesPerFrame).partialValue }
  /// The length of the file in bytes.
  var fileSize: Int { file.size }

  /// Returns the number of frames before the first incomplete one. Chunks come in the order of their sound,
  /// except in files that are odd in other ways too: frames outside of those are found while they are read.
  private static func frames(of table: MP4SampleTable, fileSize: Int) -> Int {
    func isThere(_ frame: Int) -> Bool {
      guard let location = table.location(of: frame) else { return false }
      // A size beyond the longest frame is damage.
      return location.size > AACDecoder.longestFrame || location.offset <= fileSize - location.size
    }
    if table.count == 0 || isThere(table.count - 1) { return table.count }
    var (low, high) = (0, table.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if isThere(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private var samplesPerFrame: Int { demuxer.configuration.samplesPerFrame }

  func next() throws -> AACPacket? {
    guard sample < demuxer.table.count else { return nil }
    let location = last.flatMap { last in
      last.sample == sample - 1 ? demuxer.table.location(after: last.sample, at: last.location) : nil
    }
    guard let location = location ?? demuxer.table.location(of: sample) else {
      throw AudioError.unreadable(path, found: "no place for frame \(sample)", atByte: 0)
    }
    last = (sample, location)
    // Frames outside of the file were cut off; an impossible size is damage, reported to the decoder as an
    // empty frame.
    guard location.offset >= 0, location.offset < file.size else { return nil }
    let bytes = location.size <= AACDecoder.longestFrame ? read(location) : []
    guard bytes.count == location.size || location.size > AACDecoder.longestFrame else { return nil }
    sample += 1
    return AACPacket(
      bytes: bytes, configuration: demuxer.configuration, blocks: 1, checksumLength: 0,
      offset: location.offset)
  }

  func seek(toSample target: Int) throws -> Int {
    sample = min(target / samplesPerFrame, demuxer.table.count)
    return sample * samplesPerFrame
  }

  private func read(_ location: MP4SampleTable.Location) -> ArraySlice<UInt8> {
    let isThere = location.offset >= partOffset && location.offset - partOffset + location.size <= part.count
    if !isThere {
      part = file.bytes(at: location.offset, count: max(Self.chunk, location.size))[...]
      partOffset = location.offset
    }
    return part.dropFirst(location.offset - partOffset).prefix(location.size)
  }
}
