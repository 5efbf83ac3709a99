public import EventLoop
public import SpeakerKit

/// The one house of an engine, for all its scripts: opened by the first that needs it, closed by the engine or by a
/// script. Confined to the loop.
public final class HouseDoor {
  private let loop: EventLoop
  private let make: (_ wait: Duration) throws -> House
  /// The house, once it has been asked for.
  public private(set) var house: House?
  private var isOpening = false
  private var lastOpening: Result<Void, any Error> = .success(())
  private var waiting: [CheckedContinuation<Void, any Error>] = []
  private var closers: [Int: () -> Void] = [:]
  private var lastCloser = 0
  /// Told when the house has been opened, before any script code runs with it.
  public var onOpen: (House) -> Void = { _ in }

  /// The default time that opening waits for another process that has the house.
  public static let defaultWait = Duration.seconds(30)

  /// A door to the house that `make` builds, which is told how long its opening is to wait for another process.
  public init(loop: EventLoop, _ make: @escaping (_ wait: Duration) throws -> House) {
    (self.loop, self.make) = (loop, make)
  }

  /// The house when it is open.
  public var open: House? { house?.isOpen == true ? house : nil }
  /// Whether it is being opened.
  public var opening: Bool { isOpening }
  /// Whether it was open and has been closed.
  public private(set) var wasClosed = false

  /// Opens the house; returns at once when it is open, and when it is opening together with whoever opens it.
  /// - Parameters:
  ///   - addAll: whether every speaker joins the default session.
  ///   - wait: how long to wait for another process that has the house; nil for `defaultWait`.
  public func open(addAll: Bool, wait: Duration? = nil) async throws {
    // Closed while it was opening: that comes to its end first.
    while isOpening && house == nil { try? await opened() }
    if open != nil { return }
    if !isOpening { begin(addAll: addAll, wait: wait ?? Self.defaultWait) }
    if isOpening { return try await opened() }
    try lastOpening.get()
  }

  /// Waits until what opens the house has ended.
  private func opened() async throws { try await withCheckedThrowingContinuation { waiting.append($0) } }

  /// Opens in a task of its own, as whoever asks first may be cancelled, which concerns nobody else.
  private func begin(addAll: Bool, wait: Duration) {
    isOpening = true
    loop.start { [self] in
      do {
        try await openHouse(addAll: addAll, wait: wait)
        lastOpening = .success(())
      } catch {
        lastOpening = .failure(error)
      }
      isOpening = false
      let waiting = waiting
      self.waiting = []
      for continuation in waiting { continuation.resume(with: lastOpening) }
    }
  }

  private func openHouse(addAll: Bool, wait: Duration) async throws {
    let house = try make(wait)
    self.house = house
    do {
      try await house.open(addAll: addAll)
    } catch {
      if self.house === house { self.house = nil } else { throw Self.closedMeanwhile }
      throw error
    }
    guard self.house === house else { throw Self.closedMeanwhile }
    wasClosed = false
    onOpen(house)
  }

  private static var closedMeanwhile: SpeakerError {
    SpeakerError(
      .closed, "the house was closed while it was opening", hint: "open it again with speaker.open()")
  }

  /// Closes the house; nothing when it is not open. What opens it has ended when this returns.
  public func close() async {
    if let house {
      self.house = nil
      wasClosed = true
      let closers = closers.sorted { $0.key < $1.key }
      self.closers = [:]
      for closer in closers { closer.value() }
      await house.close()
    }
    while isOpening && house == nil { try? await opened() }
  }

  /// Calls `body` when the house closes; the returned function takes that back.
  func whenClosed(_ body: @escaping () -> Void) -> () -> Void {
    lastCloser += 1
    let key = lastCloser
    closers[key] = body
    return { [weak self] in self?.closers[key] = nil }
  }
}
