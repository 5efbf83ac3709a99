internal import Crypto
internal import EventLoop

/// The name and the password of a user. No description contains them.
package struct RTSPCredentials: Sendable, Equatable, CustomStringConvertible {
  package let user: String
  package let password: String

  package init(user: String, password: String) { (self.user, self.password) = (user, password) }

  /// A placeholder without the credentials.
  package var description: String { "<credentials>" }
}

/// A challenge of a server, which its answers with the status 401 hold. Sources: RFC 2617, RFC 7616.
package struct RTSPChallenge: Sendable, Equatable {
  /// The way in which credentials are sent.
  package enum Scheme: Sendable, Equatable {
    case basic
    case digest(Digest)
  }

  /// The parameters of a digest.
  package struct Digest: Sendable, Equatable {
    var hash = Hash.md5
    var isSession = false
    var nonce = ""
    var opaque: String?
    /// `true` if the server accepts `qop=auth`; without it the digest is that of RFC 2069.
    var hasQuality = false
    /// `true` if only the nonce of the last answer was refused.
    var isStale = false
  }

  /// The hash of a digest.
  enum Hash: String, Sendable { case md5 = "MD5", sha256 = "SHA-256" }

  package let scheme: Scheme
  package let realm: String

  /// `true` if the credentials may be right, but are wanted with a new nonce.
  package var isStale: Bool { if case .digest(let digest) = scheme { digest.isStale } else { false } }

  /// Returns the strongest challenge of these fields that is understood; nil if none is.
  package static func best(_ fields: [String]) -> RTSPChallenge? {
    fields.flatMap(split).compactMap(RTSPChallenge.init).max { $0.strength < $1.strength }
  }

  private var strength: Int {
    switch scheme {
    case .basic: 0
    case .digest(let digest): digest.hash == .md5 ? 1 : 2
    }
  }

  /// Returns the challenges of a field, which may hold several.
  private static func split(_ field: String) -> [[(name: String, value: String)]] {
    var challenges: [[(name: String, value: String)]] = []
    for part in parts(of: field) {
      // A scheme begins where a word is followed by a blank, not by an equals sign.
      let equals = part.firstIndex(of: "=")
      let blank = part.firstIndex(of: " ")
      var rest = part
      if let blank, equals.map({ blank < $0 }) ?? true {
        challenges.append([(String(part[..<blank]).lowercased(), "")])
        rest = part[part.index(after: blank)...].trimmed
      } else if equals == nil {
        challenges.append([(part.lowercased(), "")])
        continue
      }
      guard !challenges.isEmpty, let mark = rest.firstIndex(of: "=") else { continue }
      let name = rest[..<mark].trimmed.lowercased()
      challenges[challenges.count - 1].append((name, unquoted(rest[rest.index(after: mark)...].trimmed)))
    }
    return challenges
  }

  /// Returns the parts of a field between its commas, except those in quotes.
  private static func parts(of field: String) -> [Substring] {
    var (parts, start, isQuoted, isEscaped) = ([Substring](), field.startIndex, false, false)
    for index in field.indices {
      let character = field[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == ",", !isQuoted {
        parts.append(field[start..<index].trimmed)
        start = field.index(after: index)
      }
    }
    parts.append(field[start...].trimmed)
    return parts.filter { !$0.isEmpty }
  }

  private static func unquoted(_ text: Substring) -> String {
    guard text.count >= 2, text.first == "\"", text.last == "\"" else { return String(text) }
    var (result, isEscaped) = ("", false)
    for character in text.dropFirst().dropLast() {
      if character == "\\", !isEscaped {
        isEscaped = true
      } else {
        result.append(character)
        isEscaped = false
      }
    }
    return result
  }

  private init?(_ parameters: [(name: String, value: String)]) {
    func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
    realm = value("realm") ?? ""
    switch parameters.first?.name {
    case "basic": scheme = .basic
    case "digest":
      var digest = Digest()
      let name = (value("algorithm") ?? "MD5").uppercased()
      digest.isSession = name.hasSuffix("-SESS")
      guard let hash = Hash(rawValue: digest.isSession ? String(name.dropLast(5)) : name),
        let nonce = value("nonce")
      else { return nil }
      (digest.hash, digest.nonce, digest.opaque) = (hash, nonce, value("opaque"))
      digest.isStale = value("stale")?.lowercased() == "true"
      if let qualities = value("qop") {
        digest.hasQuality = qualities.split(separator: ",").contains { $0.trimmed.lowercased() == "auth" }
        // Without `auth` the server wants bodies hashed too.
        guard digest.hasQuality else { return nil }
      }
      scheme = .digest(digest)
    default: return nil
    }
  }

  /// Returns the value of the field `Authorization` for a request; nil if libcrypto lacks the hash.
  /// - Parameters:
  ///   - number: the number of requests with this nonce, from 1 on.
  ///   - clientNonce: a random text of this side.
  package func authorization(
    _ credentials: RTSPCredentials, method: String, uri: String, number: Int, clientNonce: String
  ) -> String? {
    switch scheme {
    case .basic:
      return "Basic " + Base64.text(Array("\(credentials.user):\(credentials.password)".utf8))
    case .digest(let digest):
      guard var secret = digest.hash.of("\(credentials.user):\(realm):\(credentials.password)"),
        let request = digest.hash.of("\(method):\(uri)")
      else { return nil }
      if digest.isSession {
        guard let session = digest.hash.of("\(secret):\(digest.nonce):\(clientNonce)") else { return nil }
        secret = session
      }
      let hex = String(number, radix: 16)
      let count = String(repeating: "0", count: max(0, 8 - hex.count)) + hex
      let quality = digest.hasQuality ? "\(count):\(clientNonce):auth:" : ""
      guard let response = digest.hash.of("\(secret):\(digest.nonce):\(quality)\(request)") else {
        return nil
      }
      var fields = [
        "username=\(Self.quoted(credentials.user))", "realm=\(Self.quoted(realm))",
        "nonce=\(Self.quoted(digest.nonce))", "uri=\(Self.quoted(uri))", "response=\"\(response)\"",
      ]
      if digest.hash != .md5 || digest.isSession {
        fields.append("algorithm=\(digest.hash.rawValue)\(digest.isSession ? "-sess" : "")")
      }
      if digest.hasQuality { fields += ["qop=auth", "nc=\(count)"] }
      if digest.hasQuality || digest.isSession { fields.append("cnonce=\"\(clientNonce)\"") }
      if let opaque = digest.opaque { fields.append("opaque=\(Self.quoted(opaque))") }
      return "Digest " + fields.joined(separator: ", ")
    }
  }

  /// Returns a text in quotes, without the characters that would end a line.
  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars where scalar.value >= 0x20 && scalar.value != 0x7F {
      if scalar == "\"" || scalar == "\\" { result.append("\\") }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }
}

extension RTSPChallenge.Hash {
  /// Returns the hash of a text in hexadecimal digits; nil if libcrypto lacks it.
  fileprivate func of(_ text: String) -> String? {
    let bytes: [UInt8]
    switch self {
    case .md5:
      guard let md5 = MD5() else { return nil }
      Array(text.utf8).withUnsafeBytes { md5.update($0) }
      bytes = md5.finish()
    case .sha256:
      let digest = Digest()
      digest.update(Array(text.utf8)[...])
      bytes = digest.finish()
    }
    return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// Text for bytes. Source: RFC 4648 §4.
enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// Returns the text, with padding.
  static func text(_ bytes: [UInt8]) -> String {
    var result: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for digit in 0..<4 {
        result.append(digit <= group.count ? digits[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
