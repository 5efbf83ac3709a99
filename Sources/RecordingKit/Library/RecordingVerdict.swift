internal import EventLoop

/// The result of `verify` for one recording.
public struct RecordingVerdict: Sendable, Equatable {
  /// The path of the file that was read: the part, while it is recorded.
  public let path: String
  /// The row in the catalogue; nil without a row.
  public let entry: RecordingEntry?
  /// `true` if some process is writing it at this moment; it is then not compared with its row.
  public let isOpen: Bool
  /// The number of whole frames (PCM frames in WAV and in containers: FLAC, MP4, AIFF, CAF).
  public let frames: Int
  /// The length in PCM frames.
  public let samples: Int
  /// The length in seconds of sound.
  public let seconds: Double
  /// The number of audio bytes.
  public let bytes: Int
  /// The number of bytes that are neither audio nor a tag.
  public let junkBytes: Int
  /// `true` if it is sound from the first byte after the tag to the last, all of which was read.
  public var isWhole: Bool { integrity == .whole }
  /// The differences between the catalogue and the file, one line each.
  public let differences: [String]
  private let integrity: RecordedSound.Integrity

  init(_ path: String, _ sound: RecordedSound, entry: RecordingEntry?, isOpen: Bool) {
    (self.path, self.entry, self.isOpen) = (path, entry, isOpen)
    (frames, samples, seconds) = (sound.frames, sound.samples, sound.seconds)
    (bytes, junkBytes, integrity) = (sound.bytes, sound.junkBytes, sound.integrity)
    differences = entry.map { isOpen ? [] : Self.differences($0, sound) } ?? []
  }

  /// `true` if the catalogue agrees with the file; nil if it has no row.
  public var agrees: Bool? { entry == nil ? nil : differences.isEmpty }
  /// The damage of the sound in words; nil if it is undamaged.
  public var damage: String? { if case .damaged(let words) = integrity { words } else { nil } }
  /// The reason, in words, why only the length in bytes was compared; nil if the sound was read.
  public var notChecked: String? { if case .unchecked(let words) = integrity { words } else { nil } }
  /// `true` if the file is whole, or still being written, and agrees with its row. A file that can't be
  /// checked agrees by its length in bytes, and is not good without a row.
  public var isGood: Bool {
    (isWhole || isOpen || notChecked != nil && entry != nil) && differences.isEmpty
  }

  private static func differences(_ entry: RecordingEntry, _ sound: RecordedSound) -> [String] {
    var lines: [String] = []
    func compare(_ what: String, _ row: Int, _ file: Int?) {
      if let file, file != row { lines.append("\(what): \(row) in the catalogue, \(file) in the file") }
    }
    compare("bytes", entry.bytes, sound.bytes)
    // The length of a copied file may be unknown in its row.
    guard sound.sampleRate != nil, entry.samples > 0 || !RecordedSound.isOpaque(entry.codec) else {
      return lines
    }
    compare("PCM frames", entry.samples, sound.samples)
    compare("sample rate", entry.sampleRate, sound.sampleRate)
    compare("channels", entry.channels, sound.channels)
    return lines
  }
}
