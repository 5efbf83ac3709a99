internal import Codecs
internal import RTSP

/// The sound of a medium: its payload type and its coding. Sources: RFC 3551 §6 (static types); RFC 2250, RFC
/// 3640, RFC 7587 and RFC 3551 (names).
struct RTPSound: Equatable, Sendable {
  /// The coding.
  enum Coding: Equatable, Sendable {
    /// MPEG audio of any layer.
    case mpeg
    /// AAC in access units.
    case aac(AACPacketFraming, AccessUnitLayout)
    /// PCM of 16 bits, big-endian.
    case l16(channels: Int)
    case companded(Companding, channels: Int)
    case opus
  }

  let payloadType: UInt8
  /// The ticks of a second in time stamps.
  let clockRate: Int
  let coding: Coding

  /// A medium that is set up, with its sound.
  struct Choice {
    let medium: SessionDescription.Medium
    let sound: RTPSound
  }

  /// Returns the first audio medium that is understood; media of other kinds are never set up.
  /// - Returns: a failure says in words what there is instead.
  static func choose(in description: SessionDescription) -> Result<Choice, RTPObstacle> {
    var found: [String] = []
    for medium in description.media {
      guard medium.kind == "audio" else {
        found.append(medium.kind.onOneLineName)
        continue
      }
      guard medium.transport.hasPrefix("RTP/") else {
        found.append("audio by \(medium.transport.onOneLineName)")
        continue
      }
      for type in medium.formats {
        switch sound(of: type, in: medium) {
        case .success(let sound): return .success(Choice(medium: medium, sound: sound))
        case .failure(let obstacle): found.append(obstacle.words)
        }
      }
    }
    guard !found.isEmpty else { return .failure(RTPObstacle(words: "no medium")) }
    let shown = found.prefix(4).joined(separator: ", ")
    return .failure(RTPObstacle(words: found.count > 4 ? "\(shown) and more" : shown))
  }

  /// Reads a payload type of a medium.
  private static func sound(
    of type: Int, in medium: SessionDescription.Medium
  ) -> Result<RTPSound, RTPObstacle> {
    let known = [0: "PCMU/8000", 8: "PCMA/8000", 10: "L16/44100/2", 11: "L16/44100", 14: "MPA/90000"]
    guard let map = medium.maps[type] ?? known[type] else {
      return .failure(RTPObstacle(words: "payload type \(type)"))
    }
    let words = map.split(separator: "/")
    let name = words.first.map { $0.uppercased() } ?? ""
    let rate = words.count > 1 ? Int(words[1]) ?? 0 : 0
    let channels = words.count > 2 ? Int(words[2]) ?? 0 : 1
    guard (1...768_000).contains(rate), (1...8).contains(channels) else {
      return .failure(RTPObstacle(words: "audio with the clock \(map.onOneLineName)"))
    }
    func result(_ coding: Coding) -> Result<RTPSound, RTPObstacle> {
      .success(RTPSound(payloadType: UInt8(type), clockRate: rate, coding: coding))
    }
    switch name {
    case "MPA": return result(.mpeg)
    case "L16": return result(.l16(channels: channels))
    case "PCMU": return result(.companded(.mu, channels: channels))
    case "PCMA": return result(.companded(.a, channels: channels))
    case "OPUS": return result(.opus)
    case "MPEG4-GENERIC":
      return accessUnits(medium.parameters[type] ?? "").flatMap { result($0) }
    default: return .failure(RTPObstacle(words: "audio in \(name.onOneLineName)"))
    }
  }

  /// Reads the parameters of AAC in access units. Source: RFC 3640 §4.1.
  private static func accessUnits(_ text: String) -> Result<Coding, RTPObstacle> {
    var parameters: [String: String] = [:]
    for field in text.split(separator: ";") {
      guard let equals = field.firstIndex(of: "=") else { continue }
      let name = field[..<equals].filter { $0 != " " }.lowercased()
      parameters[name] = String(field[field.index(after: equals)...].filter { $0 != " " && $0 != "\"" })
    }
    let mode = parameters["mode"] ?? ""
    guard mode.lowercased().hasPrefix("aac-") else {
      return .failure(RTPObstacle(words: "MPEG-4 audio in the mode \(mode.onOneLineName)"))
    }
    func bits(_ name: String) -> Int { parameters[name].flatMap { Int($0) } ?? 0 }
    let layout = AccessUnitLayout(
      sizeBits: bits("sizelength"), indexBits: bits("indexlength"), deltaBits: bits("indexdeltalength"))
    guard layout.isUsable, bits("ctsdeltalength") == 0, bits("dtsdeltalength") == 0,
      bits("auxiliarydatasizelength") == 0, bits("randomaccessindication") == 0
    else { return .failure(RTPObstacle(words: "AAC with access units of another layout")) }
    guard let configuration = hexadecimal(parameters["config"] ?? "") else {
      return .failure(RTPObstacle(words: "AAC without a configuration"))
    }
    return AACPacketFraming.reading(configuration)
      .map { .aac($0, layout) }
      .mapError { RTPObstacle(words: $0.words) }
  }

  private static func hexadecimal(_ text: String) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count >= 4, digits.count <= 128, digits.count % 2 == 0 else {
      return nil
    }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}

/// The reason why no medium is received: the media that there are, in words.
struct RTPObstacle: Error, Equatable {
  let words: String
}

extension StringProtocol {
  /// A name of a server's in an error: its first characters, without those that would break a line.
  fileprivate var onOneLineName: String {
    String(prefix(32).filter { $0.isASCII && !$0.isNewline && $0 >= " " && $0 != "\u{7F}" })
  }
}
