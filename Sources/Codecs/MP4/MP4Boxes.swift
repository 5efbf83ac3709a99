internal import AudioCore

/// A part of memory that holds boxes or the fields of one; reads outside of it return nil.
///
/// Source: ISO/IEC 14496-12 §4.2: a box is its size in four bytes, its type in four, and its content; size 1
/// means that eight bytes of size follow the type, 0 that it extends to the end.
struct MP4Bytes {
  let bytes: ArraySlice<UInt8>
  /// The byte of the file at which `bytes` starts.
  let offset: Int

  var count: Int { bytes.count }

  /// Returns a big-endian number of up to 8 bytes, nil where it is not all there or exceeds 63 bits.
  func number(_ index: Int, _ size: Int) -> Int? {
    guard index >= 0, index <= count - size else { return nil }
    let start = bytes.startIndex + index
    let value = bytes[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int(exactly: value)
  }

  /// Returns the bytes after the first `length` ones, nil when there are fewer.
  func dropping(_ length: Int) -> MP4Bytes? {
    guard length <= count else { return nil }
    return MP4Bytes(bytes: bytes.dropFirst(length), offset: offset + length)
  }

  /// Returns four letters, as bytes of Latin-1.
  func type(_ index: Int) -> String? {
    guard index >= 0, index <= count - 4 else { return nil }
    let start = bytes.startIndex + index
    return String(String.UnicodeScalarView(bytes[start..<(start + 4)].map { Unicode.Scalar($0) }))
  }

  /// Returns the boxes in these bytes, up to the first that does not fit, and at most `most` of them.
  func boxes(most: Int = 1024) -> [(type: String, content: MP4Bytes)] {
    var found: [(type: String, content: MP4Bytes)] = []
    var rest = self
    while found.count < most, let size = rest.number(0, 4), let type = rest.type(4) {
      let header = size == 1 ? 16 : 8
      guard let length = size == 1 ? rest.number(8, 8) : size == 0 ? rest.count : size else { break }
      guard length >= header, length <= rest.count else { break }
      let content = rest.bytes.prefix(length).dropFirst(header)
      found.append((type, MP4Bytes(bytes: content, offset: rest.offset + header)))
      guard let next = rest.dropping(length) else { break }
      rest = next
    }
    return found
  }

  /// Returns the content of the first box of a type, `path` steps down: `"mdia/minf/stbl"`.
  func box(_ path: String) -> MP4Bytes? {
    var location: MP4Bytes? = self
    for step in path.split(separator: "/") {
      location = location?.boxes().first { $0.type == step }?.content
    }
    return location
  }
}

extension FileDescriptor {
  /// Returns the content of the first box of `type` at the file's top level, or the end of the search without
  /// one.
  ///
  /// Boxes before it are skipped, not read, so `moov` may follow gigabytes of `mdat`.
  /// - Parameter limit: longest content that is read.
  borrowing func topLevelBox(_ type: String, limit: Int) -> Result<MP4Bytes, MP4Obstacle> {
    var offset = 0
    for _ in 0..<4096 where offset < size {
      let head = MP4Bytes(bytes: bytes(at: offset, count: 16)[...], offset: offset)
      guard let short = head.number(0, 4), let found = head.type(4) else {
        return .failure(MP4Obstacle(found: "the end of the file in an MP4 box", byte: size))
      }
      let header = short == 1 ? 16 : 8
      let length = short == 1 ? head.number(8, 8) : short == 0 ? size - offset : short
      guard let length, length >= header else {
        return .failure(MP4Obstacle(found: "an MP4 box of an impossible size", byte: offset))
      }
      if found == type {
        guard length <= size - offset else {
          return .failure(MP4Obstacle(found: "the end of the file in the \(type) box", byte: size))
        }
        guard length <= limit else {
          return .failure(MP4Obstacle(found: "a \(type) box of \(length) bytes", byte: offset))
        }
        let content = bytes(at: offset + header, count: length - header)
        return .success(MP4Bytes(bytes: content[...], offset: offset + header))
      }
      guard length < size - offset else {
        offset = size
        break
      }
      offset += length
    }
    return .failure(MP4Obstacle(found: "an MP4 file without a \(type) box, cut off perhaps,", byte: offset))
  }
}

/// A reason why an MP4 file can't be read, in words, and the byte of the file at which it was found.
public struct MP4Obstacle: Error, Equatable {
  /// The content found, in words.
  public let found: String
  /// The byte of the file at which it was found.
  public let byte: Int
  /// `true` for an undamaged file of a kind that has no decoder here.
  public var isUnsupported = false
}
