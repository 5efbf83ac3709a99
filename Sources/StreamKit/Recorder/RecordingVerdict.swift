internal import EventLoop

/// What `verify` found of one recording.
public struct RecordingVerdict: Sendable, Equatable {
  /// The file that was read: the part, while it is recorded.
  public let path: String
  /// Its row in the catalogue; nil when there is none.
  public let entry: RecordingEntry?
  /// Whether it is being written at this moment, by some process; it is not compared with its row then.
  public let isOpen: Bool
  /// Whole frames (PCM frames where it is WAV).
  public let frames: Int
  /// PCM frames.
  public let samples: Int
  /// Seconds of sound.
  public let seconds: Double
  /// Bytes of audio.
  public let bytes: Int
  /// Bytes that are neither audio nor a tag.
  public let junkBytes: Int
  /// Whether it is sound from the first byte behind the tag to the last.
  public let isWhole: Bool
  /// In what the catalogue says something else, one line each.
  public let differences: [String]

  init(_ path: String, _ sound: RecordedSound, entry: RecordingEntry?, isOpen: Bool) {
    (self.path, self.entry, self.isOpen) = (path, entry, isOpen)
    (frames, samples, seconds) = (sound.frames, sound.samples, sound.seconds)
    (bytes, junkBytes, isWhole) = (sound.bytes, sound.junkBytes, sound.isWhole)
    differences = entry.map { isOpen ? [] : Self.differences($0, sound) } ?? []
  }

  /// Whether the catalogue says the same; nil when it does not know it.
  public var agrees: Bool? { entry == nil ? nil : differences.isEmpty }
  /// Whether all is as it should be.
  public var isGood: Bool { (isWhole || isOpen) && differences.isEmpty }

  private static func differences(_ entry: RecordingEntry, _ sound: RecordedSound) -> [String] {
    var lines: [String] = []
    func compare(_ what: String, _ row: Int, _ file: Int?) {
      if let file, file != row { lines.append("\(what): \(row) in the catalogue, \(file) in the file") }
    }
    compare("bytes", entry.bytes, sound.bytes)
    guard sound.sampleRate != nil else { return lines }
    compare("PCM frames", entry.samples, sound.samples)
    compare("sample rate", entry.sampleRate, sound.sampleRate)
    compare("channels", entry.channels, sound.channels)
    return lines
  }
}
