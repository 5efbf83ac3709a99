internal import EventLoop
internal import Glibc
internal import HeadsetBoard
internal import HeadsetKit
internal import HeadsetLink
internal import Home
internal import JSONText

/// Command `roomtone board`: emulates a headset's board until a signal ends it.
enum BoardCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let (options, address) = try (options(arguments), address(arguments))
    let log: (LogLevel, String) -> Void =
      arguments.has(.quietBoard) ? { _, _ in } : { Terminal.log($0, $1, []) }
    let loop = EventLoop(name: "board")
    var status: Int32?
    // The signals are watched before anything is created that must be removed at the end.
    try loop.onSignal([SIGINT, SIGTERM, SIGHUP]) { signal in status = 128 + signal }
    if options.key == .development {
      log(.warn, "the key is the development key, which everybody has: fit for tests")
    }
    let board = try Board(options, loop: loop) { log(.info, $0) }
    // Nothing is cleaned up, as after a loss of power.
    if board.isDead { exit(lossOfPower) }
    board.onDeath { _exit(lossOfPower) }
    let listener = try BoardListener(board, at: address)
    let wearer = try Wearer(board, loop)
    defer {
      wearer.close()
      listener.close()
      board.close()
    }
    Terminal.print("listening on \(listener.address)")
    // A failing store stops the board, which then can't be reached.
    _ = loop.run { status != nil || board.isDead }
    return status ?? 1
  }

  /// Exit status of a board that lost its power by a fault.
  private static let lossOfPower: Int32 = 9

  // MARK: Options

  private static func address(_ arguments: ParsedArguments) throws -> BoardAddress {
    guard let text = arguments.text(.listen) else {
      throw UsageError(.option, "board needs --listen ADDRESS: \(BoardAddress.forms)", help: "roomtone board")
    }
    do throws(BoardError) { return try BoardAddress(parsing: text) } catch { throw wrong(.listen, error) }
  }

  private static func options(_ arguments: ParsedArguments) throws -> BoardOptions {
    var options = BoardOptions()
    do throws(BoardError) {
      if let name = arguments.text(.profile) { options.profile = try BoardProfile(named: name) }
    } catch { throw wrong(.profile, error) }
    do throws(BoardError) {
      for text in arguments.texts(.fault) { try options.faults.add(text) }
    } catch { throw wrong(.fault, error) }
    if let text = arguments.text(.boardVersion) {
      guard let version = FirmwareVersion(text) else {
        throw UsageError(
          .value, "--version: \(quoted(text)) is not a version (one to four numbers joined by dots)",
          help: "roomtone board")
      }
      options.version = version
    }
    if let name = arguments.text(.boardName) {
      guard BoardOptions.isName(name) else {
        throw UsageError(
          .value, "--name: 1 to \(BoardOptions.longestName) bytes without control characters expected",
          help: "roomtone board")
      }
      options.name = name
    }
    options.stateFolder = arguments.text(.boardState)
    options.readyAfter = arguments.number(.readyAfter).map { .milliseconds($0) } ?? options.readyAfter
    options.battery = arguments.number(.battery).map { Int($0) }
    if let path = arguments.text(.boardKey) { options.key = try LinkKey(file: path) }
    if let path = arguments.text(.trust) { options.trusted = try VerifyingKey(file: path) }
    return options
  }

  private static func wrong(_ option: OptionSpec, _ error: BoardError) -> UsageError {
    UsageError(
      .value, "\(option.dashed): \(error.message)" + (error.hint.map { "; \($0)" } ?? ""),
      help: "roomtone board")
  }
}

/// The wearer of the headset: performs the commands typed on standard input, a line each, until it ends.
private final class Wearer {
  private let board: Board
  private var watch: FDWatch?
  /// Line that has not ended yet.
  private var line: [UInt8] = []
  /// Maximum length of a line in bytes; further bytes are dropped.
  private static let longest = 1_000

  init(_ board: Board, _ loop: EventLoop) throws {
    self.board = board
    // A background process that reads its terminal would be stopped.
    signal(SIGTTIN, SIG_IGN)
    watch = try loop.watch(STDIN_FILENO, for: .readable, keepsAlive: false) { [unowned self] _ in read() }
  }

  func close() {
    watch?.cancel()
    watch = nil
  }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
    if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
    guard count > 0 else {
      perform()
      return close()
    }
    for byte in buffer[..<count] {
      if byte == UInt8(ascii: "\n") {
        perform()
      } else if line.count <= Self.longest {
        line.append(byte)
      }
    }
  }

  private func perform() {
    let text = String(decoding: line, as: UTF8.self)
    line = []
    if text.utf8.allSatisfy({ $0 <= 0x20 }) { return }
    if text.split(separator: " ") == ["state"] { return Terminal.print(board.report.json.line) }
    do throws(BoardError) { try board.perform(text) } catch { Terminal.failure(error) }
  }
}

extension BoardReport {
  /// Report as an object for programs.
  fileprivate var json: JSON {
    .object([
      ("profile", .string(profile)), ("model", .string(model)), ("version", .string(version)),
      ("mode", .string(mode)), ("running", .bool(isRunning)), ("boots", .number(boots)),
      ("noise_cancelling", .bool(noiseCancelling)),
      ("ambient", .object([("left", .number(ambientLeft)), ("right", .number(ambientRight))])),
      ("preset", .number(preset)),
      ("equalizer", .array(equalizer.map { .array($0.map { .number($0) }) })),
      (
        "battery", .object([("percent", .number(batteryPercent)), ("charging", .bool(isCharging))])
      ),
      ("connected", .bool(isConnected)), ("confirmed", confirmed.json), ("trial", trial?.json ?? .null),
      ("transfer", transfer?.json ?? .null), ("steps", .number(steps)),
      (
        "dropped",
        .object([
          ("unsealed", .number(unsealed)), ("forged", .number(forged)), ("repeated", .number(repeated)),
          ("broken", .number(broken)),
        ])
      ),
    ])
  }
}

extension BoardReport.Image {
  fileprivate var json: JSON {
    .object([
      ("slot", .string(slot)), ("version", .string(version)), ("sha256", .optional(hash)),
      ("whole", .bool(isWhole)),
    ])
  }
}

extension BoardReport.Transfer {
  fileprivate var json: JSON {
    .object([("state", .string(state)), ("offset", .number(offset)), ("size", .number(size))])
  }
}
