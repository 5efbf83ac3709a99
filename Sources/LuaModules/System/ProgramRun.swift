internal import EventLoop
internal import Glibc
internal import LuaRuntime

/// A run of a program for `task.exec`: its output is collected while it runs, and its process group is killed when it
/// is cancelled. Confined to the loop.
final class ProgramRun {
  /// The result of a program that has ended.
  struct Result {
    /// The status of `waitpid`.
    let status: Int32
    let output: [UInt8]
    let errors: [UInt8]
  }

  /// The reason why there is no result.
  enum Failure: Error {
    /// The system refuses to start the program.
    case notStarted(SystemError)
    /// The program wrote more than `outputLimit`.
    case tooMuchOutput
    case timedOut
  }

  /// The limit of each of the two outputs in bytes.
  static let outputLimit = 1 << 20
  /// The time between the request to end and the kill.
  private static let killDelay = Duration.seconds(2)

  private enum Phase {
    case running(Program)
    case over
  }

  private let loop: EventLoop
  private let programs: ProgramTable
  private let ended: (Swift.Result<Result, Failure>) -> Void
  private var phase = Phase.over
  private var streams: [OutputReader] = []
  private var timer: LoopTimer?

  /// Starts a program; `ended` is called once, unless the run is cancelled before.
  /// - Parameters:
  ///   - arguments: the program, a path or a name that is found in `PATH`, and its arguments.
  ///   - timeout: nil for no limit.
  init(
    _ arguments: [String], timeout: Duration?, _ programs: ProgramTable, on loop: EventLoop,
    ended: @escaping (Swift.Result<Result, Failure>) -> Void
  ) throws(Failure) {
    (self.loop, self.programs, self.ended) = (loop, programs, ended)
    var pipes: [(reading: Int32, writing: Int32)] = []
    defer { for pipe in pipes { close(pipe.writing) } }
    for _ in 0..<2 {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0 else {
        let error = SystemError(errno)
        for pipe in pipes { close(pipe.reading) }
        throw .notStarted(error)
      }
      // All programs are started on this thread, so that no other one inherits them before this call.
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      pipes.append((ends[0], ends[1]))
    }
    switch Program.start(arguments, output: pipes[0].writing, errors: pipes[1].writing) {
    case .failure(let failure):
      for pipe in pipes { close(pipe.reading) }
      throw .notStarted(failure)
    case .success(let program):
      phase = .running(program)
      programs.record(program, arguments.joined(separator: " "))
      streams = pipes.map { pipe in
        OutputReader(pipe.reading, loop: loop) { [weak self] in self?.finish(.failure(.tooMuchOutput)) }
      }
      timer = timeout.map { time in loop.after(time) { [weak self] in self?.finish(.failure(.timedOut)) } }
      programs.wait(for: program) { [self] status in
        guard case .running = phase else { return }
        for stream in streams { stream.drain() }
        guard case .running = phase else { return }
        phase = .over
        finish(.success(Result(status: status, output: streams[0].bytes, errors: streams[1].bytes)))
      }
    }
  }

  /// Kills the program, and all that it has started in its group, and reports nothing.
  func cancel() { end() }

  private func finish(_ result: Swift.Result<Result, Failure>) {
    end()
    ended(result)
  }

  private func end() {
    timer?.cancel()
    for stream in streams { stream.close() }
    guard case .running(let program) = phase else { return }
    phase = .over
    program.end(killingAfter: Self.killDelay, on: loop)
    programs.forget(program)
  }
}

/// Reads a pipe to its end. Confined to the loop.
private final class OutputReader {
  private(set) var bytes: [UInt8] = []
  private var descriptor: Int32
  private var watch: FDWatch?
  private let overflowed: () -> Void

  /// Reads from `descriptor`, which is owned.
  init(_ descriptor: Int32, loop: EventLoop, overflowed: @escaping () -> Void) {
    (self.descriptor, self.overflowed) = (descriptor, overflowed)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    watch = try? loop.watch(descriptor, for: .readable, keepsAlive: false) { [unowned self] _ in drain() }
  }

  deinit { close() }

  /// Reads the available bytes.
  func drain() {
    var piece = [UInt8](repeating: 0, count: 64 * 1024)
    while descriptor >= 0 {
      let count = read(descriptor, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      guard count > 0 else { return close() }
      bytes += piece.prefix(count)
      if bytes.count > ProgramRun.outputLimit { return overflowed() }
    }
  }

  func close() {
    guard descriptor >= 0 else { return }
    watch?.cancel()
    watch = nil
    Glibc.close(descriptor)
    descriptor = -1
  }
}

// MARK: task.exec

extension ProgramRun {
  /// `task.exec{program, argument…, timeout=}`: the code, the output and the errors of a program without a shell.
  static func exec(_ call: LuaCall, _ programs: ProgramTable) throws -> LuaReturn {
    let (arguments, timeout) = try command(call)
    return try call.suspend { continuation in
      do throws(Failure) {
        let run = try ProgramRun(arguments, timeout: timeout, programs, on: call.state.loop) { result in
          switch result {
          case .success(let result): continuation.resume(returning: [value(of: result)])
          case .failure(let failure):
            continuation.resume(throwing: error(of: failure, arguments[0], timeout))
          }
        }
        return { run.cancel() }
      } catch {
        throw self.error(of: error, arguments[0], timeout)
      }
    }
  }

