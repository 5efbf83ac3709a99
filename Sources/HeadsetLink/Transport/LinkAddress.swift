public import EventLoop
internal import Glibc

/// The address of a headset.
public enum LinkAddress: Sendable, Hashable {
  /// A unix socket.
  case unix(path: String)
  /// A port of this machine: IPv4 127.x.x.x or IPv6 ::1. A link has no cipher, so it goes over no network.
  case tcp(host: String, port: UInt16)
  /// A serial line, or a pseudo-terminal.
  case serial(path: String, baud: Int)
  /// A channel of Bluetooth's serial profile; the address has its first byte as written first.
  case rfcomm(address: [UInt8], channel: UInt8)

  /// The forms of addresses, for messages.
  public static let forms =
    "unix:PATH, tcp:127.0.0.1:PORT, serial:PATH or serial:PATH@BAUD, rfcomm:AA:BB:CC:DD:EE:FF"

  /// Reads `unix:PATH`, `tcp:HOST:PORT`, `serial:PATH[@BAUD]`, `rfcomm:ADDRESS[/CHANNEL]`.
  /// - Throws: `connectionFailed`, which names the expected forms.
  public init(parsing text: String) throws(HeadsetError) {
    guard let colon = text.firstIndex(of: ":") else { throw Self.unreadable(text) }
    let rest = String(text[text.index(after: colon)...])
    let address: LinkAddress? =
      switch text[..<colon] {
      case "unix": Self.unixSocket(rest)
      case "tcp": Self.port(rest)
      case "serial": Self.serialLine(rest)
      case "rfcomm": Self.bluetooth(rest)
      default: nil
      }
    guard let address else { throw Self.unreadable(text) }
    self = address
  }

  package static func unreadable(_ text: String) -> HeadsetError {
    let shown = text.count > 120 ? text.prefix(120) + "…" : text[...]
    return HeadsetError(
      .connectionFailed, "\"\(String(shown).onOneLine)\" is not an address of a headset",
      hint: "one of \(forms)")
  }

  private static func unixSocket(_ path: String) -> LinkAddress? {
    // sockaddr_un has 108 bytes, the last of them a zero.
    path.isEmpty || path.utf8.count > 107 || path.utf8.contains(0) ? nil : .unix(path: path)
  }

  private static func port(_ text: String) -> LinkAddress? {
    guard let colon = text.lastIndex(of: ":"), let port: UInt16 = number(text[text.index(after: colon)...]),
      port > 0
    else { return nil }
    var host = String(text[..<colon])
    if host == "localhost" { host = "127.0.0.1" }
    if host == "[::1]" || host == "::1" { return .tcp(host: "::1", port: port) }
    var address = in_addr()
    guard inet_pton(AF_INET, host, &address) == 1, UInt32(bigEndian: address.s_addr) >> 24 == 127 else {
      return nil
    }
    return .tcp(host: host, port: port)
  }

  private static func serialLine(_ text: String) -> LinkAddress? {
    guard !text.utf8.contains(0) else { return nil }
    guard let at = text.lastIndex(of: "@") else {
      return text.isEmpty ? nil : .serial(path: text, baud: 115_200)
    }
    let path = String(text[..<at])
    guard !path.isEmpty, let baud: Int = number(text[text.index(after: at)...]), SerialLine.speed(baud) != nil
    else {
      return nil
    }
    return .serial(path: path, baud: baud)
  }

  private static func bluetooth(_ text: String) -> LinkAddress? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let bytes = parts[0].split(separator: ":", omittingEmptySubsequences: false).map { part in
      part.utf8.count == 2 ? number(part, radix: 16) : nil as UInt8?
    }
    guard parts.count <= 2, bytes.count == 6, !bytes.contains(nil) else { return nil }
    guard let channel: UInt8 = parts.count == 2 ? number(parts[1]) : 1, (1...30).contains(channel) else {
      return nil
    }
    return .rfcomm(address: bytes.compactMap { $0 }, channel: channel)
  }

  /// A number of digits alone: no sign.
  private static func number<Number: FixedWidthInteger>(_ text: Substring, radix: Int = 10) -> Number? {
    text.first?.isHexDigit == true ? Number(text, radix: radix) : nil
  }
}

extension LinkAddress: CustomStringConvertible {
  /// The address as it is written.
  public var description: String {
    switch self {
    case .unix(let path): return "unix:\(path)"
    case .tcp("::1", let port): return "tcp:[::1]:\(port)"
    case .tcp(let host, let port): return "tcp:\(host):\(port)"
    case .serial(let path, 115_200): return "serial:\(path)"
    case .serial(let path, let baud): return "serial:\(path)@\(baud)"
    case .rfcomm(let address, let channel):
      let digits = address.map { byte in
        let text = String(byte, radix: 16, uppercase: true)
        return text.count == 1 ? "0" + text : text
      }
      return "rfcomm:\(digits.joined(separator: ":"))\(channel == 1 ? "" : "/\(channel)")"
    }
  }
}
