internal import AudioCore
internal import Codecs

/// MP3 to PCM, and to a session's PCM, from a fixture in the source tree.
enum MP3Bench {
  static func run() throws -> [Figure] {
    guard let path = fixture() else { return [] }
    let decode = try Bench.median { try timesRealTime(try MP3Decoder(path: path)) }
    let session = try Bench.median {
      try timesRealTime(try ConformedDecoder(try AudioFile.open(path), to: .session))
    }
    return [
      Figure(
        name: "MP3 to PCM", value: decode, unit: "x real time", against: "", goal: "none", isReached: true),
      Figure(
        name: "MP3 to 48 kHz stereo", value: session, unit: "x real time", against: "", goal: "none",
        isReached: true),
    ]
  }

  private static func fixture() -> String? {
    var folder = StartBench.executableFolder()
    for _ in 0..<6 {
      let path = folder + "/scripts/wake_up.mp3"
      if (try? AudioFile.open(path)) != nil { return path }
      guard let slash = folder.lastIndex(of: "/") else { return nil }
      folder = String(folder[..<slash])
    }
    return nil
  }

  private static func timesRealTime(_ decoder: any Decoder) throws -> Double {
    var buffer = [Float](repeating: 0, count: 8192)
    var frames = 0
    let start = Bench.now()
    while true {
      let count = try buffer.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if count == 0 { break }
      frames += count
    }
    return Double(frames) / Double(decoder.format.sampleRate) / (Bench.now() - start)
  }
}
