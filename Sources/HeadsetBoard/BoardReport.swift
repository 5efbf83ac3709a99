internal import HeadsetLink

/// A board as it is at a moment: what tests and people compare with what a host believes.
public struct BoardReport: Sendable, Equatable {
  /// An image in a slot.
  public struct Image: Sendable, Equatable {
    /// "a" or "b".
    public let slot: String
    /// As its manifest says it.
    public let version: String
    /// The SHA-256 of what lies in the flash, in hexadecimal digits; nil when it can't be read.
    public let hash: String?
    /// Whether that is what the manifest says.
    public let isWhole: Bool
  }

  /// How far an image has come.
  public struct Transfer: Sendable, Equatable {
    /// "writing", "verified", "committed".
    public let state: String
    /// Bytes that are there.
    public let offset: Int
    /// Bytes of the image.
    public let size: Int
  }

  /// What kind of board it is.
  public let profile, model: String
  /// Of the firmware that it runs.
  public let version: String
  /// "application" or "bootloader".
  public let mode: String
  /// False while it starts, and when its power is lost.
  public let isRunning: Bool
  /// How often it was started.
  public let boots: Int
  /// Whether noise is cancelled.
  public let noiseCancelling: Bool
  /// How much of the surroundings each side lets in.
  public let ambientLeft, ambientRight: Int
  /// The preset that is selected.
  public let preset: Int
  /// For each preset, for each band.
  public let equalizer: [[Int]]
  /// How full the battery is.
  public let batteryPercent: Int
  /// Whether it is being charged.
  public let isCharging: Bool
  /// Whether a host has proved its key.
  public let isConnected: Bool
  /// The image that is started when no other one is on trial.
  public let confirmed: Image
  /// The image that was committed and is not confirmed.
  public let trial: Image?
  /// The transfer that is under way.
  public let transfer: Transfer?
  /// Steps of the store since the board was made.
  public let steps: Int
  /// Frames of this link that were not taken: without a seal, with a wrong one, there before, or none at all.
  public let unsealed, forged, repeated, broken: Int

  init(_ board: BoardMachine, link: BoardLink?, isRunning: Bool) {
    let (settings, boot) = (board.settings, board.boot)
    (profile, model) = (board.profile.name, board.profile.model)
    version = boot.running.manifest.version.description
    (mode, self.isRunning, boots) = ("\(board.mode)", isRunning, Int(boot.boots))
    noiseCancelling = settings.isCancelling
    (ambientLeft, ambientRight) = (Int(settings.left), Int(settings.right))
    (preset, equalizer) = (Int(settings.preset), settings.values.map { $0.map(Int.init) })
    (batteryPercent, isCharging) = (Int(settings.battery.percent), settings.battery.isCharging)
    isConnected = link?.session.isOpen ?? false
    confirmed = Image(boot.confirmed, board.store)
    trial = boot.trial.map { Image($0, board.store) }
    transfer = board.transfer.map { Transfer(state: "\($0.state)", offset: $0.next, size: $0.size) }
    steps = board.store.steps
    let dropped = link?.session.dropped ?? BoardSession.Dropped()
    (unsealed, forged, repeated) = (dropped.unsealed, dropped.forged, dropped.repeated)
    broken = link?.droppedFrames ?? 0
  }
}

extension BoardReport.Image {
  fileprivate init(_ image: BoardImage, _ store: SteppedStore) {
    (slot, version) = ("\(image.slot)", image.manifest.version.description)
    let found = try? BoardFlash(store, image.slot).hash(of: image.manifest.imageSize)
    hash = found.map { bytes in
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    isWhole = found == image.manifest.imageHash
  }
}
