internal import EventLoop
public import SpeakerKit

/// The one house of an engine, for all its scripts: opened by the first that needs it, closed by the engine or by a
/// script. Confined to the loop.
public final class HouseDoor {
  private let make: () throws -> House
  /// The house, once it has been asked for.
  public private(set) var house: House?
  private var isOpening = false
  private var waiting: [CheckedContinuation<Void, any Error>] = []
  private var closers: [Int: () -> Void] = [:]
  private var lastCloser = 0
  /// Told when the house has been opened, before any script code runs with it.
  public var onOpen: (House) -> Void = { _ in }

  /// A door to the house that `make` builds.
  public init(_ make: @escaping () throws -> House) { self.make = make }

  /// The house when it is open.
  public var open: House? { house?.isOpen == true ? house : nil }
  /// Whether it is being opened.
  public var opening: Bool { isOpening }
  /// Whether it was open and has been closed.
  public private(set) var wasClosed = false

  /// Opens the house; returns at once when it is open, and when it is opening together with whoever opens it.
  /// - Parameter addAll: whether every speaker joins the default session.
  public func open(addAll: Bool) async throws {
    if open != nil { return }
    if isOpening { return try await withCheckedThrowingContinuation { self.waiting.append($0) } }
    isOpening = true
    let result: Result<Void, any Error>
    do {
      let house = try make()
      self.house = house
      try await house.open(addAll: addAll)
      wasClosed = false
      onOpen(house)
      result = .success(())
    } catch {
      house = nil
      result = .failure(error)
    }
    isOpening = false
    let others = waiting
    waiting = []
    for continuation in others { continuation.resume(with: result) }
    try result.get()
  }

  /// Closes the house; nothing when it is not open.
  public func close() async {
    guard let house else { return }
    self.house = nil
    wasClosed = true
    let closers = closers.sorted { $0.key < $1.key }
    self.closers = [:]
    for closer in closers { closer.value() }
    await house.close()
  }

  /// Calls `body` when the house closes; the returned function takes that back.
  func whenClosed(_ body: @escaping () -> Void) -> () -> Void {
    lastCloser += 1
    let key = lastCloser
    closers[key] = body
    return { [weak self] in self?.closers[key] = nil }
  }
}
