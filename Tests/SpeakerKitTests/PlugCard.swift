import CALSA
import CALSA.External
import Glibc
import Synchronization
import TestSupport

@testable import SpeakerKit

/// A simulated card behind ALSA's own state machine, made with alsa-lib's kit for external plug-ins.
///
/// Plays samples at once, except for the last 10 ms, and fails where the test requests it.
///
/// Unchecked: one thread at a time writes; another one may stop it.
///
/// Source: https://www.alsa-project.org/alsa-doc/alsa-lib/pcm_external_plugins.html
final class PlugCard: @unchecked Sendable {
  /// Sample formats that the card accepts.
  let formats: [snd_pcm_format_t]
  /// Numbers of written frames at which the card underruns, once each.
  var underruns: [Int] = []
  /// `true` if the card underruns again and again, however often it is prepared.
  var isAlwaysDry = false
  /// `true` if the card was unplugged.
  var isGone = false
  /// `true` if the card, which has a crystal, has stopped without an error.
  let isStuck = Atomic(false)
  /// Frames played when it stopped; nil while it plays.
  private var stuckAt: Int?
  /// Frames between the card and the ear.
  var delay = 0
  /// Crystal by which the card plays; nil for a card that plays at once.
  var crystal: Crystal?
  /// Receives the bytes that are written, and the index of their first frame, in place of `bytes`.
  var onTransfer: ((_ bytes: UnsafeRawBufferPointer, _ frame: Int) -> Void)?
  /// Bytes written, in their order.
  private(set) var bytes: [UInt8] = []
  /// Number of times that the card was prepared, including the first one.
  private(set) var timesPrepared = 0

  /// A clock of a card's own, on virtual time: waiting for the card lets time pass.
  struct Crystal {
    let time: any CardTime
    /// By how much the clock is fast, as a part of 1.
    let drift: Double
    /// Time of the start, in ns, and the frame that was played then.
    fileprivate var start: (time: Int64, frame: Int)?
    init(time: any CardTime, drift: Double) { (self.time, self.drift) = (time, drift) }
    fileprivate var rate: Double { 48_000 * (1 + drift) / 1e9 }
    /// Number of frames played since the start.
    fileprivate var playedByNow: Int { start.map { Int(Double(time.now - $0.time) * rate) } ?? 0 }
  }

  /// Returns the time at which a frame is heard, in ns.
  func moment(of frame: Int) -> Double {
    guard let crystal, let start = crystal.start else { return .infinity }
    return Double(start.time) + Double(frame - start.frame) / crystal.rate
  }

