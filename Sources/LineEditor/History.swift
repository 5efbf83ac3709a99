public import EventLoop
internal import Glibc

/// The blocks that were typed, in memory and in a file that several prompts share.
///
/// A line of the file is an entry, in which `\n` stands for a line end and `\\` for a backslash. Entries are
/// appended under a lock, after the entries of other prompts have been read. Confined to the loop.
public final class History {
  /// The most entries.
  public static let limit = 10_000
  /// The file is shortened to the limit when it has this many more.
  private static let slack = 1_000
  /// The most bytes that are read, from the end of the file.
  private static let sizeLimit = 32 << 20

  /// The entries, the oldest first.
  public private(set) var entries: [String] = []
  private let path: String?
  /// The part of the file that has been read, and its inode, which changes when the file is shortened.
  private var known: (file: UInt, size: Int, lines: Int) = (0, 0, 0)
  /// `false` if the last line of that part has no end.
  private var endsLine = true

  /// A history in the file at `path`, whose folder exists; without a path in memory alone.
  public init(path: String?) { self.path = path }

  /// Reads the entries of the file that are not known yet.
  public func load() throws(SystemError) {
    guard let path else { return }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return }
      throw SystemError(errno)
    }
    defer { close(file) }
    try Self.lock(file, LOCK_SH)
    try read(file)
  }

  /// Adds an entry, unless it repeats the last one, is empty or begins with a space, and appends it to the file.
  public func add(_ entry: String) throws(SystemError) {
    guard !entry.isEmpty, !entry.hasPrefix(" "), entry != entries.last else { return }
    defer { keep(entry) }
    guard let path else { return }
    let file = try Self.openLocked(path)
    defer { close(file) }
    try read(file)
    let line = Array(((endsLine ? "" : "\n") + Self.escaped(entry) + "\n").utf8)
    let written = write(file, line, line.count)
    guard written == line.count else {
      let failure = SystemError(written < 0 ? errno : ENOSPC)
      // A part of an entry must not stay: the next entry would continue it.
      if written > 0 { _ = ftruncate(file, off_t(known.size)) }
      throw failure
    }
    endsLine = true
    known.size += line.count
    known.lines += 1
    if known.lines > Self.limit + Self.slack { try shorten(file, path, adding: entry) }
  }

  private func keep(_ entry: String) {
    entries.append(entry)
    if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
  }

  /// Reads a locked file, from the end of the known part on.
  private func read(_ file: Int32) throws(SystemError) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw SystemError(errno) }
    if known.file != UInt(status.st_ino) || known.size > status.st_size {
      // A shortened file contains the known entries, and is read from its start.
      if known.file != 0 { entries = [] }
      known = (UInt(status.st_ino), 0, 0)
    }
    known.size = max(known.size, Int(status.st_size) - Self.sizeLimit)
    var bytes = [UInt8](repeating: 0, count: max(0, Int(status.st_size) - known.size))
    guard !bytes.isEmpty else { return }
    let count = pread(file, &bytes, bytes.count, off_t(known.size))
    guard count >= 0 else { throw SystemError(errno) }
    let lines = bytes[..<count].split(separator: UInt8(ascii: "\n"))
    known.size += count
    known.lines += lines.count
    endsLine = count == 0 || bytes[count - 1] == UInt8(ascii: "\n")
    for line in lines.suffix(Self.limit) {
      let entry = Self.unescaped(line)
      if entry != entries.last { keep(entry) }
    }
  }

  /// Replaces the file by one with the last entries. Another prompt that waits for the lock then sees that
  /// the file was replaced.
  private func shorten(_ file: Int32, _ path: String, adding entry: String) throws(SystemError) {
    let new = "\(path).\(getpid())"
    let target = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw SystemError(errno) }
    defer { close(target) }
    let kept = entries.suffix(Self.limit - 1) + [entry]
    let bytes = Array(kept.map { Self.escaped($0) + "\n" }.joined().utf8)
    var status = stat()
    guard write(target, bytes, bytes.count) == bytes.count, fstat(target, &status) == 0,
      rename(new, path) == 0
    else {
      let failure = SystemError(errno)
      unlink(new)
      throw failure
    }
    known = (UInt(status.st_ino), bytes.count, kept.count)
  }

  private static func openLocked(_ path: String) throws(SystemError) -> Int32 {
    while true {
      let file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw SystemError(errno) }
      do throws(SystemError) {
        try lock(file, LOCK_EX)
      } catch {
        close(file)
        throw error
      }
      var (own, current) = (stat(), stat())
      if fstat(file, &own) == 0, stat(path, &current) == 0, own.st_ino == current.st_ino { return file }
      close(file)
    }
  }

  private static func lock(_ file: Int32, _ kind: Int32) throws(SystemError) {
    while flock(file, kind) != 0 {
      guard errno == EINTR else { throw SystemError(errno) }
    }
  }

  // MARK: Lines of the file

  static func escaped(_ entry: String) -> String {
    var line = ""
    for character in entry.unicodeScalars {
      switch character {
      case "\\": line += "\\\\"
      case "\n": line += "\\n"
      default: line.unicodeScalars.append(character)
      }
    }
    return line
  }

  static func unescaped(_ line: some Collection<UInt8>) -> String {
    guard line.contains(UInt8(ascii: "\\")) else { return String(decoding: line, as: UTF8.self) }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in line {
      if isEscaped {
        bytes.append(byte == UInt8(ascii: "n") ? 10 : byte)
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
