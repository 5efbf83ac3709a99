public import EventLoop
internal import Glibc

/// The part of a recording, its file while it is recorded: `NAME.part`, locked with flock(2), renamed to
/// `NAME` when it is whole.
///
/// The lock ends with the process, however that ends: an unlocked part is one to recover. Confined to one
/// thread.
public final class PartFile {
  /// The suffix of a recording's name while it is recorded.
  public static let suffix = ".part"

  /// The path of the part.
  public let path: String
  /// The number of bytes written, complete.
  public private(set) var length: Int

  private var descriptor: Int32

  private init(path: String, descriptor: Int32, length: Int) {
    (self.path, self.descriptor, self.length) = (path, descriptor, length)
  }

  deinit { release() }

  // MARK: Creating and finding

  /// Creates the part of the recording that will be called `path`, with its folders, and locks it.
  /// - Throws: `record.exists` if that part exists; `record.write` and `record.disk_full` if it can't be
  ///   created.
  public static func create(path: String) throws(RecordError) -> PartFile {
    try makeFolder(of: path)
    let part = path + suffix
    while true {
      let file = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard file >= 0 else {
        let number = errno
        guard number == EEXIST else { throw RecordError("make", part, errno: number) }
        throw occupied(part)
      }
      // A search for abandoned parts may have locked or removed it first.
      guard lock(file, LOCK_EX) == 0 else {
        let number = errno
        unlink(part)
        Glibc.close(file)
        throw RecordError("lock", part, errno: number)
      }
      if isNamed(file) { return PartFile(path: part, descriptor: file, length: 0) }
      Glibc.close(file)
    }
  }

  private static func occupied(_ part: String) -> RecordError {
    let isHeld = isHeld(part)
    return RecordError(
      .exists, "\(part.onOneLine) is \(isHeld ? "being recorded" : "there, and is not a recording")",
      hint: isHeld ? "wait for its end, or choose another name" : "move it away, or choose another name",
      facts: [.init("path", .string(part))])
  }

  /// Locks an abandoned part.
  /// - Returns: nil if another owner holds it, or it does not exist.
  /// - Throws: `record.write` if it can't be opened.
  public static func adopt(_ part: String) throws(RecordError) -> PartFile? {
    let file = open(part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      let number = errno
      if number == ENOENT || number == ENOTDIR { return nil }
      throw RecordError("open", part, errno: number)
    }
    var status = stat()
    guard lock(file, LOCK_EX | LOCK_NB) == 0, fstat(file, &status) == 0, isNamed(file) else {
      Glibc.close(file)
      return nil
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      Glibc.close(file)
      throw RecordError(.write, "\(part.onOneLine) is not a file", facts: [.init("path", .string(part))])
    }
    return PartFile(path: part, descriptor: file, length: Int(status.st_size))
  }

  /// Returns `true` if a part is locked, here or in another process; `false` if it does not exist.
  public static func isHeld(_ part: String) -> Bool {
    let file = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return false }
    defer { Glibc.close(file) }
    return lock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  /// Returns `true` if the name of a recording is in use: by a file, or by a part.
  public static func isOccupied(_ path: String) -> Bool { isThere(path) || isThere(path + suffix) }

  // MARK: Bytes

