package import AudioCore
internal import CALSA
internal import EventLoop
internal import Glibc

/// A PCM device of ALSA: a sound card, or a software device. The door to libasound.
///
/// Source: https://www.alsa-project.org/alsa-doc/alsa-lib/pcm.html
final class ALSASink: CardSink {
  let format: AudioFormat

  /// Integer formats to try, best first: a 16-bit source then arrives bit for bit.
  private static let sampleFormats = [SND_PCM_FORMAT_S16_LE, SND_PCM_FORMAT_S32_LE]
  /// Length of the card's buffer in microseconds.
  private static let bufferTime: UInt32 = 100_000
  /// Maximum number of recoveries within one `write` before the card counts as lost.
  private static let mostRecoveries = 8

  private struct Handle: ~Copyable {
    let raw: OpaquePointer
    deinit { snd_pcm_close(raw) }
  }

  private let device: String
  private var handle: Handle?
  private var isWide = false
  private var scratch: [Int16] = []
  private var wideScratch: [Int32] = []

  /// Opens the card called `device` (`"default"`, `"hw:1"`).
  /// - Throws: `audio.no_output` with ALSA's words.
  convenience init(device: String, format: AudioFormat) throws(AudioError) {
    try self.init(device: device, format: format) { raw in
      snd_pcm_open(&raw, device, SND_PCM_STREAM_PLAYBACK, 0)
    }
  }

  /// Opens the PCM that `open` creates.
  /// - Parameter open: returns a status of ALSA's, and stores the PCM when that is 0.
  /// - Throws: `audio.no_output` with ALSA's words.
  init(
    device: String, format: AudioFormat, open: (_ pcm: inout OpaquePointer?) -> Int32
  ) throws(AudioError) {
    alsa_silence_messages()
    self.device = device
    self.format = format
    var raw: OpaquePointer?
    let status = open(&raw)
    guard status == 0, let raw else { throw Self.error(device, status) }
    let handle = Handle(raw: raw)
    var refusal: Int32 = -1
    for sampleFormat in Self.sampleFormats where refusal < 0 {
      refusal = snd_pcm_set_params(
        raw, sampleFormat, SND_PCM_ACCESS_RW_INTERLEAVED, UInt32(format.channels), UInt32(format.sampleRate),
        1, Self.bufferTime)
      isWide = sampleFormat == SND_PCM_FORMAT_S32_LE
    }
    guard refusal >= 0 else { throw Self.error(device, refusal) }
    self.handle = consume handle
  }

  func write(_ samples: UnsafeBufferPointer<Float>) throws {
    guard let raw = handle?.raw else { throw AudioError.noOutput(device, cause: "it is closed") }
    if isWide {
      wideScratch.removeAll(keepingCapacity: true)
      wideScratch.append(contentsOf: samples.lazy.map { SampleConversion.int32($0) })
      try wideScratch.withUnsafeBytes { try write($0, to: raw, frameBytes: 4 * format.channels) }
    } else {
      scratch.removeAll(keepingCapacity: true)
      scratch.append(contentsOf: samples.lazy.map { SampleConversion.int16($0) })
      try scratch.withUnsafeBytes { try write($0, to: raw, frameBytes: 2 * format.channels) }
    }
  }

  var delay: Int {
    guard let raw = handle?.raw else { return 0 }
    var frames: snd_pcm_sframes_t = 0
    return snd_pcm_delay(raw, &frames) == 0 ? max(0, Int(frames)) : 0
  }

  func rest() throws {
    guard let raw = handle?.raw else { return }
    snd_pcm_drain(raw)
    let status = snd_pcm_prepare(raw)
    if status < 0 { throw Self.error(device, status) }
  }

  func finish() throws {
    if let raw = handle?.raw { snd_pcm_drain(raw) }
    handle = nil
  }

  /// Closes the card without waiting for what it was given.
  fileprivate func close() { handle = nil }

  /// Writes all of `bytes`; continues after an underrun or a suspend, which snd_pcm_recover repairs.
  private func write(_ bytes: UnsafeRawBufferPointer, to raw: OpaquePointer, frameBytes: Int) throws {
    var done = 0
    var recoveries = 0
    let frames = bytes.count / frameBytes
    while done < frames {
      let written = snd_pcm_writei(
        raw, bytes.baseAddress?.advanced(by: done * frameBytes), snd_pcm_uframes_t(frames - done))
      if written >= 0 {
        done += Int(written)
        continue
      }
      recoveries += 1
      let status = snd_pcm_recover(raw, Int32(written), 1)
      if status < 0 || recoveries > Self.mostRecoveries { throw Self.error(device, Int32(written)) }
    }
  }

  private static func error(_ device: String, _ status: Int32) -> AudioError {
    let cause = snd_strerror(status).map { String(cString: $0).lowercased() } ?? "error \(status)"
    return .noOutput("the sound card \"\(device)\"", cause: cause, hint: "`aplay -L` lists the cards")
  }
}

/// The sound cards of the machine.
package enum SoundCards {
  /// The version of libasound, as `1.2.8`.
  package static var libraryVersion: String {
    snd_asoundlib_version().map { String(cString: $0) } ?? "unknown"
  }

  /// The names of the cards, which need not open.
  package static var names: [String] {
    alsa_silence_messages()
    var (names, card): ([String], Int32) = ([], -1)
    while snd_card_next(&card) == 0, card >= 0 {
      var name: UnsafeMutablePointer<CChar>?
      guard snd_card_get_name(card, &name) == 0, let name else { continue }
      names.append(String(cString: name))
      free(name)
    }
    return names
  }

  /// Opens the card called `device` for 48 kHz stereo, and closes it.
  /// - Throws: `audio.no_output` with ALSA's words.
  package static func open(_ device: String) throws(AudioError) {
    try ALSASink(device: device, format: AudioFormat(sampleRate: 48_000, channels: 2)).close()
  }
}

/// A sink with a clock of its own, such as a sound card. For one thread, as `PCMSink`.
protocol CardSink: PCMSink {
  /// Number of frames written and not heard yet.
  var delay: Int { get }
  /// Time without frames after which the sink is drained.
  var restDelay: Duration { get }
  /// Drains the sink before a pause: returns when all frames have been heard.
  func rest() throws
}

extension CardSink {
  /// Three blocks.
  var restDelay: Duration { .milliseconds(60) }
}
