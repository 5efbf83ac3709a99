internal import AudioCore
internal import EventLoop

/// Where a stage of a tap on a thread that decodes reaches the loop.
final class TapPort: Sendable {
  let number: Int
  private let loop: EventLoop
  private let tap: LoopReference<StreamTap>
  private let waker: Waker

  /// - Parameter waker: who is to read again when a block is back.
  init(_ number: Int, _ tap: LoopReference<StreamTap>, loop: EventLoop, waker: Waker) {
    self.number = number
    self.tap = tap
    self.loop = loop
    self.waker = waker
  }

  /// Has the tap look at a block.
  func offer(_ block: TapBlock) {
    loop.post { [tap] in
      if let tap = tap.object { tap.take(block) } else { block.giveBack(changed: false) }
    }
  }

  /// Sound of this format comes from now on.
  func tell(_ format: AudioFormat) { loop.post { [tap] in tap.object?.gets(format) } }

  /// Blocks were not back in time; the absence ends when the loop hears of it.
  func tell(_ absence: TapAbsence) {
    loop.post { [tap, waker] in
      tap.object?.overran(absence.end())
      waker.wake()
    }
  }

  func wake() { waker.wake() }
}

/// What one that decodes is woken by; it comes later than those that wake.
final class Waker: Sendable {
  private let body = Lock<(@Sendable () -> Void)?>(nil)

  func set(_ wake: @escaping @Sendable () -> Void) { body.withLock { $0 = wake } }
  func wake() { body.withLock { $0 }?() }
}

/// Whether the loop lets a tap's blocks wait, and how much sound has gone on without it since.
final class TapAbsence: Sendable {
  private let missed = Lock(Duration.zero)

  var isOn: Bool { missed.withLock { $0 } > .zero }

  /// Sound of this length has gone on as it came.
  /// - Returns: whether it is the first of an absence.
  func add(_ duration: Duration) -> Bool {
    missed.withLock { missed in
      defer { missed += duration }
      return missed == .zero
    }
  }

  /// The loop is there again.
  /// - Returns: what it has missed.
  func end() -> Duration {
    missed.withLock { missed in
      defer { missed = .zero }
      return missed
    }
  }
}
