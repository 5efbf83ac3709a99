/// A frame of AAC as it is stored in a file.
struct AACPacket {
  /// Raw data blocks, without a header.
  let bytes: ArraySlice<UInt8>
  /// The configuration for the decoder.
  let configuration: AACConfiguration
  /// The number of raw data blocks.
  let blocks: Int
  /// The number of bytes of checksum after each block but the last.
  let checksumLength: Int
  /// The byte of the file at which it starts.
  let offset: Int

  /// The number of samples of the core per channel.
  var samples: Int { blocks * configuration.samplesPerFrame }
}

/// The frames of AAC in a file, in order.
protocol AACPacketSource: AnyObject {
  /// The path of the file, for errors.
  var path: String { get }

  /// Returns the next frame, nil at the end.
  /// - Throws: `audio.unreadable`.
  func next() throws -> AACPacket?

  /// Moves to a frame at or before a sample of the core, or to the last one.
  /// - Returns: the first sample of the core that the next frame holds.
  func seek(toSample sample: Int) throws -> Int
}
