internal import EventLoop
internal import Glibc
internal import LuaRuntime

/// `io.popen`: programs of the shell with a pipe to or from them. Only the routine that reads, writes or closes waits.
final class ProgramFiles {
  private unowned let script: Script
  private let files: LuaClass<ProgramFile>

  init(_ script: Script) throws {
    self.script = script
    files = try LuaClass("program", as: "Program", in: script.state) { file in
      "program \"\(file.command)\" (\(file.isClosed ? "closed" : "open"))"
    }
    script.keep(self)
    files.method("read") { file, call in
      try InputFunctions.read(from: try file.openInput(), call, first: 2)
    }
    files.method("lines") { [unowned script] file, call in
      let format = try InputFunctions.request(call, 2, unless: .line(keepsEnd: false))
      let input = try file.openInput()
      return call.return(
        script.state.value(
          of: LuaFunction("lines") { call in try InputFunctions.read([format], from: input, call) }))
    }
    files.method("write") { [unowned self] file, call in
      let output = try file.openOutput()
      return try output.write(call, from: 2, returning: { [unowned self] in files(file) })
    }
    files.method("close") { file, call in
      try file.requireOpen()
      return try call.suspend { continuation in
        file.close { continuation.resume(returning: Program.results(of: $0)) }
        return { file.end() }
      }
    }
  }

  /// `popen(command [, mode])`
  func open(_ call: LuaCall) throws -> LuaReturn {
    let command = try call.string(1, .command)
    let mode = call.isNil(2) ? "r" : try call.string(2, .name)
    guard mode == "r" || mode == "w" else { throw call.problem(2, "invalid mode '\(mode)': r or w") }
    switch ProgramFile.start(command, isRead: mode == "r", script) {
    case .success(let file): return call.return(files(file))
    case .failure(let failure):
      return call.results(FileFailure.results(failure.number, of: command))
    }
  }
}

/// A program that runs, and this end of its pipe. Ends with its script. Confined to the loop.
final class ProgramFile {
  let command: String
  private let program: Program
  private let programs: ProgramTable
  private let loop: EventLoop
  private var input: InputReader?
  private var output: PipeWriter?
  private var descriptor: Int32
  private var forget: () -> Void = {}

  /// `true` if `close` was called, or the script has ended.
  var isClosed: Bool { descriptor < 0 }

  private init(_ command: String, _ program: Program, _ descriptor: Int32, isRead: Bool, _ script: Script) {
    (self.command, self.program, self.descriptor, loop) = (command, program, descriptor, script.loop)
    programs = script.programs
    if isRead {
      input = InputReader(loop: loop, fd: descriptor)
    } else {
      output = PipeWriter(loop: loop, fd: descriptor)
    }
    forget = script.root { [weak self] in self?.end() }
  }

  deinit { end() }

  static func start(
    _ command: String, isRead: Bool, _ script: Script
  ) -> Result<ProgramFile, SystemError> {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return .failure(SystemError(errno)) }
    // No other program inherits them: programs are started on this thread.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (own, other) = isRead ? (ends[0], ends[1]) : (ends[1], ends[0])
    let started = script.programs.start(
      command, (own: other, for: isRead ? 1 : 0), log: script.onLog)
    Glibc.close(other)
    switch started {
    case .success(let program): return .success(ProgramFile(command, program, own, isRead: isRead, script))
    case .failure(let failure):
      Glibc.close(own)
      return .failure(failure)
    }
  }

  func requireOpen() throws {
    if isClosed { throw LuaError(code: "argument", message: "the program is closed") }
  }

  func openInput() throws -> InputReader {
    try requireOpen()
    guard let input else {
      throw LuaError(code: "argument", message: "the program was opened for writing")
    }
    return input
  }

  func openOutput() throws -> PipeWriter {
    try requireOpen()
    guard let output else {
      throw LuaError(code: "argument", message: "the program was opened for reading")
    }
    return output
  }

  /// Closes the pipe and waits for the end of the program.
  func close(_ done: @escaping (Int32) -> Void) {
    closePipe()
    programs.wait(for: program, ended: done)
  }

  /// Ends the program, if it runs.
  func end() {
    guard !isClosed else { return program.end() }
    closePipe()
    program.end()
    programs.wait(for: program) { _ in }
  }

  private func closePipe() {
    guard descriptor >= 0 else { return }
    forget()
    input?.end()
    output?.end()
    Glibc.close(descriptor)
    descriptor = -1
  }
}
