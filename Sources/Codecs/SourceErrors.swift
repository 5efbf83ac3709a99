internal import AudioCore
internal import EventLoop

extension AudioError {
  /// The error of a seek to a frame that the source does not have.
  static func outsideSource(_ source: String, frame: Int, count: Int?) -> AudioError {
    let length = count.map { "it has \($0) frames" } ?? "its length is not known"
    return AudioError(
      .unsupported, "cannot go to frame \(frame) of \(source): \(length)",
      facts: [.init("path", .string(source)), .init("frame", .int(frame))])
  }

  /// The error of a file at `path`, of `size` bytes, that ends before the frames that its header counts.
  static func cutShort(_ path: String, frames: Int, of all: Int, sampleRate: Int, size: Int) -> AudioError {
    func seconds(_ frames: Int) -> Double { (Double(frames) / Double(sampleRate) * 10).rounded() / 10 }
    let found = "the end of the file after \(seconds(frames)) of \(seconds(all)) s of sound"
    return .unreadable(path, found: found, atByte: size, hint: "copy or download the file again")
  }

  /// The error of a file at `path` with audio of a kind, in words, that has no decoder here.
  static func unsupportedKind(_ path: String, _ kind: String) -> AudioError {
    AudioError(
      .unsupported, "cannot decode \(path): \(kind) is not supported", hint: "convert it to MP3, FLAC or WAV",
      facts: [.init("path", .string(path)), .init("kind", .string(kind))])
  }
}