  /// Does the same under simulation: calls the stand-in of the program.
  /// - Parameters:
  ///   - held: counts the routine of the stand-in among the tasks of the script.
  ///   - standIn: returns the function that stands in for a program.
  static func simulated(
    _ call: LuaCall, _ held: () throws -> ScriptObjects.Held, _ standIn: (String) -> LuaReference?
  ) throws -> LuaReturn {
    let (arguments, timeout) = try command(call)
    let program = arguments[0]
    guard let function = standIn(program) else {
      throw LuaError(
        code: "simulate.not_here",
        message: "'\(program.onOneLine)' is a program outside of the simulation",
        hint: "give it a stand-in with task.stand_in")
    }
    let held = try held()
    let state = call.state
    return try call.suspend { continuation in
      let routine = state.start(
        function, arguments: [.list(arguments.dropFirst().map { .string($0) })], name: "stand-in")
      var isLate = false
      let timer = timeout.map { time in
        state.loop.after(time) {
          isLate = true
          routine.cancel()
        }
      }
      routine.whenEnded { outcome in
        held.release()
        timer?.cancel()
        switch outcome {
        case .returned(let values):
          do {
            continuation.resume(returning: [try completed(values.first ?? .nil, program, in: state)])
          } catch { continuation.resume(throwing: error) }
        case .failed(let error): continuation.resume(throwing: error)
        case .cancelled where isLate: continuation.resume(throwing: error(of: .timedOut, program, timeout))
        case .cancelled: continuation.resume(throwing: LuaError.cancelled)
        }
      }
      return { routine.cancel() }
    }
  }
}

extension ProgramRun {
  /// Returns the program with its arguments, and the timeout.
  private static func command(_ call: LuaCall) throws -> ([String], Duration?) {
    let options = try call.options(1, ["timeout"], besideList: true)
    let arguments = try call.list(1, limit: 1000).enumerated().map { index, value in
      switch value {
      case .string(let text) where !text.utf8.contains(0): return text
      case .int(let number): return "\(number)"
      default:
        throw call.problem(
          1,
          "element \(index + 1): text in UTF-8 without zero bytes expected, got \(call.state.typeName(value))"
        )
      }
    }
    guard let program = arguments.first, !program.isEmpty else {
      throw call.problem(1, "the name of a program expected as first element")
    }
    return (arguments, try options.duration("timeout"))
  }

  private static func value(of result: Result) -> LuaValue {
    let signal = Int(result.status & 0x7f)
    var fields: [(name: String, value: LuaValue)] = [
      ("code", .int(signal == 0 ? Int(result.status >> 8 & 0xff) : 128 + signal)),
      ("stdout", .bytes(result.output)), ("stderr", .bytes(result.errors)),
    ]
    if signal != 0 { fields.append(("signal", .int(signal))) }
    return .record(fields)
  }

  /// Returns the result of a stand-in: its table with defaults for the missing fields; a text stands for the
  /// output, and no value for no output.
  private static func completed(
    _ value: LuaValue, _ program: String, in state: LuaState
  ) throws -> LuaValue {
    var fields: [String: LuaValue] = ["code": .int(0), "stdout": .string(""), "stderr": .string("")]
    switch value {
    case .nil: break
    case .string, .bytes: fields["stdout"] = value
    default:
      guard let given = state.fields(of: value) else {
        throw LuaError(
          code: "argument",
          message: "the stand-in of '\(program.onOneLine)' returned a \(state.typeName(value))",
          hint: "return a table { code =, stdout =, stderr = }, the output alone, or nothing")
      }
      fields.merge(given) { _, new in new }
    }
    return .record(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
  }

  private static func error(of failure: Failure, _ program: String, _ timeout: Duration?) -> LuaError {
    let name = program.onOneLine
    switch failure {
    case .notStarted(let error) where error.number == ENOENT:
      return LuaError(
        code: "task.no_program", message: "no program is called '\(name)'",
        hint: "install it, or write its whole path")
    case .notStarted(let error):
      return LuaError(
        code: "task.no_program", message: "can't start '\(name)': \(error.text)")
    case .tooMuchOutput:
      return LuaError(
        code: "task.output", message: "'\(name)' wrote more than 1 MiB, and was ended",
        hint: "have it write to a file")
    case .timedOut:
      let seconds = timeout.map { "\($0.inSeconds)" } ?? ""
      return LuaError(
        code: "task.timeout", message: "'\(name)' was not done within \(seconds) s, and was ended")
    }
  }
}
