internal import AudioCore
internal import EventLoop

/// What is done to a stream's sound, between the loop that says it and the threads that decode.
final class SoundChain: Sendable {
  /// One tap.
  struct Tap: Sendable {
    enum Kind {
      case effect(SoundEffect)
      /// Of a script.
      case blocks
    }

    let number: Int
    let kind: Kind
    let object: LoopReference<StreamTap>
  }

  /// All that is done, by one version.
  struct Setting: Sendable {
    var version = 0
    /// In dB.
    var gain = 0.0
    /// In the order in which they change the sound.
    var taps: [Tap] = []
  }

  let loop: EventLoop
  private let setting = Lock(Setting())

  init(loop: EventLoop) { self.loop = loop }

  /// Says something new.
  func change(_ body: @Sendable (inout Setting) -> Void) {
    setting.withLock { setting in
      body(&setting)
      setting.version += 1
    }
  }

  /// What is said, when it is newer than a version.
  func setting(after version: Int?) -> Setting? {
    setting.withLock { $0.version == version ? nil : $0 }
  }
}
