public import EventLoop
internal import Glibc

/// A reader of lines, bytes and numerals on request: from standard input for the prompt and `io.read`, or
/// from the output of a program. Waits on the loop, and reads ahead only while a request is pending. Confined
/// to the loop.
public final class InputReader {
  /// A request for input, answered with the bytes, or nil at the end of the input.
  public enum Request {
    /// Up to the next line end, which is dropped unless `keepsEnd` is `true`.
    case line(keepsEnd: Bool)
    /// At most this number of bytes; 0 asks whether there are more.
    case bytes(Int)
    /// A numeral, after white space.
    case numeral
    /// The rest of the input, empty at the end.
    case all
  }

  /// The number of line ends in the bytes that were delivered.
  public private(set) var lineEnds = 0

  /// The length above which a line is delivered in parts; only the last part may be shorter.
  public static let longest = 64 << 20
  private let loop: EventLoop
  private let fd: Int32
  private var buffer: [UInt8] = []
  /// The number of bytes at the start of the buffer that hold no line end.
  private var searched = 0
  private var atEnd = false
  private var watch: FDWatch?
  private var waiting = NumberedQueue<Reading>()

  /// A request that has not been answered.
  private struct Reading {
    let request: Request
    let answer: ([UInt8]?) -> Void
  }

  /// Reads `fd`.
  public init(loop: EventLoop, fd: Int32 = 0) {
    self.loop = loop
    self.fd = fd
  }

  /// Answers in a later turn of the loop. Several requests are answered in their order.
  /// - Returns: a function that cancels the request.
  @discardableResult
  public func read(_ request: Request, _ answer: @escaping ([UInt8]?) -> Void) -> () -> Void {
    let number = waiting.append(Reading(request: request, answer: answer))
    loop.next { [weak self] in self?.serve() }
    return { [weak self] in
      self?.waiting.remove(number)
      self?.rest()
    }
  }

  /// `true` if a line, or the end, is there without a request for it.
  public var hasLine: Bool {
    if atEnd || nextLineEnd() != nil { return true }
    var state = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    return poll(&state, 1, 0) > 0
  }

  /// Stops reading; pending requests are not answered.
  func end() {
    _ = waiting.removeAll()
    rest()
  }

  private func serve() {
    while let first = waiting.first, let answer = read(first.request) {
      waiting.first = nil
      first.answer(answer)
    }
    rest()
  }

  /// Watches the descriptor while a request needs more bytes than are there.
  private func rest() {
    guard !waiting.isEmpty, !atEnd else {
      watch?.cancel()
      watch = nil
      return
    }
    guard watch == nil else { return }
    do {
      watch = try loop.watch(fd, for: .readable) { [unowned self] _ in more() }
    } catch {
      atEnd = true
      serve()
    }
  }

  private func more() {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(fd, &chunk, chunk.count)
    if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
    if count > 0 { buffer += chunk[..<count] } else { atEnd = true }
    serve()
  }

  /// Returns the answer to a request; nil while the bytes do not suffice for it.
  private func read(_ request: Request) -> [UInt8]?? {
    // A line that never ends is delivered in parts rather than kept.
    let isComplete = atEnd || buffer.count > Self.longest
    switch request {
    case .line(let keepsEnd):
      if let end = nextLineEnd() {
        let line = takeBytes(end + 1)
        return keepsEnd ? line : Array(line.dropLast())
      }
      return isComplete ? .some(buffer.isEmpty ? nil : takeBytes(buffer.count)) : nil
    case .bytes(let count):
      if buffer.isEmpty { return atEnd ? .some(nil) : nil }
      return buffer.count >= count || isComplete ? .some(takeBytes(min(count, buffer.count))) : nil
    case .all: return isComplete ? .some(takeBytes(buffer.count)) : nil
    case .numeral:
      guard let start = buffer.firstIndex(where: { !isspace($0) }) else { return atEnd ? .some(nil) : nil }
      let end =
        buffer[start...].prefix(200).firstIndex { !Self.isNumeral($0) } ?? min(buffer.count, start + 200)
      guard end < buffer.count || isComplete else { return nil }
      _ = takeBytes(start)
      return .some(takeBytes(end - start))
    }
  }

  /// The end of the next line; each byte is looked at once.
  private func nextLineEnd() -> Int? {
    let end = lineEnd(from: searched)
    searched = end ?? buffer.count
    return end
  }

  private func lineEnd(from start: Int) -> Int? {
    buffer.withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      let end = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
      return end.map { UnsafeRawPointer($0) - base }
    }
  }

  private func takeBytes(_ count: Int) -> [UInt8] {
    var start = 0
    while let end = lineEnd(from: start), end < count {
      lineEnds += 1
      start = end + 1
    }
    let taken = Array(buffer[..<count])
    buffer.removeFirst(count)
    searched = max(0, searched - count)
    return taken
  }

  private func isspace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

  private static func isNumeral(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "p"),
      UInt8(ascii: "P"), UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
