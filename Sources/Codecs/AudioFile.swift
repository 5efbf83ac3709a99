public import AudioCore
package import EventLoop

/// Sound in files of any supported kind.
public enum AudioFile {
  /// Extensions of files that may hold sound of a supported kind, in lower case. For finding files: `open` goes by
  /// their bytes.
  public static let extensions = Set(Codec.allCases.flatMap(\.extensions))

  /// Opens the file at `path` with the decoder for its bytes; the file's name has no influence.
  ///
  /// Reads MPEG audio (MP3), AAC in ADTS frames or MP4 (M4A), WAV, RF64, AIFF, CAF, AU, W64 and FLAC, and Ogg
  /// with Vorbis, Opus or FLAC. Memory does not grow with the size that a file claims.
  /// - Throws: `audio.not_found` when it can't be opened (the system's words, or that it is a folder),
  ///   `audio.unreadable` with the content found and its byte (for a file without any sound too),
  ///   `audio.unsupported` for audio of other kinds.
  public static func open(_ path: String) throws -> any Decoder { try openSound(path).decoder }

  /// Opens the file at `path`, as `open`.
  /// - Returns: the decoder, and the codec of the frames that it reads; PCM where it reads no frames one by one.
  package static func openSound(_ path: String) throws -> (decoder: any Decoder, codec: Codec) {
    let file = try FileDescriptor(reading: path)
    switch SourceKind(of: file) {
    case .sound(let codec, let firstFrame):
      guard let open = codec.row.open else { throw AudioError.unsupportedKind(path, codec.title) }
      return (try open(file, path, firstFrame), codec.inFiles)
    case .playlist(let isOfSegments): throw AudioError.playlist(path, isOfSegments: isOfSegments)
    case .unsupported(let kind): throw AudioError.unsupportedKind(path, kind)
    case .unknown(let found, let byte):
      throw AudioError.unreadable(path, found: found, atByte: byte)
    }
  }
}

extension AudioError {
  /// The error of a seek to a frame that the source does not have.
  static func outsideSource(_ source: String, frame: Int, count: Int?) -> AudioError {
    let length = count.map { "it has \($0) frames" } ?? "its length is not known"
    return AudioError(
      .unsupported, "cannot go to frame \(frame) of \(source): \(length)",
      facts: [.init("path", .string(source)), .init("frame", .int(frame))])
  }

  /// The error of a file at `path`, of `size` bytes, that ends before the frames that its header counts.
  /// - Parameter all: the frames that it counts; nil where it counts none, and the end itself shows it.
  static func cutShort(
    _ path: String, frames: Int, of all: Int? = nil, sampleRate: Int, size: Int
  ) -> AudioError {
    func seconds(_ frames: Int) -> Double { (Double(frames) / Double(sampleRate) * 10).rounded() / 10 }
    let whole = all.map { " of \(seconds($0))" } ?? ""
    let found = "the end of the file after \(seconds(frames))\(whole) s of sound"
    return .unreadable(path, found: found, atByte: size, hint: "copy or download the file again")
  }

  /// The error of a list at `path` in place of a sound file.
  /// - Parameter isOfSegments: `true` for a list of HLS.
  package static func playlist(_ path: String, isOfSegments: Bool) -> AudioError {
    let facts = [ErrorFact("path", .string(path))]
    guard isOfSegments else {
      return AudioError(
        .unsupported, "cannot decode \(path): it is a playlist", hint: "play a file that it lists",
        facts: facts)
    }
    return AudioError(
      .unsupported, "cannot play \(path): a list of HLS on this machine is not supported",
      hint: "play it by the URL of a server, or make one file of it: ffmpeg -i \(path) -c copy show.m4a",
      facts: facts)
  }

  /// The error of a file at `path` with audio of a kind, in words, that has no decoder here.
  static func unsupportedKind(_ path: String, _ kind: String) -> AudioError {
    AudioError(
      .unsupported, "cannot decode \(path): \(kind) is not supported", hint: "convert it to MP3, FLAC or WAV",
      facts: [.init("path", .string(path)), .init("kind", .string(kind))])
  }
}

/// The libraries that decode and resample.
package enum CodecLibraries {
  /// The names of the libraries with their versions, nil for one that reports none, and the failure to load one that is
  /// loaded at its first use.
  package static var versions: [(name: String, version: String?, failure: LibraryError?)] {
    var libraries: [CodecLibrary] = []
    for library in Codec.allCases.flatMap(\.row.libraries) + [.soxr]
    where !libraries.contains(where: { $0.name == library.name }) { libraries.append(library) }
    return libraries.map { ($0.name, $0.version(), $0.failure()) }
  }
}
