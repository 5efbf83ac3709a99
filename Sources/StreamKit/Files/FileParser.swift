internal import Codecs

/// Takes a file apart as its bytes come: what a station is to `StreamFramer`, a file is to one of these.
///
/// Bytes are fed in the order of the file, from its start, from where `jump` said, or from where `seek` did. Times are
/// those of what is heard: sound that the encoder put in front has times below zero. Memory is bounded whatever a file
/// claims.
protocol FileParser: Sendable {
  /// Takes the next bytes.
  mutating func feed(_ bytes: UnsafeRawBufferPointer)
  /// No more bytes follow.
  mutating func end()
  /// What was found next; nil when more bytes are needed, or nothing follows.
  mutating func next() -> FileItem?

  /// Gets ready for the sound at `time`, with what decoders need in front of it.
  /// - Returns: the byte from which the file is to be fed next; nil while nobody knows.
  mutating func seek(to time: StreamTime) -> Int?

  /// Seconds that are heard; nil while that is not known, and a guess where the file does not tell.
  var duration: Double? { get }
  /// Where what is heard ends, if sound that was put there to fill follows.
  var soundEnd: StreamTime? { get }
  /// Whole frames that decoders need in front of the one that is wanted.
  var preroll: Int { get }
}

/// What is found in a file.
enum FileItem: Equatable {
  /// What the frames that follow are.
  case format(StreamFormat)
  /// The next frame begins at this time.
  case begins(at: StreamTime)
  /// A frame, or a piece of PCM, and its bytes as decoders take them.
  case frame(StreamFrame, [UInt8])
  /// The file is to be fed from this byte on.
  case jump(to: Int)
  /// There was the last frame; what may follow is no sound.
  case end
  /// It can't be played: what was found, in words.
  case unusable(found: String, isUnsupported: Bool)
}

/// What a file tells of itself.
public struct FileFacts: Sendable, Equatable {
  /// Whether any place of it can be gone to.
  public var canSeek = false
  /// Seconds; nil while that is not known.
  public var duration: Double?
}

/// Chooses the parser by the first bytes.
enum FileKind {
  /// Bytes that are enough to tell.
  static let magicLength = ContentSniffer.magicLength

  /// The parser for a file that begins with `start`.
  /// - Parameter size: bytes of the file; nil when the server does not say.
  /// - Throws: what it is, in words, when that does not play from a URL.
  static func parser(
    for start: [UInt8], contentType: String?, size: Int?
  ) -> Result<any FileParser, UnusableFile> {
    if let kind = ForeignSound.name(of: start[...]) {
      return .failure(UnusableFile(kind: kind, hint: UnusableFile.convert))
    }
    return switch ContentSniffer.container(start[...]) {
    case .mp4: .success(MP4File(size: size))
    case .wav: .success(WAVFile(size: size))
    case .flac: .failure(UnusableFile(kind: "FLAC from a URL", hint: UnusableFile.download))
    case .ogg: .failure(UnusableFile(kind: "Ogg from a URL", hint: UnusableFile.download))
    default: .success(FramedFile(contentType: contentType, size: size))
    }
  }
}

/// A file of a kind that does not play as its bytes come.
struct UnusableFile: Error {
  let kind: String
  /// The advice that an error about it gives.
  let hint: String

  static let download = "download it and play it by its path"
  static let convert = "convert it to MP3, AAC or WAV"
}
