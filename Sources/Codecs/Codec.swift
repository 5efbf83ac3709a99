public import AudioCore
internal import EventLoop

/// A codec of sound, or a container whose sound is received whole. `row` has all that is known of it.
public enum Codec: UInt8, Sendable, CaseIterable {
  /// MPEG audio, layer I.
  case layer1
  /// MPEG audio, layer II.
  case layer2
  /// MPEG audio, layer III: MP3.
  case mp3
  /// AAC in ADTS frames.
  case aac
  /// WAV.
  case wav
  /// FLAC.
  case flac
  /// FLAC in Ogg.
  case oggflac
  /// Vorbis in Ogg.
  case vorbis
  /// Opus in Ogg.
  case opus
  /// Ogg whose contents are not known.
  case ogg
  /// MP4.
  case mp4
  /// PCM of a file: frame after frame, little-endian; 1 byte a sample is without a sign, 4 are Float32. As a file, one of
  /// libsndfile's other containers.
  case pcm
  /// PCM of a live stream, of 16 bits, little-endian: any whole frames of it are a piece.
  case l16
  /// Matroska, WebM, and other content that passes as it is.
  case other

  /// The properties of a codec or container. A new one is a case above, a row below, and a folder of its own.
  struct Row: Sendable {
    let codec: Codec
    /// The name for people.
    let title: String
    /// The extensions of files that may hold it, in lower case; the first is that of recordings.
    var extensions: [String] = []
    /// The way in which its bytes are divided.
    let framing: Framing
    /// The codec of all sound in a container that is decoded frame by frame; nil for other rows.
    var contained: Codec?
    /// The first bytes of a container, in which `?` stands for any byte: one of these.
    var magic: [String] = []
    /// The content types of a container.
    var contentTypes: [String] = []
    /// The libraries that decode it.
    var libraries: [CodecLibrary] = []
    /// Creates a decoder of frames, after the headers of Ogg as whole pages; nil without frames.
    var live: (@Sendable (any FrameSource, [UInt8]) throws -> any Decoder)?
    /// Opens the file at a path, whose first frame starts at a byte; nil for one that is not decoded.
    var open: (@Sendable (consuming FileDescriptor, String, Int) throws -> any Decoder)?
  }

  /// The way in which the bytes of a codec are divided.
  enum Framing: Sendable {
    /// Frames with headers, which `AudioFraming` finds.
    case headers
    /// Packets in pages of Ogg.
    case pages(any OggMapping.Type)
    /// Samples, which may be divided anywhere.
    case samples
    /// No frames: it passes in arbitrary pieces.
    case none
  }

  /// The rows, in the order of the cases. Containers of one coding precede those that may hold it too.
  private static let rows = [
    Row(
      codec: .layer1, title: "MPEG layer I", extensions: ["mp1"], framing: .headers, libraries: [.mpg123],
      live: mpegStream, open: mpegFile),
    Row(
      codec: .layer2, title: "MPEG layer II", extensions: ["mp2", "mpga"], framing: .headers,
      libraries: [.mpg123], live: mpegStream, open: mpegFile),
    Row(
      codec: .mp3, title: "MP3", extensions: ["mp3"], framing: .headers, libraries: [.mpg123],
      live: mpegStream, open: mpegFile),
    Row(
      codec: .aac, title: "AAC", extensions: ["aac", "adts"], framing: .headers, libraries: [.faad],
      live: { source, _ in ADTSStreamDecoder(source) },
      open: { file, path, first in try ADTSFileDecoder(file, path: path, firstFrame: first) }),
    Row(
      codec: .wav, title: "WAV", extensions: ["wav", "wave"], framing: .none, magic: ["RIFF????WAVE"],
      contentTypes: ["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"], libraries: [.sndfile],
      open: soundFile),
    Row(
      codec: .flac, title: "FLAC", extensions: ["flac"], framing: .none, magic: ["fLaC"],
      contentTypes: ["audio/flac", "audio/x-flac"], libraries: [.sndfile, .flac], open: soundFile),
    Row(
      codec: .oggflac, title: "FLAC", extensions: ["oga"], framing: .pages(FLACMapping.self),
      libraries: [.flac], live: oggStream, open: OggFLACDecoder.open),
    Row(
      codec: .vorbis, title: "Vorbis", extensions: ["ogg", "oga"], framing: .pages(VorbisMapping.self),
      libraries: [.sndfile, .vorbis], live: oggStream, open: oggFile),
    Row(
      codec: .opus, title: "Opus", extensions: ["opus"], framing: .pages(OpusMapping.self),
      libraries: [.sndfile, .opus], live: oggStream, open: oggFile),
    Row(
      codec: .ogg, title: "Ogg of this kind", extensions: ["ogg"], framing: .none, magic: ["OggS"],
      contentTypes: [
        "application/ogg", "audio/ogg", "audio/x-ogg", "audio/vorbis", "audio/opus", "video/ogg",
      ], open: oggFile),
    Row(
      codec: .mp4, title: "MP4", extensions: ["m4a", "m4b", "mp4"], framing: .none, contained: .aac,
      magic: ["????ftyp"],
      contentTypes: ["audio/mp4", "audio/x-m4a", "video/mp4"], libraries: [.faad],
      open: { file, path, _ in try MP4FileDecoder(file, path: path) }),
    Row(
      codec: .pcm, title: "PCM",
      extensions: ["wav", "aif", "aifc", "aiff", "au", "caf", "rf64", "snd", "w64"], framing: .none,
      magic: ["RIFX????WAVE", "RF64????WAVE", "FORM????AIFF", "FORM????AIFC", "caff", ".snd", "riff"],
      libraries: [.sndfile], open: soundFile),
    Row(codec: .l16, title: "PCM", extensions: ["wav"], framing: .samples),
    Row(
      codec: .other, title: "this kind", framing: .none,
      contentTypes: ["audio/webm", "video/webm", "audio/x-matroska", "video/x-matroska"]),
  ]

