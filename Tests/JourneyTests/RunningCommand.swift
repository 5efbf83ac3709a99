import Glibc
import TestSupport

/// Exit status and output of a command.
struct Outcome: CustomStringConvertible, Equatable {
  /// Exit status; 128 + n when signal n killed it.
  let status: Int32
  let output: String
  let errors: String

  /// Lines of the output, without their ends.
  var lines: [String] { Self.lines(output) }
  /// Lines of standard error, without their ends.
  var errorLines: [String] { Self.lines(errors) }
  /// Lines that report a failure; those below one locate the script.
  var failures: [String] { errorLines.filter { $0.hasPrefix("roomtone: ") } }

  var description: String { "status \(status)\noutput:\n\(output)\nerrors:\n\(errors)" }

  private static func lines(_ text: String) -> [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    return lines
  }
}

/// A `roomtone` process, which is killed when its deadline passes or when this object is released.
///
/// For one thread. Output is read while one of the waiting functions runs.
final class RunningCommand {
  /// Standard input of the process.
  enum Input {
    /// A pipe that holds this text, up to 64 KiB, and then ends.
    case text(String)
    /// A pipe that stays open, for `type`.
    case pipe
    /// A file.
    case file(String)
    /// A terminal, which is standard output too, and the process is the front one of its session.
    case terminal
  }

  /// Process id.
  let process: pid_t
  private let deadline: ContinuousClock.Instant
  private let input: Descriptor?
  private var readers: [(descriptor: Descriptor, isError: Bool)]
  private var output: [UInt8] = []
  private var errors: [UInt8] = []
  private var status: Int32?
  /// Offset in the output at which `expect` continues.
  private var mark = 0

  /// Starts `roomtone`, or another program, in `folder` with these words and this environment.
  init(
    _ arguments: [String], of program: String? = nil, in folder: String, environment: [String], input: Input,
    deadline: Duration
  ) throws {
    let streams = try Streams(input)
    process = try Self.spawn([program ?? Home.executable()] + arguments, folder, environment, streams)
    self.deadline = .now + deadline
    self.input = streams.toChild
    readers = streams.fromChild
  }

  deinit {
    guard status == nil else { return }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// Waits until `text` appears on standard output, after what was expected before.
  func expect(_ text: String) throws {
    let wanted = Array(text.utf8)
    var found: Int?
    try pump("for \"\(text)\"") {
      found = position(of: wanted)
      return found != nil
    }
    mark = (found ?? mark) + wanted.count
  }

  /// Waits until `text` appears on standard error.
  func expectError(_ text: String) throws {
    try pump("for \"\(text)\" on standard error") { String(decoding: errors, as: UTF8.self).contains(text) }
  }

  /// Waits for `text`, and returns the standard output up to it, from what was expected last.
  func consume(upTo text: String) throws -> String {
    let start = mark
    try expect(text)
    return String(decoding: output[start..<(mark - text.utf8.count)], as: UTF8.self)
  }

  /// Types on the process's terminal, or into its pipe.
  func type(_ text: String) throws {
    guard let input else { throw TestFailure("there is nothing to type on") }
    let bytes = Array(text.utf8)
    guard write(input.number, bytes, bytes.count) == bytes.count else { throw TestFailure("cannot type") }
  }

  /// `true` if the process's terminal collects lines and shows what is typed, as a shell leaves it.
  var terminalIsCooked: Bool {
    var settings = termios()
    guard let input, tcgetattr(input.number, &settings) == 0 else { return false }
    return settings.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
  }

  /// Sends the process a signal.
  func send(_ signal: Int32) { if status == nil { kill(process, signal) } }

  /// Waits for the end of the process.
  func finish() throws -> Outcome {
    try pump("for its end") { status != nil && readers.isEmpty }
    return Outcome(
      status: status ?? -1, output: String(decoding: output, as: UTF8.self),
      errors: String(decoding: errors, as: UTF8.self))
  }

  /// Reads output until `isDone`.
  /// - Parameter reason: the object of the wait, for the message of a failure.
  private func pump(_ reason: String, until isDone: () throws -> Bool) throws {
    while try !isDone() {
      if status != nil && readers.isEmpty { throw failure("ended while a test waited \(reason)") }
      guard ContinuousClock.now < deadline else {
        kill(process, SIGKILL)
        throw failure("took too long: a test waited \(reason)")
      }
      // Once the process has ended, its output can be read at once, and a descendant that lives on changes
      // nothing.
      let hadEnded = reap()
      var polls = readers.map { pollfd(fd: $0.descriptor.number, events: Int16(POLLIN), revents: 0) }
      let ready = poll(&polls, nfds_t(polls.count), hadEnded ? 0 : 20)
      if ready == 0 && hadEnded { readers = [] }
      readers = zip(readers, polls).filter { $0.1.revents == 0 || receive($0.0) }.map(\.0)
    }
  }

  /// Reads once; returns `false` at the end.
  private func receive(_ reader: (descriptor: Descriptor, isError: Bool)) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = read(reader.descriptor.number, &chunk, chunk.count)
    // A terminal returns EIO after its last user has closed it.
    guard count > 0 else { return count < 0 && errno == EINTR }
    if reader.isError { errors += chunk[..<count] } else { output += chunk[..<count] }
    return true
  }

