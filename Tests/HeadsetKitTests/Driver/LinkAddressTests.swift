import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("Addresses of headsets", .tags(.headset, .link)) struct LinkAddressTests {
  @Test("addresses are read, and written as they are read") func forms() throws {
    let path = "/" + String(repeating: "x", count: 106)
    let forms: [(String, LinkAddress)] = [
      ("unix:/run/board", .unix(path: "/run/board")),
      ("unix:\(path)", .unix(path: path)),
      ("unix:a b:c", .unix(path: "a b:c")),
      ("tcp:127.0.0.1:7000", .tcp(host: "127.0.0.1", port: 7_000)),
      ("tcp:127.9.8.7:1", .tcp(host: "127.9.8.7", port: 1)),
      ("tcp:[::1]:65535", .tcp(host: "::1", port: 65_535)),
      ("serial:/dev/ttyUSB0", .serial(path: "/dev/ttyUSB0", baud: 115_200)),
      ("serial:/dev/ttyUSB0@9600", .serial(path: "/dev/ttyUSB0", baud: 9_600)),
      ("rfcomm:00:1A:7D:DA:71:13", .rfcomm(address: [0, 0x1A, 0x7D, 0xDA, 0x71, 0x13], channel: 1)),
      ("rfcomm:00:1A:7D:DA:71:13/30", .rfcomm(address: [0, 0x1A, 0x7D, 0xDA, 0x71, 0x13], channel: 30)),
    ]
    for (text, address) in forms {
      #expect(try LinkAddress(parsing: text) == address)
      #expect("\(address)" == text)
    }
    #expect(try LinkAddress(parsing: "tcp:localhost:7") == .tcp(host: "127.0.0.1", port: 7))
  }

  @Test(
    "a text that is no address, or one of another machine, is refused with the known forms",
    arguments: [
      "", "unix", "unix:", "unix:/" + String(repeating: "x", count: 107),
      "unix:/" + String(repeating: "x", count: 100_000), "unix:a\0b", "tcp:127.0.0.1", "tcp:127.0.0.1:0",
      "tcp:127.0.0.1:65536", "tcp:127.0.0.1:+7", "tcp:10.0.0.1:7", "tcp:example.org:7", "tcp::7",
      "tcp:127.1:7",
      "tcp:[::2]:7", "serial:", "serial:@9600", "serial:/dev/ttyS0@", "serial:/dev/ttyS0@9601",
      "serial:/dev/ttyS0@+9600",
      "serial:/dev/tty\0S0", "rfcomm:00:1A:7D:DA:71", "rfcomm:00:1A:7D:DA:71:13:14",
      "rfcomm:0:1A:7D:DA:71:13",
      "rfcomm:00:1A:7D:DA:71:1G", "rfcomm:00:1A:7D:DA:71:13/0", "rfcomm:00:1A:7D:DA:71:13/31",
      "rfcomm:00:1A:7D:DA:71:+3", "rfcomm:00:1A:7D:DA:71:13/1/1", "http://127.0.0.1",
    ])
  func refused(text: String) {
    do throws(HeadsetError) {
      let address = try LinkAddress(parsing: text)
      Issue.record("\(text) was read as \(address)")
    } catch {
      #expect(error.kind == .connectionFailed)
      #expect(error.hint?.contains("unix:PATH") == true)
      #expect(error.message.utf8.count < 400, "a message is one line that can be read")
    }
  }

  /// The error of a connection attempt.
  private func failure(_ address: LinkAddress) throws -> HeadsetError? {
    let loop = EventLoop()
    var failure: HeadsetError?
    try loop.finish {
      do throws(HeadsetError) { try await address.connect(loop).close() } catch { failure = error }
    }
    return failure
  }

  @Test("where nothing is, there is no headset, and the message has a hint") func nothing() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/board"
    let missing = try #require(try failure(.unix(path: path)))
    #expect(missing.kind == .notAvailable)
    #expect(missing.message == "no headset at unix:\(path) (No such file or directory)")
    #expect(missing.hint?.contains("roomtone board --listen unix:\(path)") == true)
    #expect(try failure(.serial(path: path, baud: 9_600))?.kind == .notAvailable)

    // A socket that nobody listens at, and a file that is none.
    let listener = try Listener(path)
    listener.close()
    #expect(try failure(.unix(path: path))?.kind == .notAvailable)
    _ = try folder.write(Array("nothing".utf8), to: "file")
    #expect(try failure(.unix(path: folder.path + "/file"))?.kind == .notAvailable)
    #expect(try failure(.serial(path: folder.path + "/file", baud: 9_600))?.kind == .connectionFailed)
    let port = try FreePort()
    #expect(try failure(.tcp(host: "127.0.0.1", port: port.number))?.kind == .notAvailable)
  }

  @Test("an address that can't be parsed is not connected") func unwritten() throws {
    for address: LinkAddress in [
      .unix(path: String(repeating: "x", count: 4_000)), .tcp(host: "10.0.0.1", port: 7),
      .rfcomm(address: [1], channel: 99), .serial(path: "/dev/null", baud: 1),
    ] { #expect(try failure(address)?.kind == .connectionFailed) }
  }

  @Test("a socket and a port that listen are connected") func listening() throws {
    let folder = try TemporaryFolder()
    let listener = try Listener(folder.path + "/board")
    #expect(try failure(.unix(path: folder.path + "/board")) == nil)
    listener.close()
    let port = try FreePort()
    #expect(listen(port.socket, 1) == 0)
    #expect(try failure(.tcp(host: "127.0.0.1", port: port.number)) == nil)
  }
}

/// A unix socket that listens.
private final class Listener {
  private let socket: Int32

  init(_ path: String) throws {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.socket = socket
    let bound = SocketAddress(.unix(path: path)).withPointer { bind(socket, $0, $1) }
    guard bound == 0, listen(socket, 1) == 0 else { throw TestFailure("no socket at \(path)") }
  }

  func close() { Glibc.close(socket) }
}

/// A port of this machine that nobody else has.
private final class FreePort {
  let socket: Int32
  let number: UInt16

  init() throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.socket = socket
    var address = sockaddr_in()
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var read = length
    let bound = SocketAddress(.tcp(host: "127.0.0.1", port: 0)).withPointer { bind(socket, $0, $1) }
    let named = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &read) }
    }
    guard bound == 0, named == 0 else { throw TestFailure("no free port") }
    number = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(socket) }
}
