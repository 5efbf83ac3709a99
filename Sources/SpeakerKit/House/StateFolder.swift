internal import EventLoop
internal import Glibc

/// The folder in which a house keeps its state, and the lock that lets one process at a time drive it.
///
/// The lock is one of the open file description of `house.lock`, which holds the process's id and name; it
/// ends with the process, however that ends. Unlike flock(2) it can be queried without being taken, so that a
/// process that only inspects the house never blocks one that wants the lock. Confined to the loop.
final class StateFolder {
  let path: String
  private var lockDescriptor: Int32 = -1
  /// The name published to other processes while this one has the lock.
  private var name = ""

  init(path: String) { self.path = path }

  deinit { unlock() }

  private var statePath: String { path + "/house.state" }
  private var lockPath: String { path + "/house.lock" }

  /// The interval between attempts of a waiting process to get the lock.
  private static let lockInterval = Duration.milliseconds(100)

  /// Acquires the lock, waiting for it.
  /// - Parameters:
  ///   - service: the name of a process that keeps the lock for ever and is not waited for; nil for none.
  ///   - isClosed: `true` if the driver was closed meanwhile.
  ///   - log: receives a line when another process has it.
  /// - Throws: `speaker.busy`, `speaker.lost`, `speaker.closed`, `CancellationError`.
  func lock(
    on loop: EventLoop, wait: Duration, as name: String, service: String?, log: (String) -> Void,
    isClosed: () -> Bool
  ) async throws {
    var left = wait
    var hasTold = false
    while let owner = try lock(as: name) {
      if let service, owner.name == service {
        throw SpeakerError(
          .busy, "\(owner) has the house", hint: "roomtone run --attach hands it a script; or end it",
          facts: [.init("process", .string(owner.description)), .init("path", .string(path))])
      }
      guard left > .zero else {
        throw SpeakerError(
          .busy, "\(owner) has the house", hint: "end it, or wait longer",
          facts: [.init("process", .string(owner.description)), .init("path", .string(path))])
      }
      if !hasTold { log("\(owner) has the house: waiting for it") }
      hasTold = true
      let step = min(left, Self.lockInterval)
      try await loop.sleep(for: step)
      guard !isClosed() else { throw House.closedError }
      left -= step
    }
  }

  /// Acquires the lock.
  /// - Returns: nil when it is acquired, else its owner.
  /// - Throws: `speaker.lost` when the folder can't be created or written.
  func lock(as name: String) throws(SpeakerError) -> HouseOwner? {
    guard lockDescriptor < 0 else { return nil }
    do throws(SystemError) { try LinuxFiles.makeFolders(path, mode: 0o700) } catch {
      throw failure("make", error)
    }
    let file = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard file >= 0 else { throw failure("open the lock in") }
    var wanted = Self.wholeFile
    guard fcntl(file, Self.takeLock, &wanted) == 0 else {
      defer { close(file) }
      guard errno == EAGAIN || errno == EACCES else { throw failure("lock") }
      return Self.owner(from: file)
    }
    self.name = name
    guard write(to: file, output: nil, playing: []) else {
      close(file)
      throw failure("write the lock in")
    }
    lockDescriptor = file
    return nil
  }

  /// Publishes the output and the playing sources to processes that inspect the house. Does nothing without
  /// the lock.
  func announce(output: String, playing: [String]) {
    // The result is unused: a full disk is reported when the state is written.
    if lockDescriptor >= 0 { _ = write(to: lockDescriptor, output: output, playing: playing) }
  }

  /// Writes a line for the process, then one for its output and one for each session that plays; an empty
  /// line ends them.
  /// - Returns: `false` when the file can't be written.
  private func write(to file: Int32, output: String?, playing: [String]) -> Bool {
    var lines = ["\(getpid()) \(Self.cleaned(name, letters: 60))"]
    if let output {
      lines.append("output \(Self.cleaned(output, letters: 200))")
      lines += playing.prefix(Self.mostSessions).map { "plays \(Self.cleaned($0, letters: 200))" }
    }
    let text = Array((lines.joined(separator: "\n") + "\n\n").utf8)
    return pwrite(file, text, text.count, 0) == text.count && ftruncate(file, off_t(text.count)) == 0
  }

  private static let mostSessions = 32

