package import AudioCore
internal import CALSA
package import EventLoop
internal import Glibc

/// A PCM device of ALSA: a sound card, or a software device. The door to libasound.
///
/// A card that stops playing without an error, as when its firmware hangs, is reported as an error after some
/// seconds: the card is opened without blocking, and each wait for it has a limit.
///
/// Source: https://www.alsa-project.org/alsa-doc/alsa-lib/pcm.html
final class ALSASink: CardSink {
  let format: AudioFormat

  /// Integer formats to try, best first: a 16-bit source then arrives bit for bit.
  private static let sampleFormats = [SND_PCM_FORMAT_S16_LE, SND_PCM_FORMAT_S32_LE]
  /// The length of the card's buffer in microseconds.
  private static let bufferTime: UInt32 = 100_000
  /// The maximum number of channels that are tried.
  private static let mostChannels = 64
  /// The maximum number of recoveries within one `write` before the card counts as lost.
  private static let mostRecoveries = 8
  /// The time in ns without a played frame after which the card has stopped.
  private static let longestStall: Int64 = 2_000_000_000
  /// The time in ns of a wait after which the thread sleeps between attempts, whatever ALSA reports.
  private static let quickWait: Int64 = 100_000_000
  /// The length in seconds of the silence that proves that a card plays.
  private static let proofLength = 0.04

  private struct Handle: ~Copyable {
    let raw: OpaquePointer
    let alsa: alsa_library
    deinit { _ = alsa.snd_pcm_close(raw) }
  }

  fileprivate static let library = SharedLibrary<alsa_library>(
    "libasound.so.2", package: "libasound2", names: alsa_names())

  private let device: String
  private let alsa: alsa_library
  private var handle: Handle?
  private(set) var hasStalled = false
  private var isWide = false
  /// The channels of the card, `format.channels` or more; the further ones are silent.
  private var cardChannels = 0
  /// The number of frames that the card's buffer holds.
  private var bufferFrames = 0
  private var scratch: [Int16] = []
  private var wideScratch: [Int32] = []