  /// The properties.
  var row: Row { Self.rows[Int(rawValue)] }

  private static let mpegStream: @Sendable (any FrameSource, [UInt8]) throws -> any Decoder = { source, _ in
    try MPEGStreamDecoder(source)
  }
  private static let oggStream: @Sendable (any FrameSource, [UInt8]) throws -> any Decoder = {
    try OggStreamDecoder($0, headers: $1)
  }
  @Sendable private static func mpegFile(
    _ file: consuming FileDescriptor, _ path: String, _ first: Int
  ) throws -> any Decoder { try MP3Decoder(file, path: path, firstFrame: first) }
  @Sendable private static func soundFile(
    _ file: consuming FileDescriptor, _ path: String, _ first: Int
  ) throws -> any Decoder { try SoundFileDecoder(file, path: path) }
  /// Opens a file of Ogg. Whole ones are libsndfile's, which decodes Vorbis and Opus, and reports their damage.
  @Sendable private static func oggFile(
    _ file: consuming FileDescriptor, _ path: String, _ first: Int
  ) throws -> any Decoder {
    if let end = OggEnd(of: file), end != .whole { return try OggChainDecoder(file, path: path, end) }
    return try SoundFileDecoder(file, path: path)
  }
}

extension Codec {
  /// The name for people, as `MP3`.
  public var title: String { row.title }
  /// The extension of a recording.
  public var fileEnd: String { row.extensions.first ?? "bin" }
  /// The extensions of files that may hold it, in lower case.
  public var extensions: [String] { row.extensions }
  /// The codec that a file has as a stream: of its frames, where its decoder reads them one by one, else PCM.
  var inFiles: Codec { if case .headers = row.framing { self } else { row.contained ?? .pcm } }
  /// The mapping to Ogg; nil for other codecs.
  var mapping: (any OggMapping.Type)? { if case .pages(let mapping) = row.framing { mapping } else { nil } }
  /// `true` if the stream is divided into frames; otherwise it passes in arbitrary pieces.
  public var hasFrames: Bool { if case .none = row.framing { false } else { true } }
  /// `true` if its frames are PCM without headers, which a recording keeps in a WAV file.
  public var isSamples: Bool { if case .samples = row.framing { true } else { false } }
  /// `true` if the frames are pages of Ogg.
  public var isOgg: Bool { if case .pages = row.framing { true } else { false } }

  /// Returns the container that begins with `head`, 12 bytes at least; nil for an unknown one.
  public init?(head: some Collection<UInt8>) {
    let found = Self.rows.first { row in
      row.magic.contains { magic in
        head.count >= magic.utf8.count
          && zip(head, magic.utf8).allSatisfy { $0 == $1 || $1 == UInt8(ascii: "?") }
      }
    }
    guard let found else { return nil }
    self = found.codec
  }

  /// Returns the container with a content type; nil for any other type.
  public init?(contentType: String) {
    let name = contentType.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
    guard let found = Self.rows.first(where: { $0.contentTypes.contains(name) }) else { return nil }
    self = found.codec
  }

  /// Returns the codec of a logical stream of Ogg with this first packet; nil for one that is not decoded here.
  init?(firstPacket packet: some Collection<UInt8>) {
    guard
      let found = Self.allCases.first(where: { $0.mapping.map { packet.starts(with: $0.magic) } ?? false })
    else { return nil }
    self = found
  }

  /// Returns a decoder of the frames of `source`; nil for a codec without frames.
  /// - Parameter headers: the headers of the pages of Ogg, as whole pages.
  /// - Throws: `audio.unreadable`, `audio.unsupported`.
  public func decoder(of source: any FrameSource, headers: [UInt8] = []) throws -> (any Decoder)? {
    try row.live?(source, headers)
  }
}

/// A library that decodes or resamples.
struct CodecLibrary: Sendable {
  let name: String
  /// Returns its version; nil when it reports none.
  var version: @Sendable () -> String? = { nil }
  /// Returns the failure to load one that is loaded at its first use.
  var failure: @Sendable () -> LibraryError? = { nil }

  static let mpg123 = CodecLibrary(name: "mpg123")
  static let faad = CodecLibrary(name: "faad", version: { AACDecoder.libraryVersion })
  static let sndfile = CodecLibrary(
    name: "sndfile", version: { SoundFileHandle.libraryVersion },
    failure: { SoundFileHandle.libraryFailure })
  static let flac = CodecLibrary(name: "FLAC", version: { OggFLACDecoder.libraryVersion })
  static let vorbis = CodecLibrary(name: "vorbis", version: { VorbisPacketDecoder.libraryVersion })
  static let opus = CodecLibrary(name: "opus", version: { OpusPacketDecoder.libraryVersion })
  static let soxr = CodecLibrary(
    name: "soxr", version: { Resampler.libraryVersion }, failure: { Resampler.libraryFailure })
}
