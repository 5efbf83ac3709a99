public import EventLoop
internal import Glibc
internal import Home

/// The programs that scripts have started and that have not been waited for. Confined to the loop.
///
/// With a folder, each program is recorded there as long as it runs, so that the next process ends the
/// programs that a killed one has left running: a server of a script would still have its port. Their
/// standard error goes to the log of their script, line by line; without a folder it is that of this process.
public final class ProgramTable {
  private let loop: EventLoop
  private let folder: String?
  /// The identity of this process in records.
  private let owner: LinuxProcess?
  private var outputs: [Int: ErrorOutput] = [:]
  private var count = 0

  /// A table of programs that are recorded in `folder`; without a folder they are not recorded.
  public init(loop: EventLoop, folder: String?) {
    (self.loop, self.folder) = (loop, folder)
    owner = folder == nil ? nil : LinuxProcess(getpid())
  }

  /// Starts a command of the shell, as `Program.start` does.
  /// - Parameter log: receives each line of the program's standard error, if there is a folder.
  func start(
    _ command: String, _ descriptor: (own: Int32, for: Int32)? = nil,
    log: @escaping (LogLevel, String, [(String, String)]) -> Void
  ) -> Result<Program, SystemError> {
    var descriptors = descriptor.map { [$0] } ?? []
    guard folder != nil else { return Program.start(command, descriptors) }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return .failure(SystemError(errno)) }
    // No other program inherits them: programs are started on this thread.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    descriptors.append((ends[1], 2))
    let started = Program.start(command, descriptors)
    close(ends[1])
    guard case .success(let program) = started else {
      close(ends[0])
      return started
    }
    record(program, command)
    count += 1
    let (number, name) = (count, String(command.onOneLine.prefix(60)))
    outputs[number] = ErrorOutput(
      ends[0], loop, line: { log(.warn, $0, [("program", name)]) },
      ended: { [weak self] in self?.outputs[number] = nil })
    return started
  }

  /// Calls `ended` on the loop with the status that `waitpid` gave.
  func wait(for program: Program, ended: @escaping (Int32) -> Void) {
    program.wait(on: loop) { [self] status in
      forget(program)
      ended(status)
    }
  }

  // MARK: Records

  private func file(of process: pid_t) -> String? { folder.map { "\($0)/\(process)" } }

  /// Records a program that runs.
  func record(_ program: Program, _ command: String) {
    guard let folder, let path = file(of: program.process), let owner,
      let state = LinuxProcess(program.process)
    else { return }
    try? LinuxFiles.makeFolders(folder, mode: 0o700)
    let record = ProgramRecord(
      start: state.start, session: state.session, owner: getpid(), ownerStart: owner.start, command: command)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    let bytes = Array(record.text.utf8)
    _ = write(descriptor, bytes, bytes.count)
    close(descriptor)
  }

  /// Removes the record of a program that has ended.
  func forget(_ program: Program) { if let path = file(of: program.process) { unlink(path) } }

  /// The time in which a program ends by SIGTERM before it is killed.
  private static let grace = Duration.seconds(2)

  /// Ends the programs that a killed process has left running. Blocks until they have ended, two seconds at
  /// most; to be called before a script starts.
  /// - Parameter log: receives a line for each program.
  public func endLeftBehind(log: (String) -> Void) {
    guard let folder, let names = try? LinuxFiles.names(in: folder) else { return }
    var left: [(group: pid_t, record: ProgramRecord)] = []
    for name in names.sorted() {
      let path = "\(folder)/\(name)"
      guard let group = pid_t(name), group > 1, let bytes = try? WholeFile.read(path, atMost: 4096),
        let record = ProgramRecord(String(decoding: bytes, as: UTF8.self))
      else { continue }
      if record.ownerRuns { continue }
      unlink(path)
      if record.isAlive(group) { left.append((group, record)) }
    }
    for (group, record) in left {
      log("a program that outlived a killed daemon is ended: \(record.command.onOneLine) (process \(group))")
      kill(-group, SIGTERM)
    }
    let deadline = ContinuousClock.now + Self.grace
    while ContinuousClock.now < deadline, left.contains(where: { $0.record.isAlive($0.group) }) {
      usleep(10_000)
    }
    for (group, record) in left where record.isAlive(group) { kill(-group, SIGKILL) }
  }
}

