package import Codecs

/// Identifies content without frames, by the first bytes of a stream and its content type.
package enum ContentSniffer {
  /// The number of bytes that identify a container.
  package static let magicLength = 12
  /// The number of bytes that identify a page.
  package static let pageLength = 64
  /// The number of bytes that identify text: longer than any usual frame, as encoders pad silent frames with
  /// letters.
  package static let textLength = 2048

  /// Returns the container that begins with `head`; nil when no known one does.
  package static func container(_ head: ArraySlice<UInt8>) -> Codec? {
    if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .other }  // Matroska, WebM
    let codec = Codec(head: head)
    // AIFF and similar formats are read only from files on this machine.
    return codec == .pcm ? nil : codec
  }

  /// Returns the kind of page or document that `head` begins, in words; nil when it resembles no page.
  package static func page(_ head: ArraySlice<UInt8>) -> String? {
    guard isText(head) else { return nil }
    let text = String(decoding: trimmed(head).prefix(pageLength), as: UTF8.self).lowercased()
    if ["<!doctype html", "<html", "<head", "<body", "<script"].contains(where: text.hasPrefix) {
      return "an HTML page"
    }
    if text.hasPrefix("<?xml") { return "XML" }
    if text.hasPrefix("#extm3u") { return "an M3U playlist" }
    if text.hasPrefix("[playlist]") { return "a PLS playlist" }
    return nil
  }

  /// Returns the kind of text in `head`, in words; nil when it is not text.
  package static func text(_ head: ArraySlice<UInt8>) -> String? {
    guard !head.isEmpty, isText(head) else { return nil }
    if let page = page(head) { return page }
    switch trimmed(head).first {
    case UInt8(ascii: "{"), UInt8(ascii: "["): return "JSON"
    case UInt8(ascii: "<"): return "XML"
    default: return "text"
    }
  }

  /// The name of Matroska and WebM, in words.
  static let matroska = "Matroska or WebM"

  /// Returns `true` if a description is that of a format of sound or video that has no decoder here.
  package static func isForeign(_ found: String) -> Bool {
    found == matroska || found.hasSuffix(" in Ogg") || ForeignSound.isName(found)
  }

  /// Returns a description of unknown bytes, in words.
  package static func describe(_ head: ArraySlice<UInt8>) -> String {
    if head.isEmpty { return "nothing" }
    if let name = ForeignSound.name(of: head) { return name }
    if ForeignSound.isTransportStream(head) { return ForeignSound.transportStream }
    let digits = head.prefix(4).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return "bytes without frames (\(digits.joined(separator: " ")))"
  }

  /// Returns the text without leading white space and byte order mark.
  private static func trimmed(_ head: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let text = head.starts(with: [0xEF, 0xBB, 0xBF]) ? head.dropFirst(3) : head
    return text.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
  }

  /// Returns `true` if there are no control characters other than white space, and no bytes that UTF-8 never
  /// has: the first byte of every frame is one of those.
  private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.allSatisfy { ($0 >= 0x20 && $0 != 0x7F && $0 < 0xF5) || (0x09...0x0D).contains($0) }
  }
}
