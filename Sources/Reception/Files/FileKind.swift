internal import Codecs
internal import StreamCore

/// Chooses the parser by the first bytes.
enum FileKind {
  /// The number of bytes that identify a file.
  static let magicLength = ContentSniffer.magicLength

  /// Returns the parser for a file that begins with `start`.
  /// - Parameter size: the size of the file in bytes; nil if the server does not state it.
  /// - Returns: the parser; a failure names the kind of a file that does not play from a URL.
  static func parser(
    for start: [UInt8], contentType: String?, size: Int?
  ) -> Result<any FileParser, UnusableFile> {
    if let kind = ForeignSound.name(of: start[...]) {
      return .failure(UnusableFile(kind: kind, hint: UnusableFile.convert))
    }
    return switch ContentSniffer.container(start[...]) {
    case .mp4: .success(MP4File(size: size))
    case .wav: .success(WAVFile(size: size))
    case .flac: .success(FLACFile(size: size))
    case .ogg: .success(PagedFile(size: size))
    default: .success(FramedFile(contentType: contentType, size: size))
    }
  }
}

/// A file of a kind that can't be played as its bytes come.
struct UnusableFile: Error {
  let kind: String
  /// The remedy in the error.
  let hint: String

  static let convert = "convert it to MP3, AAC or WAV"
}
