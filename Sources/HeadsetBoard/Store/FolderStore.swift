internal import EventLoop
internal import Glibc

/// A store in a folder on disk: `settings`, `boot`, `journal`, `slot-a.img`, `slot-b.img`. Used by one board
/// at a time.
final class FolderStore: BoardStore {
  private let path: String
  private let folder: Int32
  private var slots: [BoardSlot: Int32] = [:]

  /// Opens the folder, and creates it if it does not exist.
  /// - Throws: `state`: the folder can't be created, opened or locked.
  init(_ path: String) throws(BoardError) {
    self.path = path
    mkdir(path, 0o700)
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else {
      throw BoardError(.state, "the state folder \(path.onOneLine) can't be opened (\(Self.reason))")
    }
    guard flock(folder, LOCK_EX | LOCK_NB) == 0 else {
      throw BoardError(
        .state, "the state folder \(path.onOneLine) belongs to another board that runs",
        hint: "end that one, or give this one a folder of its own")
    }
    for (slot, name) in [(BoardSlot.a, "slot-a.img"), (.b, "slot-b.img")] {
      let fd = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard fd >= 0 else {
        throw BoardError(.state, "\(path.onOneLine)/\(name) can't be opened (\(Self.reason))")
      }
      slots[slot] = fd
    }
  }

  deinit {
    for fd in slots.values { close(fd) }
    guard folder >= 0 else { return }
    // A process that is being started may still have the descriptor, and with it the lock.
    flock(folder, LOCK_UN)
    close(folder)
  }

  func read(_ file: BoardFile) throws(BoardStoreError) -> [UInt8]? {
    let fd = openat(folder, file.rawValue, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard fd >= 0 else {
      if errno == ENOENT { return nil }
      throw failed("read", file.rawValue)
    }
    defer { close(fd) }
    // One byte more than the longest record, so that a file that is too long is recognized.
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: longestRecord + 1) { buffer, filled in
      count = Glibc.read(fd, buffer.baseAddress, buffer.count)
      filled = max(count, 0)
    }
    guard count >= 0 else { throw failed("read", file.rawValue) }
    return bytes
  }

  func stage(_ file: BoardFile, _ bytes: [UInt8]) throws(BoardStoreError) {
    let name = file.rawValue + ".new"
    let fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard fd >= 0 else { throw failed("write", name) }
    defer { close(fd) }
    try put(bytes[...], fd, at: 0, name)
    guard fsync(fd) == 0 else { throw failed("write", name) }
  }

  func publish(_ file: BoardFile) throws(BoardStoreError) {
    guard renameat(folder, file.rawValue + ".new", folder, file.rawValue) == 0, fsync(folder) == 0 else {
      throw failed("write", file.rawValue)
    }
  }

  func read(_ slot: BoardSlot, _ range: Range<Int>) throws(BoardStoreError) -> [UInt8] {
    let fd = slots[slot, default: -1]
    var (bytes, failure) = ([UInt8](repeating: erasedByte, count: range.count), false)
    bytes.withUnsafeMutableBytes { buffer in
      var done = 0
      while done < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let count = pread(fd, rest.baseAddress, rest.count, off_t(range.lowerBound + done))
        if count < 0 && errno == EINTR { continue }
        failure = count < 0
        if count <= 0 { break }
        done += count
      }
    }
    if failure { throw failed("read", "slot-\(slot)") }
    return bytes
  }

  func write(_ slot: BoardSlot, at offset: Int, _ bytes: ArraySlice<UInt8>) throws(BoardStoreError) {
    try put(bytes, slots[slot, default: -1], at: offset, "slot-\(slot)")
  }

  func flush(_ slot: BoardSlot) throws(BoardStoreError) {
    guard fdatasync(slots[slot, default: -1]) == 0 else { throw failed("write", "slot-\(slot)") }
  }

  /// Keeps all written bytes, as a disk does.
  func losePower() {}

  private func put(_ bytes: ArraySlice<UInt8>, _ fd: Int32, at offset: Int, _ name: String)
    throws(BoardStoreError)
  {
    let isWhole = bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
        let count = pwrite(fd, rest.baseAddress, rest.count, off_t(offset + done))
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return false }
        done += count
      }
      return true
    }
    guard isWhole else { throw failed("write", name) }
  }

  private func failed(_ what: String, _ name: String) -> BoardStoreError {
    .failed("can't \(what) \(path.onOneLine)/\(name) (\(Self.reason))")
  }

  private static var reason: String { SystemError(errno).text }
}
