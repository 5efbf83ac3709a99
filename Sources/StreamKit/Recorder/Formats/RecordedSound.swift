internal import Codecs

/// The sound that a recording on the disk holds, found by walking all of it.
struct RecordedSound: Equatable {
  /// The number of whole frames, of PCM frames in WAV; 0 where there are neither.
  var frames = 0
  /// The length in PCM frames.
  var samples = 0
  /// The bytes of audio.
  var bytes = 0
  /// The bytes that are neither audio nor a tag.
  var junkBytes = 0
  /// The length in seconds of sound.
  var seconds = 0.0
  /// The sample rate in Hz; nil when unknown.
  var sampleRate: Int?
  /// The number of channels; nil when unknown.
  var channels: Int?
  /// The length of the file in bytes.
  var length = 0
  /// The offset of the end of the last whole frame.
  var end = 0
  /// `true` if there is sound, and nothing else between or behind it.
  var isWhole = false

  /// Returns `true` if nothing but the length in bytes is known of sound in a codec.
  static func isOpaque(_ codec: String) -> Bool { ["ogg", "flac", "mp4", "other"].contains(codec) }

  /// Reads the file at `path`.
  /// - Parameter codec: the expected codec, as the catalogue names it; nil when unknown.
  /// - Throws: `record.write` when it can't be read.
  static func read(_ path: String, codec: String?) throws(RecordError) -> RecordedSound {
    var sound = RecordedSound()
    if let wav = try WAVRecording.read(path) {
      (sound.frames, sound.samples, sound.isWhole) = (wav.samples, wav.samples, wav.isWhole)
      (sound.sampleRate, sound.channels, sound.end) = (wav.sampleRate, wav.channels, wav.end)
      // Recordings are made with 16 bits only.
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
    if walk.frames == 0, walk.format == nil, let codec, isOpaque(codec) {
      (sound.bytes, sound.junkBytes, sound.end) = (walk.length - walk.tagLength, 0, walk.length)
      sound.isWhole = sound.bytes > 0
    }
    return sound
  }
}
