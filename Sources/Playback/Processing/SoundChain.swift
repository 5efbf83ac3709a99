internal import AudioCore
internal import EventLoop

/// The setting of a stream's sound, shared by the loop that changes it and the threads that decode.
final class SoundChain: Sendable {
  /// A tap in the setting.
  struct Tap: Sendable {
    enum Kind {
      case effect(SoundEffect)
      /// Blocks for a script.
      case blocks
    }

    let number: Int
    let kind: Kind
    let object: LoopReference<StreamTap>
  }

  /// A version of the setting.
  struct Setting: Sendable {
    var version = 0
    /// The gain in dB.
    var gain = 0.0
    /// The taps by number, in the order in which they change the sound. Removing one does not search the
    /// others.
    var taps = Listeners<Tap>()
  }

  let loop: EventLoop
  private let setting = Lock(Setting())

  init(loop: EventLoop) { self.loop = loop }

  /// Publishes a new setting and increments its version.
  func change(_ body: @Sendable (inout Setting) -> Void) {
    setting.withLock { setting in
      body(&setting)
      setting.version += 1
    }
  }

  /// Returns the setting if its version differs from `version`; nil otherwise.
  func setting(after version: Int?) -> Setting? {
    setting.withLock { $0.version == version ? nil : $0 }
  }
}
