internal import Glibc

/// Programs as references for tests: ffmpeg, lame, sox.
public enum Command {
  /// The exit status and the output of a program.
  public struct Result: Sendable {
    /// Exit status; 128 + n when signal n ended it.
    public let status: Int32
    /// The bytes of its standard output.
    public let output: [UInt8]
    /// The bytes of its standard error.
    public let errors: [UInt8]

    /// The output as text.
    public var text: String { String(decoding: output, as: UTF8.self) }
  }

  /// Runs `program`, found on PATH, to its end; blocks the calling thread.
  /// - Throws: `TestFailure` when the program does not exist.
  public static func run(_ program: String, _ arguments: [String]) throws -> Result {
    let (output, errors) = (try SpoolFile(), try SpoolFile())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output.descriptor, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.descriptor, 2)

    let process = try spawn(program, arguments, &actions)
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    return Result(status: code, output: output.bytes(), errors: errors.bytes())
  }

  /// Runs `program` and throws unless it ends with status 0.
  @discardableResult
  public static func succeed(_ program: String, _ arguments: [String]) throws -> Result {
    let result = try run(program, arguments)
    guard result.status == 0 else {
      let errors = String(decoding: result.errors, as: UTF8.self)
      throw TestFailure("\(program) \(arguments.joined(separator: " ")) gave \(result.status): \(errors)")
    }
    return result
  }
}

/// Starts `program`, found on PATH. It blocks no signal: the threads of tests block most, and a child inherits that.
/// - Throws: `TestFailure` when the program does not exist.
func spawn(
  _ program: String, _ arguments: [String], _ actions: inout posix_spawn_file_actions_t
) throws -> pid_t {
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var none = sigset_t()
  sigemptyset(&none)
  posix_spawnattr_setsigmask(&attributes, &none)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

  var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }  // freed below
  words.append(nil)
  defer { words.forEach { free($0) } }
  var process = pid_t()
  let failure = posix_spawnp(&process, program, &actions, &attributes, words, environ)
  guard failure == 0 else {
    throw TestFailure("cannot run \(program): \(String(cString: strerror(failure)))")
  }
  return process
}

/// A file without a name for a program's output of any length, which is read at its end.
private final class SpoolFile {
  let descriptor: CInt

  init() throws {
    var template = Array("/tmp/roomtone-output-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw TestFailure("cannot make a temporary file") }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    unlink(template)
  }

  deinit { close(descriptor) }

  func bytes() -> [UInt8] {
    let size = Int(lseek(descriptor, 0, SEEK_END))
    guard size > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
      initialized = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
  }
}
