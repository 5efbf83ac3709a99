internal import AudioCore
internal import EventLoop

/// The connection of a tap's stage, on a thread that decodes, to the loop.
final class TapPort: Sendable {
  let number: Int
  private let loop: EventLoop
  private let tap: LoopReference<StreamTap>
  private let waker: Waker

  /// Creates a port.
  /// - Parameter waker: wakes the reader when a block returns.
  init(_ number: Int, _ tap: LoopReference<StreamTap>, loop: EventLoop, waker: Waker) {
    self.number = number
    self.tap = tap
    self.loop = loop
    self.waker = waker
  }

  /// Passes a block to the tap.
  func offer(_ block: TapBlock) {
    loop.post { [tap] in
      if let tap = tap.object { tap.receive(block) } else { block.finish(changed: false) }
    }
  }

  /// Reports that sound of this format follows.
  func report(_ format: AudioFormat) { loop.post { [tap] in tap.object?.begins(format) } }

  /// Reports that blocks did not return in time; the overrun ends when the loop receives the report.
  func report(_ overrun: TapOverrun) {
    loop.post { [tap, waker] in
      tap.object?.overran(overrun.end())
      waker.wake()
    }
  }

  func wake() { waker.wake() }
}

/// The callback that wakes a decoder, which is set after the objects that call it exist.
final class Waker: Sendable {
  /// The callback, in a struct: a function that is itself the state of a lock is wrapped once more at each
  /// access, so that each call takes longer than the last.
  private struct Callback { let wake: @Sendable () -> Void }

  private let callback = Lock<Callback?>(nil)

  func set(_ wake: @escaping @Sendable () -> Void) { callback.withLock { $0 = Callback(wake: wake) } }
  func wake() { callback.withLock { $0 }?.wake() }
}

/// The state of an overrun: the length of the sound delivered unchanged since the loop began to let a tap's
/// blocks wait.
final class TapOverrun: Sendable {
  private let missed = Lock(Duration.zero)

  var isOn: Bool { missed.withLock { $0 } > .zero }

  /// Adds sound of this length, which was delivered unchanged.
  /// - Returns: `true` if it is the first of an overrun.
  func add(_ duration: Duration) -> Bool {
    missed.withLock { missed in
      defer { missed += duration }
      return missed == .zero
    }
  }

  /// Ends the overrun, as the loop responds again.
  /// - Returns: the length of the sound delivered unchanged.
  func end() -> Duration {
    missed.withLock { missed in
      defer { missed = .zero }
      return missed
    }
  }
}