/// The record of a program, a process group of its own: enough to distinguish it from a later group with its
/// number.
private struct ProgramRecord {
  /// The start of its first process, and its session.
  let start: UInt64, session: pid_t
  /// The process that has started it.
  let owner: pid_t, ownerStart: UInt64
  let command: String

  /// The longest command that is kept, in characters.
  private static let longest = 200
  /// Numbers and start times of processes are those of one run of the system.
  private static let system = (try? textOfProcFile("/proc/sys/kernel/random/boot_id")) ?? ""

  init(start: UInt64, session: pid_t, owner: pid_t, ownerStart: UInt64, command: String) {
    (self.start, self.session, self.owner, self.ownerStart) = (start, session, owner, ownerStart)
    self.command = String(command.prefix(Self.longest))
  }

  /// The contents of its file.
  var text: String { "\(Self.system)\n\(start) \(session) \(owner) \(ownerStart)\n\(command)" }

  /// The record in the text of a file; nil for one of another run of the system.
  init?(_ text: String) {
    let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3, lines[0] == Self.system else { return nil }
    let numbers = lines[1].split(separator: " ").compactMap { UInt64($0) }
    guard numbers.count == 4, let session = pid_t(exactly: numbers[1]), let owner = pid_t(exactly: numbers[2])
    else { return nil }
    self.init(
      start: numbers[0], session: session, owner: owner, ownerStart: numbers[3], command: String(lines[2]))
  }

  /// `true` if the process that has started the program runs: it ends its programs itself.
  var ownerRuns: Bool { LinuxProcess(owner).map { $0.start == ownerStart && !$0.isGone } ?? false }

  /// `true` if a process of the group runs. A group keeps its number as long as it has a process.
  func isAlive(_ group: pid_t) -> Bool {
    if let first = LinuxProcess(group), first.start != start { return false }
    guard let names = try? LinuxFiles.names(in: "/proc") else { return false }
    return names.contains { name in
      guard let process = pid_t(name), let state = LinuxProcess(process) else { return false }
      return state.group == group && state.session == session && state.start >= start && !state.isGone
    }
  }
}

/// Returns the first line of a file of the system, which has no size.
private func textOfProcFile(_ path: String) throws(SystemError) -> String {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw SystemError(errno) }
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: 4096)
  let count = read(descriptor, &bytes, bytes.count)
  guard count >= 0 else { throw SystemError(errno) }
  return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
}

/// The standard error of a program, line by line. Lives until the last process that has it open has ended.
/// Confined to the loop.
private final class ErrorOutput {
  /// The longest line, in bytes: a longer one is reported in parts.
  private static let longest = 4096

  private var descriptor: Int32
  private var watch: FDWatch?
  private var rest: [UInt8] = []
  private let line: (String) -> Void
  private let ended: () -> Void

  /// Reads from `descriptor`, which is owned.
  init(_ descriptor: Int32, _ loop: EventLoop, line: @escaping (String) -> Void, ended: @escaping () -> Void)
  {
    (self.descriptor, self.line, self.ended) = (descriptor, line, ended)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    watch = try? loop.watch(descriptor, for: .readable, keepsAlive: false) { [unowned self] _ in receive() }
  }

  deinit { close() }

  private func receive() {
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    let count = read(descriptor, &piece, piece.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return }
    guard count > 0 else {
      if !rest.isEmpty { report(rest) }
      close()
      return ended()
    }
    rest += piece.prefix(count)
    while let end = rest.prefix(Self.longest).firstIndex(of: UInt8(ascii: "\n")) {
      report(rest[..<end])
      rest.removeFirst(end + 1)
    }
    while rest.count >= Self.longest {
      report(rest.prefix(Self.longest))
      rest.removeFirst(Self.longest)
    }
  }

  private func report(_ bytes: some Sequence<UInt8>) {
    line(String(decoding: Array(bytes), as: UTF8.self).onOneLine)
  }

  private func close() {
    guard descriptor >= 0 else { return }
    watch?.cancel()
    watch = nil
    Glibc.close(descriptor)
    descriptor = -1
  }
}
