internal import Codecs

/// The sound that a recording on the disk holds, found by walking all of it.
struct RecordedSound: Equatable {
  /// Whole frames; PCM frames where it is WAV; 0 where it is neither.
  var frames = 0
  /// PCM frames.
  var samples = 0
  /// Bytes of audio.
  var bytes = 0
  /// Bytes that are no audio and no tag.
  var junkBytes = 0
  /// Seconds of sound.
  var seconds = 0.0
  /// In Hz; nil where nothing tells.
  var sampleRate: Int?
  /// How many; nil where nothing tells.
  var channels: Int?
  /// Bytes of the file.
  var length = 0
  /// Where the last whole frame ends.
  var end = 0
  /// Whether there is sound, and nothing between or behind it that is none.
  var isWhole = false

  /// Whether nothing is known of such a sound but its length in bytes.
  static func isOpaque(_ codec: String) -> Bool { ["ogg", "flac", "mp4", "other"].contains(codec) }

  /// Reads the file at `path`.
  /// - Parameter codec: what it should hold, as the catalogue names it; nil when nobody knows.
  /// - Throws: `record.write` when it can't be read.
  static func read(_ path: String, codec: String?) throws(RecordError) -> RecordedSound {
    var sound = RecordedSound()
    if let wav = try WAVRecording.read(path) {
      (sound.frames, sound.samples, sound.isWhole) = (wav.samples, wav.samples, wav.isWhole)
      (sound.sampleRate, sound.channels, sound.end) = (wav.sampleRate, wav.channels, wav.end)
      // As all that is recorded: 16 bits.
      sound.bytes = wav.samples * wav.channels * 2
      sound.seconds = Double(wav.samples) / Double(wav.sampleRate)
      sound.length = try FileBytes.withFile(path) { $1 }
      return sound
    }
    let walk = try FrameFile.walk(path)
    (sound.frames, sound.samples, sound.bytes) = (walk.frames, walk.samples, walk.audioBytes)
    (sound.junkBytes, sound.seconds, sound.isWhole) = (walk.junkBytes, walk.seconds, walk.isWhole)
    (sound.length, sound.end) = (walk.length, walk.endOfLastFrame)
    (sound.sampleRate, sound.channels) = (walk.format?.sampleRate, walk.format?.channels)
    if walk.frames == 0, let codec, isOpaque(codec) {
      (sound.bytes, sound.junkBytes, sound.end) = (walk.length - walk.tagLength, 0, walk.length)
      sound.isWhole = sound.bytes > 0
    }
    return sound
  }
}
