internal import EventLoop
internal import Glibc

/// A program of the system that is run to its end.
enum ExternalProgram {
  /// Exit status and output of the program.
  struct Result {
    /// Exit status; 128 + n when signal n ended it.
    let status: Int32
    let output: [UInt8]
    let errors: String
  }

  /// Returns the path of a program; nil when no folder has it.
  /// - Parameter path: the folders, with colons between; nil for `PATH`.
  static func find(_ program: String, in path: String? = nil) -> String? {
    let folders = path ?? getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    return folders.split(separator: ":").map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
  }

  /// Runs a program that is found on PATH; blocks the calling thread.
  /// - Parameters:
  ///   - input: the contents of its standard input.
  ///   - variables: environment variables besides this process's.
  /// - Throws: the failure to find or run the program.
  static func run(
    _ program: String, _ arguments: [String], input: [UInt8] = [], variables: [String: String] = [:]
  ) throws(SystemError) -> Result {
    let files = (try Spool(), try Spool(), try Spool())
    try files.0.fill(input)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, files.0.descriptor, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, files.1.descriptor, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, files.2.descriptor, STDERR_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // This process ignores SIGPIPE and SIGXFSZ.
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var environment = inherited(without: Set(variables.keys))
    environment += variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    let words = ([program] + arguments).map { strdup($0) as UnsafeMutablePointer<CChar>? }
    let entries = environment.map { strdup($0) as UnsafeMutablePointer<CChar>? }
    defer { for text in words + entries { free(text) } }
    var process = pid_t()
    let failure = posix_spawnp(&process, program, &actions, &attributes, words + [nil], entries + [nil])
    guard failure == 0 else { throw SystemError(failure) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) == -1 && errno == EINTR {}
    return Result(
      status: status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f, output: try files.1.contents(),
      errors: String(decoding: try files.2.contents(), as: UTF8.self))
  }

  private static func inherited(without names: Set<String>) -> [String] {
    var result: [String] = []
    var entry = environ
    while let variable = entry.pointee {
      let text = String(cString: variable)
      if !names.contains(String(text.prefix { $0 != "=" })) { result.append(text) }
      entry += 1
    }
    return result
  }

  /// A file in memory for a program's input or output, which needs no space on a disk.
  private final class Spool {
    let descriptor: Int32
    /// Maximum size of the output, in bytes.
    private static let limit = 4 << 20

    init() throws(SystemError) {
      descriptor = LinuxFiles.inMemory(name: "roomtone")
      guard descriptor >= 0 else { throw SystemError(-descriptor) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func fill(_ bytes: [UInt8]) throws(SystemError) {
      var done = 0
      while done < bytes.count {
        let count = bytes.withUnsafeBytes {
          write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw SystemError(count == 0 ? EIO : errno) }
        done += count
      }
      lseek(descriptor, 0, SEEK_SET)
    }

    /// Returns the whole output.
    /// - Throws: above `limit`, since a part would be mistaken for the whole.
    func contents() throws(SystemError) -> [UInt8] {
      let size = Int(lseek(descriptor, 0, SEEK_END))
      guard size >= 0 else { throw SystemError(errno) }
      guard size <= Self.limit else { throw SystemError(EFBIG) }
      let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
      }
      guard bytes.count == size else { throw SystemError(EIO) }
      return bytes
    }
  }
}
