internal import EventLoop
internal import Glibc

/// Standard output and standard error of a process that must not wait for their readers: when a reader stops,
/// the loop of the daemon would stop too, and the service manager would end it.
///
/// Each stream that leads to a pipe, a socket or a terminal becomes a pipe, also for the output of `io.write`
/// and of programs that scripts start. One thread empties the pipe into the buffer, which is a second pipe;
/// another thread writes from there to the destination. Output that does not fit into the buffer is left out,
/// and a line says how much. Code that depends on a terminal asks `Terminal`, which knows the destination;
/// started programs see a pipe.
final class OutputRelay {
  /// The most bytes that wait for a reader; the system may allow less.
  static let capacity: Int32 = 1 << 20
  /// The time for readers at the end, in ms.
  private static let grace: Int32 = 2000

  /// The replaced streams, with copies of their descriptors.
  private var originals: [(stream: Int32, copy: Int32)] = []
  /// The pipes that end when all output has been written to a destination.
  private var ends: [Int32] = []

  /// Replaces the streams. A stream for which the system has no descriptor or thread left stays as it is.
  init() {
    let streams = [STDOUT_FILENO, STDERR_FILENO].filter(Self.mayBlock)
    // Two streams to one destination share a pipe, so that their lines stay in order.
    if streams.count == 2, Self.identity(streams[0]) == Self.identity(streams[1]) {
      replace(streams)
    } else {
      for stream in streams { replace([stream]) }
    }
    if !originals.isEmpty { Self.delayCrashes() }
    // Each line of a script is written at once.
    setvbuf(CStreams.output, nil, _IOLBF, 0)
  }

  /// Restores the streams, and waits for a limited time until the readers have received the output.
  func close() {
    fflush(CStreams.output)
    for (stream, copy) in originals {
      dup2(copy, stream)
      Terminal.relays(stream, to: -1)
      Glibc.close(copy)
    }
    for end in ends {
      // A program that outlives its script may keep the pipe open.
      var waiting = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
      poll(&waiting, 1, Self.grace)
      Glibc.close(end)
    }
    (originals, ends) = ([], [])
  }

  /// `true` if a write to a stream may wait for a reader.
  private static func mayBlock(_ stream: Int32) -> Bool {
    var status = stat()
    guard fstat(stream, &status) == 0 else { return false }
    return [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) || isatty(stream) == 1
  }

  private static func identity(_ stream: Int32) -> [UInt64] {
    var status = stat()
    fstat(stream, &status)
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }

  /// Replaces streams that have one destination.
  private func replace(_ streams: [Int32]) {
    guard let source = Pipe(), let buffer = Pipe(), let end = Pipe() else { return }
    let (destination, isOutput) = (fcntl(streams[0], F_DUPFD_CLOEXEC, 3), streams[0] == STDOUT_FILENO)
    _ = fcntl(buffer.write, Linux.setPipeSize, Self.capacity)
    _ = fcntl(buffer.write, F_SETFL, O_NONBLOCK)
    do throws(LoopError) {
      try startDetachedThread("no thread for the output") {
        Self.pass(from: buffer.read, to: destination, isOutput: isOutput)
        for descriptor in [buffer.read, destination, end.write] { Glibc.close(descriptor) }
      }
      try startDetachedThread("no thread for the output") {
        var filter = RelayFilter(source: source.read, buffer: buffer.write)
        filter.run()
        for descriptor in [source.read, buffer.write] { Glibc.close(descriptor) }
      }
    } catch {
      // The first thread ends with its pipe.
      for descriptor in [source.read, source.write, buffer.write, end.read] { Glibc.close(descriptor) }
      return
    }
    for stream in streams {
      let copy = fcntl(stream, F_DUPFD_CLOEXEC, 3)
      guard copy >= 0, dup2(source.write, stream) >= 0 else { continue }
      originals.append((stream, copy))
      Terminal.relays(stream, to: copy)
    }
    Glibc.close(source.write)
    ends.append(end.read)
  }

  /// Writes the bytes of a pipe to a destination until the pipe ends, on a thread. After a failure the rest
  /// is dropped; a failure of standard output is reported when the process ends.
  private static func pass(from pipe: Int32, to destination: Int32, isOutput: Bool) {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
      var isLost = false
      while true {
        let count = read(pipe, buffer.baseAddress, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        if !isLost, !Terminal.writeAll(UnsafeRawBufferPointer(buffer).prefix(count), destination) {
          if isOutput { Terminal.remember(errno) }
          isLost = true
        }
      }
    }
  }

