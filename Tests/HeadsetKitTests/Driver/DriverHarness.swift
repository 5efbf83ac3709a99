import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// A board in the process, a driver that talks to it, and an attacker between them; under virtual time.
final class DriverHarness {
  let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_767_225_600)))
  let board: Board
  private(set) var driver: HBPDriver
  /// Of the connection that was made last.
  private(set) var middle: Middle
  /// The events of the driver.
  var driverEvents: [DriverEvent] = []
  var losses: [HeadsetError] = []

  init(_ options: BoardOptions = BoardOptions(), key: LinkKey = .development) throws {
    board = try Board(options, loop: loop)
    middle = Middle(loop)
    driver = HBPDriver(name: "memory", key: key, loop: loop) { () async throws(HeadsetError) in
      throw HeadsetError(.notAvailable, "not wired")
    }
    driver = HBPDriver(name: "memory", key: key, loop: loop) { [unowned self] () async throws(HeadsetError) in
      let rule = middle.rule
      middle = Middle(loop)
      middle.rule = rule
      return middle.stand(before: board.connect())
    }
    driver.onEvent { [unowned self] in
      if case .lost(let error) = $0 { losses.append(error) } else { driverEvents.append($0) }
    }
  }

  /// Runs a test on the loop.
  func run(_ body: @escaping () async throws -> Void) throws {
    try loop.finish(body) { [self] in
      driver.drop()
      board.close()
    }
  }

  /// Connects, then runs a test.
  func runConnected(_ body: @escaping () async throws -> Void) throws {
    try run { [self] in
      _ = try await driver.connect()
      try await body()
    }
  }

  /// Lets what is under way arrive.
  func settle() async throws { try await loop.sleep(for: .milliseconds(1)) }

  /// The error of a request.
  func failure<Request: LinkRequest>(_ request: Request) async -> HeadsetError? {
    do throws(HeadsetError) { _ = try await driver.request(request) } catch { return error }
    return nil
  }

  /// The error of a request that gets no reply.
  func failure<Answer>(_ answer: PendingAnswer<Answer>) async -> HeadsetError? {
    do throws(HeadsetError) { _ = try await answer.value() } catch { return error }
    return nil
  }

  /// The error of a connection attempt.
  func connectFailure() async -> HeadsetError? {
    do throws(HeadsetError) { _ = try await driver.connect() } catch { return error }
    return nil
  }
}

/// An attacker on the line, who reads and changes all that passes.
final class Middle {
  enum Way { case toBoard, toHost }

  /// All that came, a frame each.
  private(set) var seen: [(way: Way, bytes: [UInt8])] = []
  /// Replaces a frame by those that are passed on.
  var rule: (Way, [UInt8]) -> [[UInt8]] = { [$1] }
  private let host, driver: MemoryChannel
  private var board: (any LinkChannel)?

  init(_ loop: EventLoop) { (host, driver) = MemoryChannel.pair(loop: loop) }

  /// - Returns: the end for the driver.
  func stand(before board: any LinkChannel) -> any LinkChannel {
    self.board = board
    host.deliver(
      to: LinkReceiver(bytes: { [unowned self] in pass($0, .toBoard) }, end: { _ in board.close() }))
    board.deliver(
      to: LinkReceiver(
        bytes: { [unowned self] in pass($0, .toHost) }, end: { [unowned self] _ in host.close() }))
    return driver
  }

  /// Frames of one way that came.
  func frames(_ way: Way) -> [[UInt8]] { seen.filter { $0.way == way }.map(\.bytes) }

  /// Sends what nobody sent.
  func inject(_ bytes: [UInt8], _ way: Way) {
    if way == .toBoard { board?.send(bytes) } else { host.send(bytes) }
  }

  /// Pulls the plug.
  func cut() {
    host.close()
    board?.close()
  }

  private func pass(_ bytes: ArraySlice<UInt8>, _ way: Way) {
    seen.append((way, Array(bytes)))
    for bytes in rule(way, Array(bytes)) { inject(bytes, way) }
  }
}

extension Middle {
  /// The contents of a frame, whoever sealed it.
  static func packet(_ bytes: [UInt8]) -> LinkPacket? {
    var reader = LinkReader()
    return reader.read(bytes[...]).first
  }

  /// The operations of the frames that went one way.
  func operations(_ way: Way) -> [LinkOperation?] { frames(way).map { Self.packet($0)?.frame.operation } }
}
