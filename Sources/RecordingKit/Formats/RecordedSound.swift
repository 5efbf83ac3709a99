internal import AudioCore
internal import Codecs
internal import StreamCore

/// The sound in a recording on the disk, found by walking all of it, or from the headers of its container.
struct RecordedSound: Equatable {
  /// The state of the sound.
  enum Integrity: Sendable, Equatable {
    /// Sound from the first byte after the tag to the last.
    case whole
    /// Damaged, with the damage in words.
    case damaged(String)
    /// Not read frame by frame, with the reason in words.
    case unchecked(String)
  }

  /// The number of whole frames; in WAV and in containers, of PCM frames; 0 without frames.
  var frames = 0
  /// The length in PCM frames, all at `sampleRate`.
  var samples = 0
  /// The number of audio bytes.
  var bytes = 0
  /// The number of bytes that are neither audio nor a tag.
  var junkBytes = 0
  /// The length in seconds of sound.
  var seconds = 0.0
  /// The sample rate in Hz, in Ogg that of the first stream; nil if unknown.
  var sampleRate: Int?
  /// The number of channels; nil if unknown.
  var channels: Int?
  /// The length of the file in bytes.
  var length = 0
  /// The offset of the end of the last whole frame.
  var end = 0
  /// The state of the sound.
  var integrity = Integrity.damaged("there is no frame in it")

  /// `true` if there is sound, and no damage was found in it.
  var isWhole: Bool { if case .damaged = integrity { false } else { true } }

  /// Returns `true` if a recording in a codec is a copy of bytes that are not walked frame by frame.
  static func isOpaque(_ codec: String) -> Bool { ["ogg", "flac", "mp4", "other"].contains(codec) }

  /// Reads the file at `path`: all of its frames, but only the headers of a container.
  /// - Parameter codec: the expected codec, as the catalogue names it; nil if unknown, and then no container
  ///   is expected.
  /// - Throws: `record.write` if it can't be read.
  static func read(_ path: String, codec: String?) throws(RecordError) -> RecordedSound {
    if let wav = try wav(path) { return wav }
    if let codec, isOpaque(codec), let sound = try contained(path, ContainedSound.measure(path)) {
      var sound = sound
      if case .whole = sound.integrity { sound.integrity = .unchecked("its headers alone were read") }
      return sound
    }
    return try walked(path, codec: codec)
  }

  /// Reads the whole file at `path`; the sound in a container is decoded.
  /// - Parameter codec: the expected codec, as the catalogue names it; nil if unknown.
  /// - Throws: `record.write` if it can't be read.
  static func check(_ path: String, codec: String?) throws(RecordError) -> RecordedSound {
    if let wav = try wav(path) { return wav }
    if let sound = try contained(path, ContainedSound.check(path)) { return sound }
    return try walked(path, codec: codec)
  }

  private static func wav(_ path: String) throws(RecordError) -> RecordedSound? {
    guard let wav = try WAVRecording.read(path) else { return nil }
    var sound = RecordedSound()
    (sound.frames, sound.samples) = (wav.samples, wav.samples)
    (sound.sampleRate, sound.channels, sound.end) = (wav.sampleRate, wav.channels, wav.end)
    // Recordings always have 16 bits.
    sound.bytes = wav.samples * wav.channels * 2
    sound.seconds = Double(wav.samples) / Double(wav.sampleRate)
    sound.length = try FileBytes.withFile(path) { $1 }
    if wav.isWhole {
      sound.integrity = .whole
    } else if wav.samples > 0 {
      sound.integrity = .damaged("its header states another length than the file has")
    }
    return sound
  }

  private static func contained(
    _ path: String, _ finding: ContainedSound.Finding?
  ) throws(RecordError) -> RecordedSound? {
    guard let finding else { return nil }
    var sound = RecordedSound()
    sound.length = try FileBytes.withFile(path) { $1 }
    let tag = try FileBytes.withFile(path) { (file, _) throws(RecordError) in
      AudioFraming.tagLength(try FileBytes.read(file, path, at: 0, count: 10))
    }
    (sound.bytes, sound.end) = (max(0, sound.length - tag), sound.length)
    switch finding {
    case .unsupported(let words): sound.integrity = .unchecked(words)
    case .damaged(let words): sound.integrity = .damaged(words)
    case .sound(let found):
      (sound.frames, sound.samples) = (found.frames ?? 0, found.frames ?? 0)
      (sound.sampleRate, sound.channels) = (found.format.sampleRate, found.format.channels)
      sound.seconds = Double(sound.samples) / Double(found.format.sampleRate)
      sound.integrity = found.damage.map(Integrity.damaged) ?? .whole
    }
    return sound
  }

  private static func walked(_ path: String, codec: String?) throws(RecordError) -> RecordedSound {
    var sound = RecordedSound()
    let walk = try RecordedFrames.walk(path)
    (sound.frames, sound.samples, sound.bytes) = (walk.frames, walk.samples, walk.audioBytes)
    (sound.junkBytes, sound.seconds) = (walk.junkBytes, walk.seconds)
    (sound.length, sound.end) = (walk.length, walk.endOfLastFrame)
    (sound.sampleRate, sound.channels) = (walk.format?.sampleRate, walk.format?.channels)
    // A row holds one rate for a whole chain.
    if walk.formatChanges > 0, let rate = sound.sampleRate {
      sound.samples = Int((walk.seconds * Double(rate)).rounded())
    }
    if walk.isWhole {
      sound.integrity = .whole
    } else if walk.frames > 0 {
      sound.integrity = .damaged("\(walk.junkBytes) bytes are neither frames nor a tag")
    } else if walk.format == nil, let codec, isOpaque(codec), walk.length > walk.tagLength {
      (sound.bytes, sound.junkBytes, sound.end) = (walk.length - walk.tagLength, 0, walk.length)
      sound.integrity = .unchecked("no decoder here knows its bytes")
    }
    return sound
  }
}
