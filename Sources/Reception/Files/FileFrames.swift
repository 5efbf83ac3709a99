internal import Codecs
internal import StreamCore

/// The frames of a file from a server, as its bytes come, for recordings that end after a certain length of
/// sound.
///
/// Tags, and a first frame that only describes the others, are left out: they state the length of the whole
/// file.
struct FileFrames: Sendable {
  private var parser: any FileParser

  /// - Parameter kind: a kind whose codec has frames.
  init(_ kind: CopiedKind, contentType: String?) {
    // Without a size it requests no other part of the file.
    parser = kind.format.codec.isOgg ? PagedFile(size: nil) : FramedFile(contentType: contentType, size: nil)
  }

  /// Sends the frames of the next bytes to the recordings.
  /// - Returns: the content found instead of sound, in words; nil for sound.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, into tee: FrameTee) -> String? {
    parser.feed(bytes)
    return drain(into: tee)
  }

  /// Sends the last frames: no bytes follow.
  /// - Returns: as `receive`.
  mutating func end(into tee: FrameTee) -> String? {
    parser.end()
    return drain(into: tee)
  }

  private mutating func drain(into tee: FrameTee) -> String? {
    tee.receive { outlets in
      while let item = parser.next(), item != .end {
        switch item {
        case .frame(let frame, let data):
          data.withUnsafeBytes { bytes in
            let title = frame.isHeaders ? ICYMetadata(headers: bytes) : nil
            _ = outlets.append(frame, bytes, nil, title: title.map { StreamTitle($0) })
          }
        case .unusable(let found, _): return found
        case .format, .begins, .jump, .end: break
        }
      }
      return nil
    }
  }
}

/// The search for the headers of an Ogg file whose bytes are copied meanwhile: comments with a picture are
/// long.
struct OggStart: Sendable {
  /// Nil once they are found, and for an unsupported kind of sound.
  private var framer: StreamFramer? = StreamFramer()

  /// Receives the next bytes of the file.
  /// - Returns: the damage of headers that no decoder accepts, in words; nil if they are valid or still
  ///   incomplete.
  mutating func receive(_ bytes: UnsafeRawBufferPointer) -> String? {
    framer?.feed(bytes)
    return search()
  }

  /// Ends the file: no bytes follow.
  /// - Returns: as `receive`.
  mutating func end() -> String? {
    framer?.end()
    return search()
  }

  private mutating func search() -> String? {
    while let item = framer?.next() {
      switch item {
      case .frame: break
      case .format: framer = nil
      case .notAudio(let found):
        framer = nil
        return ContentSniffer.isForeign(found) || found == OggFraming.unknownContent ? nil : found
      }
    }
    framer?.compact()
    return nil
  }
}
