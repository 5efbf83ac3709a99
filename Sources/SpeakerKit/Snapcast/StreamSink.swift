internal import AudioCore
internal import EventLoop
internal import Glibc

/// The source of a snapserver's stream: a connection over TCP, or a named pipe, which receives 16-bit PCM. For one
/// thread, as `PCMSink`.
///
/// A connection lasts for one run of sound. The server reads a block per 20 ms from the first one on, and
/// counts its time from there: a run starts with 100 ms of lead, which absorbs a late block. At the end it is
/// filled up to whole blocks of the server's encoder, which does not send a part of one.
///
/// A server that was late by more than a block plays everything after it later by the same amount, and its
/// socket keeps the unread bytes: the sound would lag its position. For a server on this machine the lag is
/// measured, and that many frames are dropped. If its socket fills up nevertheless, the run ends, and a new
/// one begins in step once the server has read the rest.
final class StreamSink: CardSink {
  let format: AudioFormat
  /// The source of this connection, or of the last one.
  private var source: SnapcastStream.Source
  /// Returns the source of the next connection.
  private let newest: () -> SnapcastStream.Source
  private let name: String

  private enum Phase {
    /// Not connected.
    case resting
    /// Connected before the first sound.
    case ready(OwnedDescriptor)
    /// Sends the frames that are written.
    case flowing(OwnedDescriptor)
    /// Drops the frames that are written until a server that lags has read the run.
    case draining(OwnedDescriptor, PeerBacklog?)
  }
  private var phase = Phase.resting
  /// Bytes that were not sent.
  private var pending: [UInt8] = []
  /// The number of frames of this run, sent or pending.
  private var frames = 0
  /// The numbers of frames that the server has not read, measured after each block of a second; `usual` is
  /// that of the first second.
  private var backlog: (peer: PeerBacklog, usual: Int?, frames: [Int])?
  /// The number of frames that are left out of the next blocks.
  private var surplus = 0

  /// The number of frames before a run is sent.
  private static let firstFrames = 4800
  /// The number of frames of whole blocks both of the server (960) and of its FLAC encoder (1152).
  private static let wholeFrames = 5760
  /// The number of blocks between two checks of the median backlog: either side may be late for a moment
  /// without a lasting delay.
  private static let blocksPerLook = 50
  /// The number of frames from which on a full socket means that the server lags.
  private static let settledFrames = 9600
  /// The maximum number of frames that are dropped for a server that lags: more than its socket holds.
  private static let mostDropped = 2 * 48_000
  /// The timeout in milliseconds of a server that reads nothing.
  private static let writeTime: Int32 = 2000

  /// Creates the sink of a stream; connects with the first sound.
  /// - Parameter source: returns the source of the stream, which may be another one when its server has moved; called
  ///   before each connection.
  init(name: String, format: AudioFormat, source: @escaping () -> SnapcastStream.Source) {
    (self.source, newest, self.name, self.format) = (source(), source, name, format)
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
    if case .draining(let socket, let peer) = phase {
      frames += samples.count / format.channels
      // The end of the stream counts as a byte. A snapserver reads it, and leaves its end open.
      let isRead = peer.map { ($0.bytesNow() ?? 0) <= 1 } ?? false
      guard isRead || Self.isClosed(socket) || frames >= Self.mostDropped else { return }
      drop()
    }
    let count = samples.count / format.channels
    if count <= surplus { return surplus -= count }
    append(samples)
    // Sound waits for the first 100 ms.
    if case .flowing = phase {
      try send()
      return measure()
    }
    if frames >= Self.firstFrames { try send() }
  }

  /// Ends the run: the server plays the frames that it has received.
  func rest() throws {
    if case .draining = phase { return }
    defer { drop() }
    guard frames > 0 else { return }
    let missing = (Self.wholeFrames - frames % Self.wholeFrames) % Self.wholeFrames
    pending += [UInt8](repeating: 0, count: missing * 2 * format.channels)
    try send()
  }

  func finish() throws { try rest() }

  private func drop() {
    phase = .resting
    (backlog, surplus) = (nil, 0)
    pending.removeAll(keepingCapacity: true)
    frames = 0
  }

  /// Finds the number of frames by which the server lags.
  private func measure() {
    guard var found = backlog, let bytes = found.peer.bytesNow() else { return backlog = nil }
    found.frames.append(bytes / (2 * format.channels))
    if found.frames.count == Self.blocksPerLook {
      let median = found.frames.sorted()[Self.blocksPerLook / 2]
      // A block is written at the moment at which another one is read, and may come before or after it.
      let first = Self.firstFrames
      let usual = found.usual ?? min(max(median, first), first + format.framesPerBlock)
      found.usual = usual
      let late = median - usual
      surplus = late > 0 ? late / format.framesPerBlock * format.framesPerBlock : 0
      found.frames.removeAll(keepingCapacity: true)
    }
    backlog = found
  }

  /// Returns `true` if the server has closed a connection.
  private static func isClosed(_ socket: OwnedDescriptor) -> Bool {
    var byte: UInt8 = 0
    let count = recv(socket.number, &byte, 1, Int32(MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
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
    case .resting, .draining: return
    case .ready(let opened):
      socket = opened
      if case .tcp = source, let peer = PeerBacklog(of: opened) { backlog = (peer, nil, []) }
    case .flowing(let opened): socket = opened
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
      if case .tcp = source, frames > Self.settledFrames {
        shutdown(socket.number, Int32(SHUT_WR))
        let peer = backlog?.peer
        drop()
        return phase = .draining(socket, peer)
      }
      var request = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
      guard poll(&request, 1, Self.writeTime) != 0 else { throw failure("it reads nothing") }
    }
    pending.removeAll(keepingCapacity: true)
  }

  private func open() throws -> OwnedDescriptor {
    source = newest()
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
        throw failure("\(path.onOneLine) is not a pipe")
      }
      return pipe
    case .other(let scheme): throw failure("a source of kind \(quoted(scheme)) can't be fed")
    }
  }

  private func failure(_ reason: String) -> SpeakerError {
    SpeakerError(.lost, "the stream \(quoted(name)) is lost: \(reason)")
  }
}
