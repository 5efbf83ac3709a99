import AudioCore
import Codecs
import EventLoop
import TestSupport

@testable import Playback

/// A decoder that delivers pieces of sound, each of its own format, as they come.
final class SoundPieces: LiveDecoder {
  private(set) var format: AudioFormat
  let frameCount: Int? = nil
  private(set) var isWaiting = false
  /// The pieces to deliver; the decoder waits when there are none, and ends when it is complete.
  var pieces: [Sound]
  var isComplete = true
  private var delivered = 0

  init(_ pieces: [Sound]) {
    self.pieces = pieces
    format = pieces[0].format
  }

  func onFrames(_ wake: @escaping @Sendable () -> Void) {}
  func seek(toFrame frame: Int) throws {}

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    if let piece = pieces.first, delivered == piece.frameCount {
      pieces.removeFirst()
      delivered = 0
    }
    isWaiting = pieces.isEmpty && !isComplete
    guard let piece = pieces.first else { return 0 }
    format = piece.format
    let count = min(buffer.count / format.channels, piece.frameCount - delivered, 1152)
    for frame in 0..<count {
      for channel in 0..<format.channels {
        buffer[frame * format.channels + channel] = piece.channels[channel][delivered + frame]
      }
    }
    delivered += count
    return count
  }
}

/// A test harness: a decoder with taps, read on the loop's thread.
final class SoundHarness {
  let loop = EventLoop()
  let controls: SoundControls
  let levels = LevelMap()
  let inner: SoundPieces
  var now = SuspendingClock.now
  private(set) var reported: [String] = []
  /// The samples read since the last change of format.
  private var read: [Float] = []
  private(set) var sounds: [Sound] = []
  private var decoder: ProcessedDecoder?

  init(_ pieces: Sound...) {
    controls = SoundControls(loop)
    controls.begin()
    inner = SoundPieces(pieces)
  }

  func tap(_ kind: StreamTap.Kind) -> StreamTap {
    let tap = controls.add(kind)
    let number = tap.number
    tap.onEvent { [unowned self] event in
      switch event {
      case .begins(let format): reported.append("\(number) gets \(format.sampleRate)/\(format.channels)")
      case .ended(let format): reported.append("\(number) ended \(format.sampleRate)/\(format.channels)")
      case .overran(let time): reported.append("\(number) overran \(time)")
      }
    }
    return tap
  }

  /// Adds a tap that changes every sample on the loop.
  func tap(each body: @escaping (Float) -> Float) -> StreamTap {
    tap(
      .blocks { block in
        for index in 0..<block.view.count { block.view.samples[index] = body(block.view.samples[index]) }
        block.finish(changed: true)
      })
  }

  /// Runs the pending work of the loop.
  func turn() { _ = loop.run(until: { false }) }

  /// Reads until so many more frames have come, or the decoder waits.
  /// - Parameter isThere: `false` while the loop is blocked.
  /// - Returns: the number of frames read.
  @discardableResult
  func read(_ frames: Int = .max, isThere: Bool = true) throws -> Int {
    let decoder =
      decoder
      ?? ProcessedDecoder(inner, controls.chain, levels, deadline: .init(now: { [unowned self] in now }))
    self.decoder = decoder
    let block = PCMBlock(format: .session, frames: 1000)
    var (done, standstill) = (0, 0)
    while done < frames {
      let room = block.view.prefix(min(frames - done, 500)).buffer
      let count = try decoder.read(into: room)
      if count == 0 {
        guard decoder.isWaiting, isThere, standstill < 20 else { break }
        standstill += 1
        turn()
        continue
      }
      standstill = 0
      if sounds.last?.format != decoder.format {
        sounds.append(Sound(interleaved: [], format: decoder.format))
      }
      let new = Sound(interleaved: room.prefix(count * decoder.format.channels), format: decoder.format)
      for channel in new.channels.indices {
        sounds[sounds.count - 1].channels[channel] += new.channels[channel]
      }
      done += count
    }
    return done
  }

  var sound: Sound { sounds.first ?? Sound(sampleRate: 1, channels: []) }
}
