internal import EventLoop
internal import StreamCore

/// The received keys and initialization sections of segments.
struct HLSSections {
  /// A resource that a segment needs.
  struct Section: Hashable {
    let address: StreamAddress
    let range: Range<Int>?
    let isKey: Bool
    /// The encryption of the section itself.
    let encryption: HLSEncryption?

    /// The limit of the resource in bytes.
    var limit: Int { isKey ? HLSCipher.keyLength : 1 << 20 }

    private var name: String { isKey ? "the key" : "the initialization section" }

    /// The error of a section that is longer than `limit`.
    var tooLong: StreamError {
      StreamError(
        .content, "\(address) has more than \(limit) bytes, too many for \(name) of a segment",
        hint: "report it to the station", facts: [.init("url", .string(address.description))])
    }

    /// The error of a section that can't be fetched.
    func missing(_ error: StreamError) -> StreamError {
      StreamError(
        error.kind, "\(name) of the segments is missing: \(error.message)", hint: error.hint,
        facts: error.facts)
    }
  }

  /// The part of a segment to request next.
  enum Part {
    case section(Section)
    case segment(StreamAddress, initialization: [UInt8]?, HLSCipher?)
  }

  /// The limit of kept sections: keys change, and change back.
  private static let limit = 8
  private var held: [(section: Section, bytes: [UInt8])] = []

  /// Returns the missing part of a segment, or the segment.
  /// - Throws: `stream.unsupported` for an unsupported address; `stream.content` for an encrypted section
  ///   without a vector.
  mutating func next(for piece: HLSPiece) throws(StreamError) -> Part {
    let segment = piece.segment
    let address = try resolve(segment.reference, at: piece.base)
    var initialization: [UInt8]?
    if let map = segment.map {
      let section = Section(
        address: try resolve(map.reference, at: piece.base), range: map.range, isKey: false,
        encryption: map.encryption)
      if case .aes128(let reference, let vector)? = map.encryption {
        guard vector != nil else {
          throw StreamError(
            .content, "the playlist \(piece.base) encrypts an initialization section without an IV",
            hint: "report it to the station", facts: [.init("url", .string(piece.base.description))])
        }
        let key = try self.key(reference, at: piece.base)
        guard bytes(of: key) != nil else { return .section(key) }
      }
      guard let found = bytes(of: section) else { return .section(section) }
      initialization = found
      if case .aes128(let reference, let vector?)? = map.encryption,
        let key = bytes(of: try self.key(reference, at: piece.base))
      {
        let cipher = HLSCipher(key: key, vector: vector)
        let start = found.withUnsafeBytes { cipher.update($0) }
        guard let end = cipher.finish() else {
          throw StreamError(
            .content, "\(section.address) is not deciphered by its key", hint: "report it to the station",
            facts: [.init("url", .string(section.address.description))])
        }
        initialization = start + end
      }
    }
    var cipher: HLSCipher?
    if case .aes128(let reference, let vector)? = segment.encryption {
      let section = try key(reference, at: piece.base)
      guard let key = bytes(of: section) else { return .section(section) }
      cipher = HLSCipher(key: key, vector: vector ?? Self.vector(of: segment.sequence))
    }
    return .segment(address, initialization: initialization, cipher)
  }

  /// Adds a received section.
  /// - Throws: `stream.content` for a key of another length.
  mutating func add(_ bytes: [UInt8], as section: Section) throws(StreamError) {
    if section.isKey, bytes.count != HLSCipher.keyLength {
      throw StreamError(
        .content, "\(section.address) has \(bytes.count) bytes, and a key has \(HLSCipher.keyLength)",
        hint: "report it to the station", facts: [.init("url", .string(section.address.description))])
    }
    held.append((section, bytes))
    if held.count > Self.limit { held.removeFirst() }
  }

  private func bytes(of section: Section) -> [UInt8]? { held.first { $0.section == section }?.bytes }

  private func key(_ reference: String, at base: StreamAddress) throws(StreamError) -> Section {
    Section(address: try resolve(reference, at: base), range: nil, isKey: true, encryption: nil)
  }

  private func resolve(_ reference: String, at base: StreamAddress) throws(StreamError) -> StreamAddress {
    switch base.resolving(reference) {
    case .address(let address)?: return address
    case .unsupported(let scheme?)?:
      throw StreamError(
        .unsupported, "the playlist \(base) lists \(scheme): addresses, which don't work here",
        hint: "look for another address of the station",
        facts: [.init("url", .string(base.description)), .init("scheme", .string(scheme))])
    default:
      throw StreamError(
        .content, "the playlist \(base) lists an entry that is no address", hint: "report it to the station",
        facts: [.init("url", .string(base.description))])
    }
  }

  /// Returns the number of a segment as 16 bytes. Source: RFC 8216 §5.2.
  static func vector(of sequence: Int) -> [UInt8] {
    (0..<16).map { $0 < 8 ? 0 : UInt8(truncatingIfNeeded: sequence >> (8 * (15 - $0))) }
  }
}
