internal import EventLoop

/// The length that the header of a WAV or AIFF file gives for its sound. libsndfile drops the missing part of
/// it.
///
/// Sources: "Multimedia Programming Interface and Data Specifications 1.0", RIFF; "Audio Interchange File Format
/// AIFF-C", chunks.
enum ChunkLength {
  /// The bytes of a chunk of sound: claimed by its header, and present in the file.
  struct Bytes: Equatable {
    let claimed: Int
    let present: Int
  }

  /// Returns the lengths of a file's chunk of sound, or nil where the file has none, is of another format, or gives no
  /// length: a program that writes to a pipe leaves 0 or about 2^31 or 2^32.
  static func read(_ file: borrowing FileDescriptor) -> Bytes? {
    let head = file.bytes(at: 0, count: 12)
    let form =
      String(decoding: head.prefix(4), as: UTF8.self) + String(decoding: head.suffix(4), as: UTF8.self)
    let (name, isBigEndian): (String, Bool)
    switch form {
    case "RIFFWAVE": (name, isBigEndian) = ("data", false)
    case "RIFXWAVE": (name, isBigEndian) = ("data", true)
    case "FORMAIFF", "FORMAIFC": (name, isBigEndian) = ("SSND", true)
    default: return nil
    }
    var offset = 12
    // A file with more chunks before its sound is damaged or hostile.
    for _ in 0..<1_000 {
      let header = file.bytes(at: offset, count: 8)
      guard header.count == 8 else { return nil }
      let digits = isBigEndian ? Array(header.suffix(4)) : header.suffix(4).reversed()
      let size = digits.reduce(0) { $0 << 8 | Int($1) }
      offset += 8
      if header.prefix(4).elementsEqual(name.utf8) {
        guard size > 0, size < 0x7FFF_0000 else { return nil }
        return Bytes(claimed: size, present: max(0, min(size, file.size - offset)))
      }
      offset += size + size % 2
    }
    return nil
  }
}