  /// Appends all bytes, or none if it throws, so that the file always ends where a write did.
  /// - Throws: `record.disk_full`, `record.write`; the latter also if the file was removed meanwhile.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(RecordError) {
    try requireName()
    var done = 0
    while done < bytes.count {
      let start = bytes.baseAddress.map { $0 + done }
      let count = pwrite(descriptor, start, bytes.count - done, off_t(length + done))
      if count > 0 {
        done += count
      } else if count == 0 || errno != EINTR {
        let number = count == 0 ? EIO : errno
        ftruncate(descriptor, off_t(length))
        throw RecordError("write", path, errno: number)
      }
    }
    length += bytes.count
  }

  /// Appends all bytes, or none if it throws.
  public func write(_ bytes: [UInt8]) throws(RecordError) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in try write(bytes) }
    }
    try result.get()
  }

  /// Checks that the file was not removed: a file without a name accepts bytes for ever.
  /// - Throws: `record.write` if the file was removed.
  public func requireName() throws(RecordError) {
    guard Self.isNamed(descriptor) else { throw RecordError("write", path, errno: ENOENT) }
  }

  /// Returns up to `count` bytes from `offset` on; fewer at the end of the file.
  /// - Throws: `record.write` if they can't be read.
  public func read(at offset: Int, count: Int) throws(RecordError) -> [UInt8] {
    try FileBytes.read(descriptor, path, at: offset, count: count)
  }

  /// Removes all bytes after the first `length`.
  public func truncate(to length: Int) throws(RecordError) {
    guard ftruncate(descriptor, off_t(length)) == 0 else { throw RecordError("cut", path, errno: errno) }
    self.length = length
  }

  /// Returns when all bytes are on the disk.
  public func sync() throws(RecordError) {
    guard fdatasync(descriptor) == 0 else { throw RecordError("write", path, errno: errno) }
  }

  /// Returns when everything that any process has written to this file's disk is on the disk.
  public func syncFileSystem() throws(RecordError) {
    let number = LinuxFiles.syncFileSystem(of: descriptor)
    guard number == 0 else { throw RecordError("write", path, errno: number) }
  }

  /// Drops the system's cache of the bytes already on disk: they are not read soon, and a recording of weeks
  /// need not evict files that others read.
  public func releaseMemory() { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }

  /// The device number of the file's file system; 0 if unknown.
  public var fileSystem: UInt64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_dev) : 0
  }

  // MARK: The end

  /// Renames the part to `name`, or to the next free name, as in `Show (2).mp3`; file and name are on the
  /// disk then. The file stays locked until `release`: a search for abandoned recordings leaves it alone
  /// while its row still has the part.
  /// - Parameter syncs: `false` for a file that need not survive a power cut.
  /// - Returns: the final path.
  /// - Throws: `record.write`, `record.disk_full`; the file then stays a part, and locked.
  public func finish(as name: String, syncs: Bool = true) throws(RecordError) -> String {
    if syncs { try sync() }
    var number = 1
    while true {
      let candidate = number == 1 ? name : RecordingName.numbered(name, number)
      let result = Self.rename(path, to: candidate)
      if result == 0 {
        if syncs { Self.syncFolder(of: candidate) }
        return candidate
      }
      guard result == EEXIST, number < RecordingName.highest else {
        throw RecordError("name \(path.onOneLine)", candidate, errno: result)
      }
      number += 1
    }
  }

  /// Unlocks and closes the part; it is kept unchanged, to be recovered, or removed. Does nothing after
  /// `release`.
  public func abandon(keep: Bool) {
    if !keep, descriptor >= 0, Self.isNamed(descriptor) { unlink(path) }
    release()
  }

  /// Unlocks and closes the file. Further calls do nothing.
  public func release() {
    guard descriptor >= 0 else { return }
    // A program that is being started at this moment may share the descriptor, and with it the lock.
    _ = Self.lock(descriptor, LOCK_UN)
    Glibc.close(descriptor)
    descriptor = -1
  }

  // MARK: Calls

  private static func lock(_ file: Int32, _ operation: Int32) -> Int32 {
    while flock(file, operation) != 0 { if errno != EINTR { return -1 } }
    return 0
  }

  /// Returns `true` if the open file has a name in some folder.
  private static func isNamed(_ file: Int32) -> Bool {
    var status = stat()
    return fstat(file, &status) == 0 && status.st_nlink > 0
  }

  private static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Renames a file, and never replaces another. Returns 0, or an errno.
  private static func rename(_ path: String, to name: String) -> Int32 {
    let result = LinuxFiles.rename(path, toNew: name)
    guard result == EINVAL || result == ENOSYS else { return result }
    // The file system lacks this call (some in user space, and old NFS).
    if isThere(name) { return EEXIST }
    return Glibc.rename(path, name) == 0 ? 0 : errno
  }

  private static func makeFolder(of path: String) throws(RecordError) {
    let folder = LinuxFiles.folder(of: path)
    guard !isThere(folder) else { return }
    try makeFolder(of: folder)
    guard mkdir(folder, 0o777) != 0 else { return syncFolder(of: folder) }
    let number = errno
    guard number == EEXIST else { throw RecordError("make the folder", folder, errno: number) }
  }

  /// Syncs the folder of `path`, if the file system supports it: the names in it are on the disk then.
  private static func syncFolder(of path: String) {
    let file = open(LinuxFiles.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { return }
    fsync(file)
    Glibc.close(file)
  }
}
