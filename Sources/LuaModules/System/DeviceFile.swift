internal import EventLoop
internal import Glibc
internal import LuaRuntime

/// `io.open` and `io.lines` of FIFOs and devices: only the routine that opens, reads or writes waits.
final class DeviceFiles {
  private unowned let script: Script
  private let files: LuaClass<DeviceFile>
  /// FIFOs that a thread still opens for a cancelled routine, and the calls that open them next.
  private var abandoned: [String: [() -> Void]] = [:]

  init(_ script: Script) throws {
    self.script = script
    files = try LuaClass("file", in: script.state) {
      "file \"\($0.path)\" (\($0.isClosed ? "closed" : "open"))"
    }
    script.keep(self)
    files.method("read") { file, call in
      try InputFunctions.read(from: try file.openInput(), call, first: 2)
    }
    files.method("lines") { file, call in
      let format = try InputFunctions.request(call, 2, unless: .line(keepsEnd: false))
      return call.return(Self.iterator(try file.openInput(), [format], call))
    }
    files.method("write") { [unowned self] file, call in
      try file.openOutput().write(call, from: 2, returning: { [unowned self] in files(file) })
    }
    files.method("flush", arity: 0) { [unowned self] file, call in call.return(files(file)) }
    files.method("setvbuf", arity: 2) { _, call in call.return(true) }
    files.method("seek", arity: 2) { _, call in call.results(FileFailure.results(ESPIPE)) }
    files.method("close", arity: 0) { file, call in
      try file.requireOpen()
      file.close()
      return call.return(true)
    }
  }

  func replace(in state: LuaState) {
    state.replaceFiles(
      open: LuaFunction("open") { [unowned self] call in try open(call) },
      lines: LuaFunction("lines") { [unowned self] call in try lines(call) })
  }

  private static func iterator(
    _ input: InputReader, _ formats: [InputReader.Request], _ call: LuaCall
  ) -> LuaValue {
    call.state.value(of: LuaFunction("lines") { call in try InputFunctions.read(formats, from: input, call) })
  }

  /// `io.open(path [, mode])`
  private func open(_ call: LuaCall) throws -> LuaReturn {
    let path = try call.string(1, .path)
    let mode = call.isNil(2) ? "r" : try call.string(2, .name)
    guard ["r", "w", "a", "r+", "w+", "a+"].contains(mode.replacing("b", with: "")) else {
      throw call.problem(2, "invalid mode '\(mode)'")
    }
    let access = mode.contains("+") ? O_RDWR : mode.hasPrefix("r") ? O_RDONLY : O_WRONLY
    // Opening a FIFO for writing waits for a reader. Reading does not begin before there is a writer.
    if access == O_WRONLY, DeviceFile.isFIFO(path) { return try openForWriting(path, call) }
    let fd = Glibc.open(path, access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard fd >= 0 else { return call.results(FileFailure.results(errno, of: path)) }
    return call.return(files(DeviceFile(path, fd, access, script)))
  }

  /// Opens the FIFO on a thread. When the routine is cancelled meanwhile, a reader of ours makes the call
  /// return; the next opening of the same FIFO waits for that, else it would mistake our reader for the other
  /// side.
  private func openForWriting(_ path: String, _ call: LuaCall) throws -> LuaReturn {
    try call.suspend { continuation in
      var isCancelled = false
      var reader: Int32 = -1
      // The thread may be slower than the end of the script.
      let opened = { [weak self] (fd: Int32, failure: Int32) in
        if isCancelled {
          for fd in [fd, reader] where fd >= 0 { Glibc.close(fd) }
          for begin in self?.abandoned.removeValue(forKey: path) ?? [] { begin() }
        } else if fd < 0 {
          continuation.resume(returning: FileFailure.results(failure, of: path))
        } else if let self {
          continuation.resume(returning: [files(DeviceFile(path, fd, O_WRONLY, script))])
        }
      }
      var hasBegun = false
      let begin = { [unowned self] in
        guard !isCancelled else { return }
        hasBegun = true
        openOnThread(path, opened)
      }
      if abandoned[path] == nil { begin() } else { abandoned[path]?.append(begin) }
      return { [unowned self] in
        isCancelled = true
        guard hasBegun else { return }
        reader = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        if abandoned[path] == nil { abandoned[path] = [] }
      }
    }
  }

  private func openOnThread(_ path: String, _ opened: @escaping (Int32, Int32) -> Void) {
    // Created, called and released on the loop's thread; the other thread only carries it.
    nonisolated(unsafe) let opened = opened
    let loop = script.loop
    let hold = loop.hold("a FIFO is opened")
    do throws(LoopError) {
      try startDetachedThread("no thread to open a FIFO") {
        let fd = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        let failure = errno
        loop.post {
          opened(fd, failure)
          hold.release()
        }
      }
    } catch { opened(-1, error.errno) }
  }

  /// `io.lines(path, …)`
  private func lines(_ call: LuaCall) throws -> LuaReturn {
    let path = try call.string(1, .path)
    let formats = try InputFunctions.requests(call, first: 2)
    let fd = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard fd >= 0 else { throw call.problem(1, "\(path): \(SystemError(errno).text)") }
    let file = DeviceFile(path, fd, O_RDONLY, script)
    let input = try file.openInput()
    return call.return(
      call.state.value(
        of: LuaFunction("lines") { call in
          // The file is open as long as it is read.
          try withExtendedLifetime(file) { try InputFunctions.read(formats, from: input, call) }
        }))
  }
}

/// A FIFO or a device that is open. Ends with its script. Confined to the loop.
final class DeviceFile {
  let path: String
  private var descriptor: Int32
  private var input: InputReader?
  private var output: PipeWriter?
  private var forget: () -> Void = {}

  /// - Parameters:
  ///   - descriptor: owned from here on.
  ///   - access: `O_RDONLY`, `O_WRONLY` or `O_RDWR`.
  init(_ path: String, _ descriptor: Int32, _ access: Int32, _ script: Script) {
    (self.path, self.descriptor) = (path, descriptor)
    if access != O_WRONLY { input = InputReader(loop: script.loop, fd: descriptor) }
    if access != O_RDONLY { output = PipeWriter(loop: script.loop, fd: descriptor) }
    forget = script.root { [weak self] in self?.close() }
  }

  deinit { close() }

  var isClosed: Bool { descriptor < 0 }

  static func isFIFO(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFIFO
  }

  func requireOpen() throws {
    if isClosed { throw LuaError(code: "argument", message: "attempt to use a closed file") }
  }

  func openInput() throws -> InputReader {
    try requireOpen()
    guard let input else { throw LuaError(code: "argument", message: "the file was opened for writing") }
    return input
  }

  func openOutput() throws -> PipeWriter {
    try requireOpen()
    guard let output else { throw LuaError(code: "argument", message: "the file was opened for reading") }
    return output
  }

  func close() {
    guard !isClosed else { return }
    forget()
    input?.end()
    output?.end()
    Glibc.close(descriptor)
    descriptor = -1
  }
}
