import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// An update of an emulated board over a channel in memory, in virtual time, with what goes wrong between them.
///
/// A board that has lost its power has it again as soon as somebody connects.
final class UpdateHarness {
  /// The outcome of an update.
  enum End: Equatable {
    case updated(UpdateOutcome)
    case failed(HeadsetError)
    case cancelled
  }

  let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_767_225_600)))
  let store = MemoryStore()
  let file: FirmwareFile
  var options: BoardOptions
  /// The board as it was after each loss of power.
  private(set) var afterLosses: [BoardReport] = []
  /// The progress that was reported.
  private(set) var progress: [Double] = []
  /// The estimates that were reported, with their moments.
  private(set) var estimates: [(at: Instant, estimate: UpdateEstimate)] = []
  /// The log of the board.
  private(set) var log: [String] = []
  /// The number of connections of drivers.
  private(set) var connects = 0
  /// Cancels the update when it is so far.
  var cancelAt: Double?
  /// The board at the end.
  private(set) var report: BoardReport?
  private var board: Board?

  /// - Parameter size: bytes of the new image: two units of flash and a bit.
  init(_ options: BoardOptions = BoardOptions(), size: Int = 9_500, key: SigningKey = .development) throws {
    self.options = options
    var random = SeededRandom(seed: 77)
    file = try FirmwareFile(
      image: random.bytes(size), model: options.profile.model, version: #require(FirmwareVersion("1.1.0")),
      key: key)
  }

  private func power(_ options: BoardOptions) throws(BoardError) -> Board {
    let board = try Board(options, store: store, loop: loop) { [unowned self] in log.append($0) }
    self.board = board
    return board
  }

  private func channel() throws -> any LinkChannel {
    connects += 1
    if let board, !board.isDead { return board.connect() }
    board?.close()
    options.faults.death = SteppedStore.Death()
    let board = try power(options)
    afterLosses.append(board.report)
    return board.connect()
  }

  /// Runs one update to its end, with the board in whatever state it is.
  /// - Parameter trusted: whose signature the host trusts.
  func run(trusting trusted: VerifyingKey = .development, isForced: Bool = false) throws -> End {
    var end = End.cancelled
    try loop.finish {
      if self.board == nil { _ = try self.power(self.options) }
      end = try await self.update(trusted, isForced)
    } last: {
      self.report = self.board?.report
      self.board?.close()
      self.board = nil
    }
    return end
  }

  /// Runs an update that is cancelled, and then another one.
  func runTwice() throws -> (End, End) {
    var ends = (End.cancelled, End.cancelled)
    try loop.finish {
      _ = try self.power(self.options)
      ends.0 = try await self.update(.development, false)
      self.cancelAt = nil
      ends.1 = try await self.update(.development, false)
    } last: {
      self.report = self.board?.report
      self.board?.close()
      self.board = nil
    }
    return ends
  }

  private func update(_ trusted: VerifyingKey, _ isForced: Bool) async throws -> End {
    let driver = HBPDriver(name: "board", key: .development, loop: loop) {
      [unowned self] () async throws(HeadsetError) in
      do { return try channel() } catch {
        throw HeadsetError(.connectionFailed, "\(error)")
      }
    }
    let over = PendingAnswer<End>()
    var task: Task<Void, Never>?
    (progress, estimates) = ([], [])
    let update = FirmwareUpdate(
      file, over: driver, trusting: trusted, isForced: isForced, loop: loop,
      estimate: { [unowned self] in estimates.append((loop.now, $0)) }
    ) { [unowned self] in
      progress.append($0)
      if let cancelAt, $0 >= cancelAt { task?.cancel() }
    }
    task = loop.start {
      do { over.resolve(.success(.updated(try await update.run()))) } catch let error as HeadsetError {
        over.resolve(.success(.failed(error)))
      } catch { over.resolve(.success(.cancelled)) }
    }
    let end = try await over.value()
    driver.drop()
    return end
  }

  /// Expects that the board runs the new image, confirmed, and that host and board agree on it.
  func expectUpdated(_ end: End, _ comment: Comment = "") {
    #expect(end == .updated(.updated(version: "1.1.0")), comment)
    #expect(report?.version == "1.1.0" && report?.mode == "application" && report?.trial == nil, comment)
    #expect(report?.confirmed.hash == hash && report?.confirmed.isWhole == true, comment)
    #expect(progress.last == 1 && zip(progress, progress.dropFirst()).allSatisfy { $0 < $1 }, comment)
  }

  /// The SHA-256 of the new image, as a report has it.
  var hash: String {
    SHA256.hash(file.image).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

extension HeadsetError {
  /// A fact that is a text.
  func text(_ name: String) -> String? {
    guard case .string(let text)? = facts.first(where: { $0.name == name })?.value else { return nil }
    return text
  }
}