  private func reap() -> Bool {
    if status != nil { return true }
    var word: CInt = 0
    guard waitpid(process, &word, WNOHANG) == process else { return false }
    status = word & 0x7F == 0 ? (word >> 8) & 0xFF : 128 + (word & 0x7F)
    return true
  }

  private func position(of wanted: [UInt8]) -> Int? {
    guard output.count - mark >= wanted.count else { return nil }
    return (mark...(output.count - wanted.count)).first { output[$0...].starts(with: wanted) }
  }

  private func failure(_ what: String) -> TestFailure {
    TestFailure(
      "roomtone \(what); status \(status.map(String.init) ?? "none"), output "
        + "\"\(String(decoding: output, as: UTF8.self))\", errors \"\(String(decoding: errors, as: UTF8.self))\""
    )
  }

  private static func spawn(
    _ command: [String], _ folder: String, _ environment: [String], _ streams: Streams
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    streams.connect(&actions)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A test process may block or ignore signals; the command starts as from a shell.
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    let newSession = streams.isTerminal ? Linux.newSession : 0
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | newSession)

    // `env` changes to the folder and executes the command: the process keeps its id.
    let path = "/usr/bin/env"
    let line = [path, "-C", folder] + command
    var words: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) }  // freed below
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) }  // freed below
    defer { (words + variables).forEach { free($0) } }
    words.append(nil)
    variables.append(nil)
    var process = pid_t()
    let failure = posix_spawn(&process, path, &actions, &attributes, words, variables)
    guard failure == 0 else { throw TestFailure("cannot run \(path): \(String(cString: strerror(failure)))") }
    return process
  }
}

/// A file descriptor that is closed with its last reference.
final class Descriptor {
  let number: CInt

  init(_ number: CInt, of what: String) throws {
    guard number >= 0 else { throw TestFailure("cannot open \(what): \(String(cString: strerror(errno)))") }
    self.number = number
  }

  deinit { close(number) }
}

/// Standard streams of a process, with both ends.
private struct Streams {
  var toChild: Descriptor?
  var fromChild: [(descriptor: Descriptor, isError: Bool)] = []
  let isTerminal: Bool
  private var childEnds: [CInt: Descriptor] = [:]
  private var terminal: String?

  init(_ input: RunningCommand.Input) throws {
    let errors = try Self.pipe()
    childEnds[2] = errors.write
    switch input {
    case .terminal:
      isTerminal = true
      let master = try Descriptor(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), of: "a terminal")
      var (number, lock): (CInt, CInt) = (0, 0)
      guard ioctl(master.number, Linux.lockTerminal, &lock) == 0,
        ioctl(master.number, Linux.terminalNumber, &number) == 0
      else { throw TestFailure("cannot make a terminal") }
      terminal = "/dev/pts/\(number)"
      toChild = master
      fromChild = [(master, false)]
    case .file(let path):
      isTerminal = false
      childEnds[0] = try Descriptor(open(path, O_RDONLY | O_CLOEXEC), of: path)
    case .pipe:
      isTerminal = false
      let pipe = try Self.pipe()
      (childEnds[0], toChild) = (pipe.read, pipe.write)
    case .text(let text):
      isTerminal = false
      let pipe = try Self.pipe()
      let bytes = Array(text.utf8)
      guard bytes.count <= 65_536, write(pipe.write.number, bytes, bytes.count) == bytes.count else {
        throw TestFailure("more than a pipe takes")
      }
      childEnds[0] = pipe.read
    }
    if !isTerminal {
      let output = try Self.pipe()
      childEnds[1] = output.write
      fromChild = [(output.read, false)]
    }
    fromChild.append((errors.read, true))
  }

  /// Assigns the process's ends to its standard streams.
  func connect(_ actions: inout posix_spawn_file_actions_t) {
    if let terminal {
      // Opened by the leader of a new session it becomes the session's terminal.
      posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
      posix_spawn_file_actions_adddup2(&actions, 0, 1)
    }
    for (number, end) in childEnds { posix_spawn_file_actions_adddup2(&actions, end.number, number) }
  }

  /// Creates a pipe of which no other process that is started meanwhile inherits an end: that would keep it
  /// open.
  private static func pipe() throws -> (read: Descriptor, write: Descriptor) {
    let folder = try TemporaryFolder()
    let path = folder.file("pipe")
    guard mkfifo(path, 0o600) == 0 else { throw TestFailure("cannot make a pipe") }
    let reader = try Descriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), of: "a pipe")
    let writer = try Descriptor(open(path, O_WRONLY | O_CLOEXEC), of: "a pipe")
    _ = fcntl(reader.number, F_SETFL, 0)
    return (reader, writer)
  }
}

/// Constants that Swift's Glibc module omits from <spawn.h> and <asm-generic/ioctls.h>.
private enum Linux {
  /// `POSIX_SPAWN_SETSID`
  static let newSession: Int16 = 0x80
  /// `TIOCGPTN`: the number of a terminal.
  static let terminalNumber: UInt = 0x8004_5430
  /// `TIOCSPTLCK`: locks or unlocks a terminal.
  static let lockTerminal: UInt = 0x4004_5431
}