  /// Number of written frames that the card reports as not played yet.
  private static let held = 480
  private let plug: UnsafeMutablePointer<snd_pcm_ioplug_t>
  private let callbacks: UnsafeMutablePointer<snd_pcm_ioplug_callback_t>
  /// Descriptor that is always writable, for ALSA's poll.
  private let always = Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC)
  private let name = strdup("plug card")
  private var framesWritten = 0
  private var framesSincePrepared = 0

  init(formats: [snd_pcm_format_t] = [SND_PCM_FORMAT_S16_LE]) {
    self.formats = formats
    plug = .allocate(capacity: 1)  // both are freed in deinit
    plug.initialize(to: snd_pcm_ioplug_t())
    callbacks = .allocate(capacity: 1)
    callbacks.initialize(to: Self.callbacks)
  }

  deinit {
    plug.deallocate()
    callbacks.deallocate()
    free(name)
    close(always)
  }

  /// Opens the card, as `snd_pcm_open` does.
  func open(_ pcm: inout OpaquePointer?) -> Int32 {
    plug.pointee.version = alsa_ioplug_version
    plug.pointee.name = UnsafePointer(name)
    plug.pointee.poll_fd = always
    plug.pointee.poll_events = UInt32(POLLOUT)
    plug.pointee.callback = UnsafePointer(callbacks)
    // Released when ALSA closes the card.
    plug.pointee.private_data = Unmanaged.passRetained(self).toOpaque()
    let status = snd_pcm_ioplug_create(plug, "plug card", SND_PCM_STREAM_PLAYBACK, 0)
    guard status == 0 else { return status }
    allow(SND_PCM_IOPLUG_HW_ACCESS, [UInt32(SND_PCM_ACCESS_RW_INTERLEAVED.rawValue)])
    allow(SND_PCM_IOPLUG_HW_FORMAT, formats.map { UInt32($0.rawValue) })
    allow(SND_PCM_IOPLUG_HW_CHANNELS, [2])
    allow(SND_PCM_IOPLUG_HW_RATE, [48_000])
    pcm = plug.pointee.pcm
    return 0
  }

  private func allow(_ parameter: some BinaryInteger, _ values: [UInt32]) {
    snd_pcm_ioplug_set_param_list(plug, Int32(parameter), UInt32(values.count), values)
  }

  private static var callbacks: snd_pcm_ioplug_callback_t {
    var callbacks = snd_pcm_ioplug_callback_t()
    callbacks.start = { plug in
      card(plug)?.start()
      return 0
    }
    callbacks.poll_revents = { plug, _, _, events in
      // The one wait of a thread that writes: a quarter of a millisecond.
      card(plug)?.crystal?.time.sleep(nanoseconds: 250_000)
      events?.pointee = UInt16(POLLOUT)
      return 0
    }
    callbacks.stop = { _ in 0 }
    callbacks.drain = { _ in 0 }
    callbacks.pointer = { plug in card(plug)?.pointer ?? -Int(EIO) }
    callbacks.transfer = { plug, areas, offset, size in
      card(plug)?.accept(areas, Int(offset), Int(size)) ?? -Int(EIO)
    }
    callbacks.prepare = { plug in
      card(plug)?.prepare() ?? -EIO
    }
    callbacks.delay = { plug, frames in
      frames?.pointee = card(plug)?.delayNow ?? 0
      return 0
    }
    callbacks.close = { plug in
      if let data = plug?.pointee.private_data { Unmanaged<PlugCard>.fromOpaque(data).release() }
      return 0
    }
    return callbacks
  }

  fileprivate func start() {
    guard let now = crystal?.time.now else { return }
    crystal?.start = (now, framesWritten - framesSincePrepared)
  }

  /// Number of frames played since the start.
  private var played: Int {
    let now = crystal?.playedByNow ?? 0
    guard isStuck.load(ordering: .relaxed) else {
      stuckAt = nil
      return now
    }
    stuckAt = stuckAt ?? min(now, framesSincePrepared)
    return stuckAt ?? now
  }

  fileprivate var delayNow: Int { crystal == nil ? delay : max(0, framesSincePrepared - played) }

  fileprivate func prepare() -> Int32 {
    crystal?.start = nil
    stuckAt = nil
    timesPrepared += 1
    framesSincePrepared = 0
    return isGone ? -ENODEV : 0
  }

  /// Position in the ring at which the card plays, or -EPIPE after an underrun.
  fileprivate var pointer: Int {
    if isAlwaysDry { return -Int(EPIPE) }
    if let next = underruns.first, framesWritten >= next {
      underruns.removeFirst()
      return -Int(EPIPE)
    }
    if let crystal {
      if crystal.start != nil, played > framesSincePrepared { return -Int(EPIPE) }
      return played % Int(plug.pointee.buffer_size)
    }
    return max(0, framesSincePrepared - Self.held) % Int(plug.pointee.buffer_size)
  }

  fileprivate func accept(_ areas: UnsafePointer<snd_pcm_channel_area_t>?, _ offset: Int, _ size: Int) -> Int
  {
    if isGone { return -Int(ENODEV) }
    guard let area = areas?.pointee, let start = area.addr else { return -Int(EIO) }
    let frameBytes = Int(area.step) / 8
    let first = start + Int(area.first) / 8 + offset * frameBytes
    let written = UnsafeRawBufferPointer(start: first, count: size * frameBytes)
    if let onTransfer { onTransfer(written, framesWritten) } else { bytes += written }
    framesWritten += size
    framesSincePrepared += size
    return size
  }
}

/// Returns the card behind ALSA's pointer.
private func card(_ plug: UnsafeMutablePointer<snd_pcm_ioplug_t>?) -> PlugCard? {
  (plug?.pointee.private_data).map { Unmanaged<PlugCard>.fromOpaque($0).takeUnretainedValue() }
}
