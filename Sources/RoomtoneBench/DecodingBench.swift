internal import AudioCore
internal import CFAAD
internal import CMPG123
internal import Codecs

/// Decoding of files to PCM, beside direct calls of the same C libraries.
enum DecodingBench {
  static func run() throws -> [Figure] {
    let mp3 = try Fixture.path("scripts/wake_up.mp3")
    let conformed = try Bench.median {
      let (frames, seconds) = try measured {
        try ours(try ConformedDecoder(AudioFile.open(mp3), to: .session))
      }
      return Double(frames) / 48_000 / seconds
    }
    return [
      try figure("MP3 to PCM", "libmpg123") {
        try ours(try AudioFile.open(mp3))
      } library: {
        try mpg123(mp3)
      },
      try aac("AAC-LC to PCM", "Tests/Fixtures/aac-lc-44k.aac", times: 10),
      try aac("HE-AAC to PCM", "Tests/Fixtures/he-aac-v1-48k.aac", times: 5),
      Figure(
        name: "MP3 to 48 kHz stereo", value: conformed, unit: "x real time", against: "", goal: "none",
        isReached: true),
    ]
  }

  private static func aac(_ name: String, _ file: String, times: Int) throws -> Figure {
    try Fixture.repeated(try Fixture.bytes(file), times: times) { path in
      try figure(name, "libfaad") {
        try ours(try AudioFile.open(path))
      } library: {
        try faad(path)
      }
    }
  }

  /// Runs both in turn and compares their processor time.
  private static func figure(
    _ name: String, _ peer: String, ours: () throws -> Int, library: () throws -> Int
  ) throws -> Figure {
    var (own, direct): ([Double], [Double]) = ([], [])
    for _ in 0..<15 {
      let (frames, seconds) = try measured(ours)
      let (peerFrames, peerSeconds) = try measured(library)
      guard abs(frames - peerFrames) < 10_000 else {
        throw StartBench.Failed(message: "\(name): \(frames) frames, but \(peerFrames) of \(peer)")
      }
      own.append(seconds)
      direct.append(peerSeconds)
    }
    let (took, peerTook) = (own.sorted()[7], direct.sorted()[7])
    return Figure(
      name: name, value: took / peerTook, unit: "x (\(Bench.rounded(took * 1000)) ms)",
      against: "\(peer), called directly: \(Bench.rounded(peerTook * 1000)) ms", goal: "<= 1.05 x",
      isReached: took <= 1.05 * peerTook)
  }

  private static func measured(_ decode: () throws -> Int) throws -> (frames: Int, seconds: Double) {
    let start = Bench.threadTime()
    let frames = try decode()
    return (frames, Bench.threadTime() - start)
  }

  private static func ours(_ decoder: any Decoder) throws -> Int {
    var buffer = [Float](repeating: 0, count: 8192)
    var frames = 0
    while true {
      let count = try buffer.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if count == 0 { return frames }
      frames += count
    }
  }

  private static func mpg123(_ path: String) throws -> Int {
    var buffer = [Float](repeating: 0, count: 8192)
    guard let handle = mpg123_new(nil, nil) else { throw StartBench.Failed(message: "no libmpg123") }
    defer { mpg123_delete(handle) }
    let flags = MPG123_FORCE_FLOAT.rawValue | MPG123_QUIET.rawValue | MPG123_GAPLESS.rawValue
    mpg123_param2(handle, CInt(MPG123_ADD_FLAGS.rawValue), CLong(flags), 0)
    guard mpg123_open(handle, path) == MPG123_OK.rawValue else {
      throw StartBench.Failed(message: "libmpg123 can't open \(path)")
    }
    var (rate, channels, encoding, samples) = (CLong(0), CInt(0), CInt(0), 0)
    mpg123_getformat(handle, &rate, &channels, &encoding)
    guard channels > 0 else { throw StartBench.Failed(message: "libmpg123 finds no sound in \(path)") }
    while true {
      var bytes = 0
      let status = mpg123_read(handle, &buffer, buffer.count * 4, &bytes)
      samples += bytes / 4
      guard status == MPG123_OK.rawValue else { return samples / Int(channels) }
    }
  }

  private static func faad(_ path: String) throws -> Int {
    var bytes = try Fixture.bytes(at: path)
    guard let handle = NeAACDecOpen() else { throw StartBench.Failed(message: "no libfaad") }
    defer { NeAACDecClose(handle) }
    let options = NeAACDecGetCurrentConfiguration(handle)
    options?.pointee.outputFormat = UInt8(FAAD_FMT_FLOAT)
    options?.pointee.dontUpSampleImplicitSBR = 1
    NeAACDecSetConfiguration(handle, options)
    var (rate, channels) = (CUnsignedLong(0), UInt8(0))
    guard NeAACDecInit(handle, &bytes, CUnsignedLong(bytes.count), &rate, &channels) >= 0 else {
      throw StartBench.Failed(message: "libfaad can't open \(path)")
    }
    var (place, frames) = (0, 0)
    // libfaad finds the next frame by itself.
    bytes.withUnsafeMutableBufferPointer { bytes in
      while let start = bytes.baseAddress, place < bytes.count {
        var info = NeAACDecFrameInfo()
        let output = NeAACDecDecode(handle, &info, start + place, CUnsignedLong(bytes.count - place))
        guard info.error == 0, info.bytesconsumed > 0 else { return }
        place += Int(info.bytesconsumed)
        if output != nil, info.channels > 0 { frames += Int(info.samples) / Int(info.channels) }
      }
    }
    return frames
  }
}
