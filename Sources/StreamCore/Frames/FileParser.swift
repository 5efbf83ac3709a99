/// Parses a file as its bytes come: the counterpart of `StreamFramer` for files.
///
/// Bytes are fed in the order of the file, from its start, from the offset of a `jump`, or from that of a
/// `seek`. Times are those of the audible sound: sound that the encoder put before it has times below zero.
/// Memory is bounded whatever a file claims.
package protocol FileParser: Sendable {
  /// Feeds the next bytes.
  mutating func feed(_ bytes: UnsafeRawBufferPointer)
  /// Ends the file: no bytes follow.
  mutating func end()
  /// Returns the next item; nil if more bytes are needed, or nothing follows.
  mutating func next() -> FileItem?

  /// Prepares for the sound at `time`, and the frames that decoders need before it.
  /// - Returns: the offset from which the file is to be fed next; nil while that is unknown.
  mutating func seek(to time: StreamTime) -> Int?

  /// The length of the audible sound in seconds; nil while unknown, and an estimate if the file states no
  /// length.
  var duration: Double? { get }
  /// The end of the audible sound, if padding follows it; nil otherwise.
  var soundEnd: StreamTime? { get }
  /// The number of whole frames that decoders need before a target.
  var preroll: Int { get }
}

/// An item found in a file.
package enum FileItem: Equatable {
  /// The format of the frames that follow.
  case format(StreamFormat)
  /// The time at which the next frame begins.
  case begins(at: StreamTime)
  /// A frame, or a piece of PCM, with its bytes in the form for decoders.
  case frame(StreamFrame, [UInt8])
  /// A request to feed the file from this offset on.
  case jump(to: Int)
  /// The end: the last frame was found, and any further bytes are not sound.
  case end
  /// A file that can't be played: `found` names the content, in words.
  case unusable(found: String, isUnsupported: Bool)
}
