package import EventLoop
internal import Glibc

/// A channel over one descriptor: a socket, a serial line, a pseudo-terminal. Owns the descriptor.
package final class FDChannel: LinkChannel {
  /// The most bytes that wait to be written: more than any window of writes needs.
  static let longestQueue = 64 << 10

  private var receiver = LinkReceiver()
  private let fd: Int32
  private let loop: EventLoop
  private var isOpen = true
  private var queue: [UInt8] = []
  private var reading: FDWatch?
  private var writing: FDWatch?

  /// Creates a channel that owns a descriptor, and makes it non-blocking.
  /// - Throws: `connectionFailed` if the loop can't watch it; it is closed then.
  package init(owning fd: Int32, loop: EventLoop) throws(HeadsetError) {
    (self.fd, self.loop) = (fd, loop)
    let flags = fcntl(fd, F_GETFL)
    _ = fcntl(fd, F_SETFL, flags | O_NONBLOCK)
    do {
      reading = try loop.watch(fd, for: .readable) { [unowned self] _ in read() }
    } catch {
      isOpen = false
      Glibc.close(fd)
      throw HeadsetError(.connectionFailed, error.message)
    }
  }

  deinit { close() }

  package func deliver(to receiver: LinkReceiver) { self.receiver = receiver }

  package func send(_ bytes: [UInt8]) {
    guard isOpen else { return }
    guard queue.count + bytes.count <= Self.longestQueue else {
      return end(.failed("the other side does not accept the bytes that are sent"))
    }
    queue += bytes
    if writing == nil { write() }
  }

  package func close() {
    receiver = LinkReceiver()
    release()
  }

  private func release() {
    guard isOpen else { return }
    isOpen = false
    reading?.cancel()
    writing?.cancel()
    (reading, writing) = (nil, nil)
    Glibc.close(fd)
  }

  private func read() {
    guard isOpen else { return }
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, filled in
      count = Glibc.read(fd, buffer.baseAddress, buffer.count)
      filled = max(count, 0)
    }
    if count > 0 {
      receiver.bytes(bytes[...])
    } else if count == 0 || errno == EIO || errno == ECONNRESET {
      // A terminal whose other side has gone reports EIO.
      end(.closed)
    } else if errno != EAGAIN && errno != EINTR {
      end(.failed(SystemError(errno).text))
    }
  }

  private func write() {
    while isOpen, !queue.isEmpty {
      let count = queue.withUnsafeBytes { put($0) }
      if count >= 0 {
        queue.removeFirst(count)
      } else if errno == EAGAIN {
        return wait()
      } else if errno != EINTR {
        return end(errno == EPIPE || errno == ECONNRESET || errno == EIO ? .closed : .failed(reason))
      }
    }
    writing?.cancel()
    writing = nil
  }

  private var reason: String { SystemError(errno).text }

  /// Writes as many bytes as the descriptor accepts, without the signal that a closed socket would raise.
  private func put(_ bytes: UnsafeRawBufferPointer) -> Int {
    let count = Glibc.send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    return count < 0 && errno == ENOTSOCK ? Glibc.write(fd, bytes.baseAddress, bytes.count) : count
  }

  private func wait() {
    guard writing == nil else { return }
    do { writing = try loop.watch(fd, for: .writable) { [unowned self] _ in write() } } catch {
      end(.failed(error.message))
    }
  }

  /// Reports the end in a turn of its own: never in the middle of a `send`, and not after a `close`.
  private func end(_ end: LinkEnd) {
    guard isOpen else { return }
    release()
    loop.next { [self] in
      let receiver = receiver
      close()
      receiver.end(end)
    }
  }
}
