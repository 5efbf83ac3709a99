internal import CLinux
internal import Glibc

/// Calls of Linux for files that Swift's Glibc module leaves out. Any thread.
public enum LinuxFiles {
  /// Returns the names in a folder, in no order, without `.` and `..`.
  /// - Throws: `SystemError` if the folder can't be read.
  public static func names(in folder: String) throws(SystemError) -> [String] {
    guard let stream = opendir(folder) else { throw SystemError(errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Returns the free bytes for this user on the file system of `path`; `Int.max` if there are more.
  /// - Throws: `SystemError` if nothing is at `path`, or its file system can't be read.
  public static func freeBytes(at path: String) throws(SystemError) -> Int {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { throw SystemError(errno) }
    // The file systems of the kernel's own files have no blocks.
    guard status.f_blocks > 0 else { throw SystemError(ENOTSUP) }
    let (bytes, isMore) = Int(clamping: status.f_bavail).multipliedReportingOverflow(
      by: Int(clamping: status.f_frsize))
    return isMore ? .max : bytes
  }

  /// Returns the folder that a path is in, without a slash at its end; "." for one without a folder.
  public static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Creates the folder at `path` and its missing parents.
  /// - Parameter mode: the rights of the new folders, less those that the process withholds from its files.
  /// - Throws: `SystemError` if one can't be created.
  public static func makeFolders(_ path: String, mode: UInt32) throws(SystemError) {
    var made = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      made += "/" + part
      guard mkdir(made, mode) != 0, errno != EEXIST else { continue }
      let number = errno
      // Some file systems refuse the call before they notice that the folder exists.
      var status = stat()
      guard stat(made, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { throw SystemError(number) }
    }
  }

  /// Renames the file at `path`, unless the new name is in use.
  /// - Returns: 0, or an errno; `EEXIST` if the name is in use.
  public static func rename(_ path: String, toNew new: String) -> Int32 { file_rename_new(path, new) }

  /// Returns when all data written to the file system of an open file is on its disk.
  /// - Returns: 0, or an errno.
  public static func syncFileSystem(of descriptor: Int32) -> Int32 { file_sync_all(descriptor) }

  /// Returns the time at which the file at `path` was last modified; nil without a file.
  public static func modificationTime(of path: String) -> WallTime? {
    time(of: path, status: false)
  }

  /// Returns the time at which the content or the status of the file at `path` last changed: moving it
  /// changes the status. Nil without a file.
  public static func changeTime(of path: String) -> WallTime? { time(of: path, status: true) }

  private static func time(of path: String, status: Bool) -> WallTime? {
    let time = file_time(path, status)
    return time == .min ? nil : WallTime(nanoseconds: time)
  }

  /// Creates a file in memory only.
  /// - Returns: the descriptor, which the caller closes, or an errno below 0.
  public static func inMemory(name: String) -> Int32 { file_in_memory(name) }
}

/// A process as `/proc/PID/stat` describes it. Any thread. Source: proc(5).
public struct LinuxProcess: Sendable {
  /// The process group, and the session.
  public let group: Int32, session: Int32
  /// The start in ticks of the clock since the start of the system.
  public let start: UInt64
  /// `true` for a process that has ended and was not waited for.
  public let isGone: Bool
  /// The addresses of its arguments in its own memory; nil if the system does not show them.
  public let arguments: Range<UInt>?

  /// Nil if there is no such process.
  public init?(_ process: Int32) {
    let file = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var line = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &line, line.count)
    // The name of the program, in parentheses, may hold any byte; the third field follows it.
    guard count > 0, let name = line[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = line[name..<count].dropFirst().split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    func number<Number: FixedWidthInteger>(_ field: Int) -> Number? {
      fields.count > field - 3 ? Number(String(decoding: fields[field - 3], as: UTF8.self)) : nil
    }
    guard let group: Int32 = number(5), let session: Int32 = number(6), let start: UInt64 = number(22) else {
      return nil
    }
    (self.group, self.session, self.start) = (group, session, start)
    isGone = fields.first.map { "ZXx".utf8.contains($0[$0.startIndex]) } ?? false
    let ends: (UInt?, UInt?) = (number(48), number(49))
    arguments = if case (let first?, let end?) = ends, 0 < first, first < end { first..<end } else { nil }
  }
}

/// The memory of the process. Any thread.
public enum LinuxMemory {
  /// Returns free memory between used blocks to the system, after a burst that will not recur. Source:
  /// malloc_trim(3).
  public static func giveBackFree() { malloc_trim(0) }

  /// Makes all threads allocate in one arena, where memory freed by one of them serves the others. For a
  /// process whose real-time threads allocate nothing; before it has a second thread. Source: mallopt(3).
  public static func useOneArena() { mallopt(M_ARENA_MAX, 1) }
}

/// The clock of the machine. Any thread.
public enum LinuxClock {
  /// The agreement of the clock with world time.
  public enum Synchronization: Sendable, Equatable {
    /// A service keeps the clock in step.
    case synchronized(maximumError: Duration)
    /// No service keeps the clock in step.
    case free
    /// The system does not report it.
    case unknown
  }

  /// Returns the synchronization. Source: adjtimex(2).
  public static func synchronization() -> Synchronization {
    let error = clock_maximum_error()
    return error >= 0
      ? .synchronized(maximumError: .microseconds(error)) : error == -1 ? .free : .unknown
  }
}

/// Calls of Linux for sockets that Swift's Glibc module leaves out. Any thread.
public enum LinuxSockets {
  /// Returns the number of bytes that have arrived and were not read; 0 for a descriptor that is not a
  /// socket.
  public static func bytesWaiting(at descriptor: Int32) -> Int { Int(socket_bytes_waiting(descriptor)) }

  /// Returns the process and the user at the other end of a Unix socket; nil for any other descriptor.
  /// Source: unix(7), SO_PEERCRED.
  public static func peer(of descriptor: Int32) -> (process: Int32, user: UInt32)? {
    var (process, user): (Int32, UInt32) = (0, 0)
    return socket_peer(descriptor, &process, &user) == 0 ? (process, user) : nil
  }
}
