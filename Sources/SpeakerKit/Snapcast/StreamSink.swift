internal import AudioCore
internal import EventLoop
internal import Glibc

/// The source of a snapserver's stream: a connection over TCP, or a named pipe, which receives 16-bit PCM. For one
/// thread, as `PCMSink`.
///
/// A connection lasts for one run of sound. The server reads a block per 20 ms from the first one on, and counts its time
/// from there: it begins with 100 ms, so that a late block is none. At the end it is filled up to whole blocks of the
/// server's encoder, which keeps others to itself.
final class StreamSink: CardSink {
  let format: AudioFormat
  private let source: SnapcastStream.Source
  private let name: String

  private enum Phase {
    /// Not connected.
    case resting
    /// Connected before the first sound.
    case ready(OwnedDescriptor)
    /// Sends what is written.
    case flowing(OwnedDescriptor)
  }
  private var phase = Phase.resting
  /// Bytes that were not sent.
  private var pending: [UInt8] = []
  /// Frames of this run, sent or pending.
  private var frames = 0

  /// Frames before a run is sent.
  private static let firstFrames = 4800
  /// Frames of both a whole number of the server's blocks (960) and of its FLAC encoder's (1152).
  private static let wholeFrames = 5760
  /// Timeout in milliseconds of a server that reads nothing.
  private static let writeTime: Int32 = 2000

  /// Creates the sink of a stream; connects with the first sound.
  init(_ source: SnapcastStream.Source, name: String, format: AudioFormat) {
    (self.source, self.name, self.format) = (source, name, format)
  }

  /// 0: the delay of a server is that of its buffer.
  var delay: Int { 0 }
  /// Longer than a block is ever late: a run that is interrupted loses its step.
  var restDelay: Duration { .milliseconds(200) }

  /// Connects ahead of the first sound: for a stream that was lost.
  /// - Throws: `speaker.lost`.
  func connect() throws {
    guard case .resting = phase else { return }
    phase = .ready(try open())
  }

  func write(_ samples: UnsafeBufferPointer<Float>) throws {
    append(samples)
    // Sound waits for the first 100 ms.
    if case .flowing = phase { return try send() }
    if frames >= Self.firstFrames { try send() }
  }

  /// Ends the run: the server plays what it has received.
  func rest() throws {
    defer { drop() }
    guard frames > 0 else { return }
    let missing = (Self.wholeFrames - frames % Self.wholeFrames) % Self.wholeFrames
    pending += [UInt8](repeating: 0, count: missing * 2 * format.channels)
    try send()
  }

  func finish() throws { try rest() }

  private func drop() {
    phase = .resting
    pending.removeAll(keepingCapacity: true)
    frames = 0
  }

  private func append(_ samples: UnsafeBufferPointer<Float>) {
    frames += samples.count / format.channels
    for sample in samples {
      let value = UInt16(bitPattern: SampleConversion.int16(sample))
      pending.append(UInt8(truncatingIfNeeded: value))
      pending.append(UInt8(truncatingIfNeeded: value >> 8))
    }
  }

  private func send() throws {
    try connect()
    let socket: OwnedDescriptor
    switch phase {
    case .resting: return
    case .ready(let opened), .flowing(let opened): socket = opened
    }
    phase = .flowing(socket)
    var done = 0
    while done < pending.count {
      let count = pending.withUnsafeBytes { bytes in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        if case .pipe = source { return Glibc.write(socket.number, rest.baseAddress, rest.count) }
        return Glibc.send(socket.number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        done += count
        continue
      }
      if count < 0, errno == EINTR { continue }
      guard count < 0, errno == EAGAIN else { throw failure(SystemError(errno).text) }
      var request = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
      guard poll(&request, 1, Self.writeTime) != 0 else { throw failure("it reads nothing") }
    }
    pending.removeAll(keepingCapacity: true)
  }

  private func open() throws -> OwnedDescriptor {
    switch source {
    case .tcp(let host, let port):
      do throws(SpeakerError) {
        let socket = try TCPSocket.connect(host: host, port: port, seconds: 2)
        // A small buffer, so that a server that stops reading is noticed.
        var size: Int32 = 16_384
        setsockopt(socket.number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        return socket
      } catch { throw failure(error.message) }
    case .pipe(let path):
      let fd = Glibc.open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      guard fd >= 0 else { throw failure("\(path.onOneLine): \(SystemError(errno).text)") }
      let pipe = OwnedDescriptor(fd)
      var status = stat()
      guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
        throw failure("\(path.onOneLine) is no pipe")
      }
      return pipe
    case .other(let scheme): throw failure("a source of kind \(quoted(scheme)) can't be fed")
    }
  }

  private func failure(_ reason: String) -> SpeakerError {
    SpeakerError(.lost, "the stream \(quoted(name)) is lost: \(reason)")
  }
}