  /// Opens the card called `device` (`"default"`, `"hw:1"`).
  /// - Throws: `audio.no_output` with ALSA's words.
  convenience init(device: String, format: AudioFormat) throws(AudioError) {
    let alsa = try Self.functions(for: device)
    try self.init(device: device, format: format) { raw in
      // If another program has the card, opening fails at once, without a wait.
      alsa.snd_pcm_open(&raw, device, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
    }
  }

  /// Opens the PCM that `open` creates.
  /// - Parameter open: returns a status of ALSA's, and stores the PCM when that is 0.
  /// - Throws: `audio.no_output` with ALSA's words.
  init(
    device: String, format: AudioFormat, open: (_ pcm: inout OpaquePointer?) -> Int32
  ) throws(AudioError) {
    alsa = try Self.functions(for: device)
    alsa_silence_messages(alsa)
    self.device = device
    self.format = format
    var raw: OpaquePointer?
    let status = open(&raw)
    guard status == 0, let raw else { throw error(status) }
    let handle = Handle(raw: raw, alsa: alsa)
    cardChannels = try channels(of: raw, atLeast: format.channels)
    var refusal: Int32 = -1
    for sampleFormat in Self.sampleFormats where refusal < 0 {
      refusal = alsa.snd_pcm_set_params(
        raw, sampleFormat, SND_PCM_ACCESS_RW_INTERLEAVED, UInt32(cardChannels), UInt32(format.sampleRate), 1,
        Self.bufferTime)
      isWide = sampleFormat == SND_PCM_FORMAT_S32_LE
    }
    guard refusal >= 0 else { throw error(refusal) }
    _ = alsa.snd_pcm_nonblock(raw, 1)
    var (buffer, period): (snd_pcm_uframes_t, snd_pcm_uframes_t) = (0, 0)
    _ = alsa.snd_pcm_get_params(raw, &buffer, &period)
    bufferFrames = Int(buffer)
    self.handle = consume handle
  }

  func write(_ samples: UnsafeBufferPointer<Float>) throws {
    guard let raw = handle?.raw else { throw AudioError.noOutput(device, cause: "it is closed") }
    if isWide {
      wideScratch.removeAll(keepingCapacity: true)
      append(samples, to: &wideScratch) { SampleConversion.int32($0) }
      try wideScratch.withUnsafeBytes { try write($0, to: raw, frameBytes: 4 * cardChannels) }
    } else {
      scratch.removeAll(keepingCapacity: true)
      append(samples, to: &scratch) { SampleConversion.int16($0) }
      try scratch.withUnsafeBytes { try write($0, to: raw, frameBytes: 2 * cardChannels) }
    }
  }

  /// Appends converted samples, and silence for the channels that the card has besides.
  private func append<Sample: FixedWidthInteger>(
    _ samples: UnsafeBufferPointer<Float>, to scratch: inout [Sample], _ convert: (Float) -> Sample
  ) {
    guard cardChannels > format.channels else {
      return scratch.append(contentsOf: samples.lazy.map(convert))
    }
    for start in stride(from: 0, to: samples.count, by: format.channels) {
      scratch.append(contentsOf: samples[start..<start + format.channels].lazy.map(convert))
      scratch.append(contentsOf: repeatElement(0, count: cardChannels - format.channels))
    }
  }

  /// Returns the least number of channels, `least` or more, that a card accepts.
  /// - Throws: `audio.no_output` when it has fewer.
  private func channels(of raw: OpaquePointer, atLeast least: Int) throws(AudioError) -> Int {
    var parameters: OpaquePointer?
    guard alsa.snd_pcm_hw_params_malloc(&parameters) == 0, let parameters else { return least }
    defer { alsa.snd_pcm_hw_params_free(parameters) }
    guard alsa.snd_pcm_hw_params_any(raw, parameters) >= 0 else { return least }
    for count in least...max(least, Self.mostChannels)
    where alsa.snd_pcm_hw_params_test_channels(raw, parameters, UInt32(count)) == 0 {
      return count
    }
    var most: UInt32 = 0
    _ = alsa.snd_pcm_hw_params_get_channels_max(parameters, &most)
    throw .noOutput(
      "channel \(least) of the sound card \"\(device)\"",
      cause: most == 1 ? "it has one channel" : "it has \(most) channels",
      hint: "correct `channels` in config.lua; they are counted from 1")
  }

  var delay: Int {
    guard let raw = handle?.raw else { return 0 }
    var frames: snd_pcm_sframes_t = 0
    return alsa.snd_pcm_delay(raw, &frames) == 0 ? max(0, Int(frames)) : 0
  }

  var held: Int {
    guard let raw = handle?.raw else { return 0 }
    let room = alsa.snd_pcm_avail(raw)
    return room < 0 ? 0 : max(0, bufferFrames - Int(room))
  }

  func start() throws {
    guard let raw = handle?.raw, alsa.snd_pcm_state(raw) == SND_PCM_STATE_PREPARED else { return }
    let status = alsa.snd_pcm_start(raw)
    if status < 0 { throw error(status) }
  }

  func rest() throws {
    guard let raw = handle?.raw else { return }
    try drain(raw)
    let status = alsa.snd_pcm_prepare(raw)
    if status < 0 { throw error(status) }
  }

  func finish() throws {
    defer { handle = nil }
    if let raw = handle?.raw { try drain(raw) }
  }

  func check() throws {
    guard let raw = handle?.raw else { throw AudioError.noOutput(device, cause: "it is closed") }
    let frames = min(bufferFrames, Int(Self.proofLength * Double(format.sampleRate)))
    let silence = [Float](repeating: 0, count: frames * format.channels)
    try silence.withUnsafeBufferPointer { try write($0) }
    try start()
    let began = monotonicNanoseconds()
    while true {
      let room = alsa.snd_pcm_avail(raw)
      // An underrun: all of it has been played.
      if room >= snd_pcm_sframes_t(bufferFrames) || room == -snd_pcm_sframes_t(EPIPE) { break }
      if room < 0 { throw error(Int32(room)) }
      guard monotonicNanoseconds() - began < Self.longestStall else { throw stalled() }
      sleepUntil(monotonicNanoseconds: monotonicNanoseconds() + 5_000_000)
    }
    _ = alsa.snd_pcm_drop(raw)
    let status = alsa.snd_pcm_prepare(raw)
    if status < 0 { throw error(status) }
  }

  /// Waits until all frames have been heard.
  /// - Throws: `audio.no_output` when the card has stopped before.
  private func drain(_ raw: OpaquePointer) throws {
    let began = monotonicNanoseconds()
    let length = Int64(delay) * 1_000_000_000 / Int64(format.sampleRate)
    // Not blocking: ALSA begins to drain, and is asked until it has.
    while alsa.snd_pcm_drain(raw) == -EAGAIN {
      guard [SND_PCM_STATE_DRAINING, SND_PCM_STATE_RUNNING].contains(alsa.snd_pcm_state(raw)) else { return }
      guard monotonicNanoseconds() - began < length + Self.longestStall else { throw stalled() }
      sleepUntil(monotonicNanoseconds: monotonicNanoseconds() + 2_000_000)
    }
  }

  /// Notes that the card has stopped.
  private func stalled() -> AudioError {
    hasStalled = true
    return .noOutput(
      "the sound card \"\(device)\"",
      cause: "it has played nothing for \(Self.longestStall / 1_000_000_000) s",
      hint: "it is tried again; unplug it and plug it in if it stays silent")
  }

  /// Closes the card without waiting for the frames in its buffer.
  fileprivate func close() { handle = nil }

  /// Writes all of `bytes`, and waits for room; continues after an underrun or a suspend, which snd_pcm_recover repairs.
  /// - Throws: `audio.no_output` when it can't be repaired, or the card has stopped.
  private func write(_ bytes: UnsafeRawBufferPointer, to raw: OpaquePointer, frameBytes: Int) throws {
    var done = 0
    var recoveries = 0
    var waiting: Int64?
    let frames = bytes.count / frameBytes
    while done < frames {
      let written = alsa.snd_pcm_writei(
        raw, bytes.baseAddress?.advanced(by: done * frameBytes), snd_pcm_uframes_t(frames - done))
      if written > 0 {
        done += Int(written)
        waiting = nil
        continue
      }
      if written == 0 || written == -snd_pcm_sframes_t(EAGAIN) {
        let now = monotonicNanoseconds()
        let since = waiting ?? now
        waiting = since
        guard now - since < Self.longestStall else { throw stalled() }
        // A failure shows with the next write.
        _ = alsa.snd_pcm_wait(raw, 100)
        if now - since > Self.quickWait {
          sleepUntil(monotonicNanoseconds: monotonicNanoseconds() + 1_000_000)
        }
        continue
      }
      recoveries += 1
      let status = alsa.snd_pcm_recover(raw, Int32(written), 1)
      if status < 0 || recoveries > Self.mostRecoveries { throw error(Int32(written)) }
    }
  }

  /// Returns the functions of ALSA.
  /// - Throws: `audio.no_output` when it can't be loaded.
  private static func functions(for device: String) throws(AudioError) -> alsa_library {
    do throws(LibraryError) { return try library.functions } catch {
      // The hint too: houses that continue without sound log the cause alone.
      throw .noOutput("the sound card \"\(device)\"", cause: "\(error)")
    }
  }

  private func error(_ status: Int32) -> AudioError {
    let cause = alsa.snd_strerror(status).map { String(cString: $0).lowercased() } ?? "error \(status)"
    return .noOutput("the sound card \"\(device)\"", cause: cause, hint: "`aplay -L` lists the cards")
  }
}

/// The sound cards of the machine.
package enum SoundCards {
  /// The version of libasound, as `1.2.8`; nil when it can't be loaded.
  package static var libraryVersion: String? {
    (try? ALSASink.library.functions)?.snd_asoundlib_version().map { String(cString: $0) }
  }

  /// The failure to load libasound; nil when it is there.
  package static var libraryFailure: LibraryError? { ALSASink.library.failure }

  /// The names of the cards, which need not open; none without libasound.
  package static var names: [String] {
    guard let alsa = try? ALSASink.library.functions else { return [] }
    alsa_silence_messages(alsa)
    var (names, card): ([String], Int32) = ([], -1)
    while alsa.snd_card_next(&card) == 0, card >= 0 {
      var name: UnsafeMutablePointer<CChar>?
      guard alsa.snd_card_get_name(card, &name) == 0, let name else { continue }
      names.append(String(cString: name))
      free(name)
    }
    return names
  }

  /// Opens the card called `device` for 48 kHz and at least `channels` channels, and closes it.
  /// - Throws: `audio.no_output` with ALSA's words.
  package static func open(_ device: String, channels: Int = 2) throws(AudioError) {
    try ALSASink(device: device, format: AudioFormat(sampleRate: 48_000, channels: channels)).close()
  }
}