  /// Releases the lock. Does nothing without it.
  func unlock() {
    if lockDescriptor >= 0 {
      // Closing alone would leave the lock with a program that is being started at this moment, which
      // inherits the file.
      var free = Self.wholeFile
      free.l_type = Int16(F_UNLCK)
      _ = fcntl(lockDescriptor, Self.takeLock, &free)
      close(lockDescriptor)
    }
    lockDescriptor = -1
  }

  /// Returns the owner of the lock, nil for none. Changes nothing: a process that requests the lock meanwhile
  /// gets it.
  /// - Throws: `speaker.lost` when the lock can't be inspected.
  func owner() throws(SpeakerError) -> HouseOwner? {
    let file = open(lockPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("open the lock in")
    }
    defer { close(file) }
    var wanted = Self.wholeFile
    guard fcntl(file, Self.askForLock, &wanted) == 0 else { throw failure("ask for the lock in") }
    return wanted.l_type == Int16(F_UNLCK) ? nil : Self.owner(from: file)
  }

  /// Reads the kept state; nil when it is missing or damaged.
  /// - Parameters:
  ///   - setsAside: `true` if a damaged file is renamed to `house.state.damaged`; else nothing is changed.
  ///   - log: receives one line about damage.
  func read(setsAside: Bool = true, _ log: (String) -> Void) -> HouseState? {
    var bytes: [UInt8] = []
    do throws(WholeFile.ReadError) {
      bytes = try WholeFile.read(statePath, atMost: HouseState.sizeLimit, followsLink: false)
    } catch {
      if error.errno == ENOENT { return nil }
      guard error.errno == 0 else {
        log("the state in \(path) can't be read: \(error.reason)")
        return nil
      }
      // Too large, or not a regular file: damaged, as an empty text is.
    }
    let (state, badLine) = HouseState.parse(bytes)
    if let state { return state }
    log("line \(badLine) of \(statePath) is damaged: the house begins as it is configured")
    if setsAside { _ = rename(statePath, statePath + ".damaged") }
    return nil
  }

  /// Writes a state: readers find the old one or the new one, whole, also after a crash.
  /// - Throws: `speaker.lost`.
  func write(_ state: HouseState) throws(SpeakerError) {
    let new = statePath + ".new"
    _ = unlink(new)
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure("write") }
    let bytes = Array(state.text.utf8)
    var done = 0
    while done < bytes.count {
      let more = bytes.withUnsafeBytes {
        Glibc.write(file, $0.baseAddress?.advanced(by: done), bytes.count - done)
      }
      if more <= 0 { break }
      done += more
    }
    let isWhole = done == bytes.count && fsync(file) == 0
    let isClosed = close(file) == 0
    guard isWhole, isClosed, rename(new, statePath) == 0 else { throw failure("write") }
  }

  /// `F_OFD_GETLK` and `F_OFD_SETLK`, which Swift's Glibc module omits from <fcntl.h>.
  private static let (askForLock, takeLock): (Int32, Int32) = (36, 37)

  /// An exclusive lock on the whole file.
  private static var wholeFile: flock {
    flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
  }

  /// Parses the lock owner's lines; the file is untrusted input.
  private static func owner(from file: Int32) -> HouseOwner {
    var bytes = [UInt8](repeating: 0, count: 32_768)
    let count = pread(file, &bytes, bytes.count, 0)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
    let parts = cleaned(lines.first ?? "", letters: 60).split(separator: " ", maxSplits: 1).map(String.init)
    guard let id = parts.first.flatMap({ Int32($0) }), id > 0 else { return HouseOwner() }
    func values(_ key: String) -> [String] {
      lines.dropFirst().filter { $0.hasPrefix(key) }.map { cleaned($0.dropFirst(key.count), letters: 200) }
    }
    let output = values("output ").first
    return HouseOwner(
      processID: id, name: parts.count > 1 ? parts[1] : nil, output: output,
      playing: output == nil ? nil : Array(values("plays ").prefix(mostSessions)))
  }

  /// Returns the text, `cleaned`, cut at that number of letters.
  private static func cleaned(_ text: some StringProtocol, letters: Int) -> String {
    String(String(text).cleaned.prefix(letters))
  }

  private func failure(_ what: String, _ error: SystemError = SystemError(errno)) -> SpeakerError {
    SpeakerError(
      .lost, "can't \(what) the state folder \(path): \(error.text)",
      hint: "name a folder that can be written", facts: [.init("path", .string(path))])
  }
}
