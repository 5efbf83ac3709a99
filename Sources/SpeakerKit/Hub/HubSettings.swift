public import EventLoop
internal import Glibc
internal import HTTP

/// The settings of the driver `hkwhub`.
public struct HubSettings: DriverKind, Equatable {
  /// The address that the HKWHub app or the hub speaker shows in local-server mode, without a slash at its end.
  public let url: String
  /// The IPv4 address of this machine at which the hub fetches sound.
  public let serve: String
  /// The TCP port of `serve`; 0 for any free one.
  public let servePort: Int
  /// The file of the token that requests carry; nil without one.
  public var tokenFile: String?
  /// The limits of speakers, by their ids or names.
  public var limits: [String: SpeakerLimit] = [:]

  /// The largest file of a token, in bytes.
  private static let longestToken = 4096

  /// Checks the addresses of a hub and of this machine.
  /// - Parameters:
  ///   - url: `http` or `https`, a machine and a port.
  ///   - serve: an IPv4 address, also with a port after a colon; nil for the address from which the hub is
  ///     reached.
  /// - Throws: `speaker.range`, with the fact `option`: `url` or `serve`.
  public init(url: String, serve: String? = nil) throws(SpeakerError) {
    let request: HTTPRequest
    do throws(HTTPError) { request = try HTTPRequest(url) } catch {
      throw Self.wrong("url", error.message + ", as in \"http://192.0.2.7:8080\"")
    }
    guard request.credentials == nil, !request.url.contains("?") else {
      throw Self.wrong("url", "the address alone expected, as in \"http://192.0.2.7:8080\"")
    }
    self.url = String(request.url.reversed().drop { $0 == "/" }.reversed())
    guard let serve else {
      guard let own = Self.ownAddress(towards: request.host) else {
        throw Self.wrong(
          "serve", "the address of this machine that the hub can reach is missing, as in \"192.0.2.2\"")
      }
      (self.serve, servePort) = (own, 0)
      return
    }
    let parts = serve.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    var address = in_addr()
    guard let host = parts.first.map(String.init), inet_pton(AF_INET, host, &address) == 1 else {
      throw Self.wrong(
        "serve", "an IPv4 address of this machine expected, as in \"192.0.2.2\" or \"192.0.2.2:8090\"")
    }
    guard address.s_addr != 0 else {
      throw Self.wrong("serve", "0.0.0.0 stands for all networks; name the address in that of the hub")
    }
    let port = parts.count == 2 ? Int(parts[1]) : 0
    guard let port, (parts.count == 2 ? 1 : 0)...65_535 ~= port else {
      throw Self.wrong("serve", "a port of 1 to 65535 expected after the colon")
    }
    (self.serve, servePort) = (host, port)
  }

  private static func wrong(_ option: String, _ text: String) -> SpeakerError {
    SpeakerError(.range, text, facts: [.init("option", .string(option))])
  }

  /// Returns the address from which the system reaches a host that is named by its IPv4 address; nil for another one.
  private static func ownAddress(towards host: String) -> String? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(9).bigEndian
    guard inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host, &address.sin_addr) == 1 else {
      return nil
    }
    // A datagram socket sends nothing when it connects; it chooses its own address.
    let fd = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { return nil }
    defer { close(fd) }
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        connect(fd, pointer, length) == 0 ? getsockname(fd, pointer, &length) : -1
      }
    }
    guard status == 0 else { return nil }
    var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
    guard inet_ntop(AF_INET, &address.sin_addr, &text, socklen_t(text.count)) != nil else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Reads the token; nil without a file.
  /// - Throws: `speaker.lost` when it can't be read, or others than its owner can read it too.
  func token() throws(SpeakerError) -> String? {
    guard let tokenFile else { return nil }
    let bytes: [UInt8]
    do throws(WholeFile.ReadError) {
      bytes = try WholeFile.read(tokenFile, atMost: Self.longestToken, isSecret: true)
    } catch {
      throw SpeakerError(
        .lost, "can't read the token of the hub, \(tokenFile.onOneLine): \(error.reason)", hint: error.hint)
    }
    let text = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard text.count == 1, let token = text.first, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw SpeakerError(.lost, "\(tokenFile.onOneLine) is to hold the token of the hub alone: one word")
    }
    return String(token)
  }
}

extension HubSettings {
  /// The name in the configuration: `"hkwhub"`.
  public static let name = "hkwhub"
  /// The address of the hub, the file of its token, and the address of this machine.
  public static let options = [
    DriverOption("url", .name), DriverOption("token_file", .path), DriverOption("serve", .name),
    SpeakerLimit.speakers,
  ]
  /// The names of the capabilities.
  public static let capabilities: Set<String> = [
    "volume", "mute", "join", "play", "pause", "seek", "loop", "refresh", "wifi", "fade", "snapshot",
  ]
  /// The server is the hub.
  public static let server: String? = "hub"
  /// The hub keeps levels, and knows a muted speaker as one at level 0.
  public static let memory = LevelMemory.serverWithoutMute

  /// Reads the addresses.
  /// - Throws: errors of `options`.
  public init(_ options: DriverOptions) throws {
    guard let url: String = try options.value("url") else {
      throw options.problem(
        "url", "the address that the hub shows is missing, as in \"http://192.0.2.7:8080\"")
    }
    let serve: String? = try options.value("serve")
    do throws(SpeakerError) { try self.init(url: url, serve: serve) } catch {
      guard case .string(let option)? = error.facts.first(where: { $0.name == "option" })?.value else {
        throw error
      }
      throw options.problem(option, error.message)
    }
    tokenFile = try options.value("token_file")
    limits = try SpeakerLimit.byName(options)
  }

  /// Throws: a hub has no usual address.
  public static func usual() throws(SpeakerError) -> HubSettings {
    throw SpeakerError(
      .range, "the configuration names no hub",
      hint: "write its address there: house { driver = \"hkwhub\", url = \"http://192.0.2.7:8080\" }")
  }

  /// The driver, and the address of the hub.
  public var outputText: String { "hkwhub at \(url)" }

  /// Creates the driver of the hub's house.
  public func makeDriver(_ context: DriverContext) -> any Driver { HubDriver(context, self) }

  /// Checks the address of this machine, opens a session on the hub, reads its speakers and closes it.
  public func probe() throws(SpeakerError) -> ServerState {
    try MediaServer(address: serve, port: 0).stop()
    return try HubDriver.probe("hub", limits: limits) { context in
      let driver = HubDriver(context, self)
      driver.responseTime = .seconds(3)
      return driver
    } _: { _, devices in
      "answers at \(url.onOneLine): \(devices.count) speakers; it fetches sound from \(serve)"
    }
  }
}
