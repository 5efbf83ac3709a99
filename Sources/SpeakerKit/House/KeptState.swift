internal import EventLoop

/// The state of a house between runs, as it was read, and the delay during which changes are gathered before they are
/// written. Confined to the loop.
final class KeptState {
  private static let writingDelay = Duration.seconds(1)

  /// The state that was read last.
  private(set) var last = HouseState()
  private let context: DriverContext
  /// `true` if the access of this process includes the file.
  private let isWritten: Bool
  private let keepsAlive: Bool
  private let speakers: () -> [DeviceInfo]
  /// The timer of the changes that are not written; nil without such.
  private var timer: LoopTimer?

  /// Creates the state of a driver.
  /// - Parameters:
  ///   - access: the accesses with which it is written, and a damaged file set aside.
  ///   - keepsAlive: `true` if the loop stays alive until changes are written.
  ///   - speakers: returns the speakers when they are written.
  init(
    _ context: DriverContext, writtenBy access: Set<HouseAccess>, keepsAlive: Bool = true,
    _ speakers: @escaping () -> [DeviceInfo]
  ) {
    self.context = context
    isWritten = access.contains(context.access)
    self.keepsAlive = keepsAlive
    self.speakers = speakers
  }

  /// Reads the state from the folder; it is empty without a folder or a file.
  func read() { last = context.state?.read(setsAside: isWritten, context.log) ?? HouseState() }

  /// Schedules writing after a change.
  func changed() {
    guard context.state != nil, isWritten, timer == nil else { return }
    timer = context.loop.after(Self.writingDelay, keepsAlive: keepsAlive) { [weak self] in self?.write() }
  }

  /// Writes changes that are not written, at once; a failure goes to the log.
  func write() {
    guard let timer else { return }
    timer.cancel()
    self.timer = nil
    do { try context.state?.write(HouseState(speakers(), besides: last)) } catch {
      context.log(error.message)
    }
  }
}