  /// Delays the end of a process that crashes until its last output has been written.
  private static func delayCrashes() {
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] {
      var (action, old) = (sigaction(), sigaction())
      guard sigaction(fault, nil, &old) == 0, old.__sigaction_handler.sa_handler == nil else { continue }
      action.__sigaction_handler.sa_handler = { number in
        usleep(100_000)
        // Ends the process on return.
        raise(number)
      }
      action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
      sigaction(fault, &action, nil)
    }
  }

  private struct Pipe: Sendable {
    let read: Int32
    let write: Int32

    init?() {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0 else { return nil }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      (read, write) = (ends[0], ends[1])
    }
  }

  private enum Linux {
    /// `F_SETPIPE_SZ`
    static let setPipeSize: Int32 = 1031
  }
}

/// Moves output from its source into the buffer, and leaves out bytes that do not fit.
private struct RelayFilter {
  /// The pipe that is emptied.
  let source: Int32
  /// The pipe that receives the output that fits; writing to it never blocks.
  let buffer: Int32
  private var phase = Phase.passing
  /// `true` if the buffer's text ends with a line.
  private var isBetweenLines = true

  private enum Phase {
    case passing
    /// The number of bytes that were left out, up to the end of a line or into a line.
    case leavingOut(Int, isBetweenLines: Bool)
  }

  init(source: Int32, buffer: Int32) { (self.source, self.buffer) = (source, buffer) }

  /// Moves output until its source ends.
  mutating func run() {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { chunk in
      while true {
        guard hasOutput() else { continue }
        let count = read(source, chunk.baseAddress, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        move(UnsafeRawBufferPointer(chunk).prefix(count))
      }
      _ = resume()
    }
  }

  /// Waits for output, and for space in the buffer while output is left out.
  /// - Returns: `true` if there is output.
  private mutating func hasOutput() -> Bool {
    guard case .leavingOut(_, let isBetweenLines) = phase else { return true }
    var polls = [
      pollfd(fd: source, events: Int16(POLLIN), revents: 0),
      pollfd(fd: isBetweenLines ? buffer : -1, events: Int16(POLLOUT), revents: 0),
    ]
    poll(&polls, 2, -1)
    if polls[1].revents != 0 { _ = resume() }
    return polls[0].revents != 0
  }

  private mutating func move(_ bytes: Slice<UnsafeRawBufferPointer>) {
    var bytes = bytes
    if case .leavingOut(let count, let isBetweenLines) = phase {
      // The rest of a line whose beginning was left out is left out too.
      let end = isBetweenLines ? nil : bytes.firstIndex(of: UInt8(ascii: "\n"))
      let lost = end.map { $0 - bytes.startIndex + 1 } ?? (isBetweenLines ? 0 : bytes.count)
      bytes = bytes.dropFirst(lost)
      phase = .leavingOut(count + lost, isBetweenLines: isBetweenLines || end != nil)
      guard resume() else { return leaveOut(bytes, after: count + lost) }
    }
    let written = max(0, write(buffer, UnsafeRawBufferPointer(rebasing: bytes).baseAddress, bytes.count))
    if written > 0 { isBetweenLines = bytes[bytes.startIndex + written - 1] == UInt8(ascii: "\n") }
    if written < bytes.count { leaveOut(bytes.dropFirst(written), after: 0) }
  }

  private mutating func leaveOut(_ bytes: Slice<UnsafeRawBufferPointer>, after count: Int) {
    guard let last = bytes.last else { return }
    phase = .leavingOut(count + bytes.count, isBetweenLines: last == UInt8(ascii: "\n"))
  }

  /// Writes how much was left out, if there is space and a line has ended.
  /// - Returns: `true` if output is passed on again.
  private mutating func resume() -> Bool {
    guard case .leavingOut(let count, let isAtLine) = phase else { return true }
    guard isAtLine else { return false }
    let text =
      (isBetweenLines ? "" : "…\n") + "roomtone: \(count) bytes of output left out: nobody has read it\n"
    let bytes = Array(text.utf8)
    guard write(buffer, bytes, bytes.count) == bytes.count else { return false }
    (phase, isBetweenLines) = (.passing, true)
    return true
  }
}
