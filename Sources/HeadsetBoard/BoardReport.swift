internal import HeadsetLink

/// The state of a board at a moment, which tests and people compare with the knowledge of a host.
public struct BoardReport: Sendable, Equatable {
  /// An image in a slot.
  public struct Image: Sendable, Equatable {
    /// "a" or "b".
    public let slot: String
    /// The version in its manifest.
    public let version: String
    /// The SHA-256 of the bytes in the flash, in hexadecimal digits; nil when they can't be read.
    public let hash: String?
    /// `true` if that hash equals the one in the manifest.
    public let isWhole: Bool
  }

  /// The progress of a transfer.
  public struct Transfer: Sendable, Equatable {
    /// "writing", "verified", "committed".
    public let state: String
    /// The number of bytes in the flash.
    public let offset: Int
    /// The number of bytes of the image.
    public let size: Int
  }

  /// The names of the profile and of the model.
  public let profile, model: String
  /// The version of the firmware that runs.
  public let version: String
  /// "application" or "bootloader".
  public let mode: String
  /// `false` while the board starts, and once its power is lost.
  public let isRunning: Bool
  /// The number of times that the board was started.
  public let boots: Int
  /// `true` if noise is cancelled.
  public let noiseCancelling: Bool
  /// The ambient level of each side: how much of the surroundings it lets in.
  public let ambientLeft, ambientRight: Int
  /// The preset that is selected.
  public let preset: Int
  /// The equalizer values for each preset, for each band.
  public let equalizer: [[Int]]
  /// The charge of the battery in percent.
  public let batteryPercent: Int
  /// `true` while the battery is being charged.
  public let isCharging: Bool
  /// `true` while a host has proved its key.
  public let isConnected: Bool
  /// The image that is started when no other image is on trial.
  public let confirmed: Image
  /// The image that was committed and is not confirmed.
  public let trial: Image?
  /// The transfer that is under way.
  public let transfer: Transfer?
  /// Steps of the store since the board was created.
  public let steps: Int
  /// The frames of this link that were dropped: without a seal, with a wrong one, repeated, or unreadable.
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
