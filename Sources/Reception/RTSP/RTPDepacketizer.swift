internal import Codecs
internal import StreamCore

/// Makes frames of the packets of a medium.
///
/// MPEG audio comes out as its own frames, AAC as frames of ADTS, Opus as pages of Ogg after a frame of
/// headers, PCM as samples of 16 bits. Memory: that of `StreamFramer`, and one unit of at most 64 KiB.
struct RTPDepacketizer: Sendable {
  /// An item of the medium.
  enum Item: Equatable {
    case format(StreamFormat)
    case frame(StreamFrame, [UInt8])
    /// The medium brings no audio: the kind of content, in words. Nothing follows.
    case notAudio(found: String)
  }

  private enum State {
    case mpeg(StreamFramer)
    case aac(AACPacketFraming, AccessUnits)
    case samples(StreamFormat, Companding?)
    case opus(OpusPages)
  }

  /// The bytes of a piece of PCM, which fits into a block of the buffer, and its share of a second.
  private static let pieceSize = 4096
  private static let piecesPerSecond = 50
  /// The bytes before the sound in a packet of MPEG audio. Source: RFC 2250 §3.5.
  private static let mpegHead = 4

  let sound: RTPSound
  private var state: State
  private var format: StreamFormat?
  /// The number of bytes of all returned frames.
  private(set) var offset: Int
  /// The bytes of the units that end in the packet so far.
  private var items: [Item] = []

  /// - Parameters:
  ///   - offset: the number of bytes of the frames before.
  ///   - serial: the number of a logical stream of Ogg.
  init(_ sound: RTPSound, offset: Int = 0, serial: UInt32 = 1) {
    (self.sound, self.offset) = (sound, offset)
    switch sound.coding {
    case .mpeg: state = .mpeg(StreamFramer(contentType: "audio/mpeg", offset: offset, dropsDoubtful: true))
    case .aac(let framing, let layout): state = .aac(framing, AccessUnits(layout))
    case .l16(let channels):
      state = .samples(StreamFormat(codec: .l16, sampleRate: sound.clockRate, channels: channels), nil)
    case .companded(let law, let channels):
      state = .samples(StreamFormat(codec: .l16, sampleRate: sound.clockRate, channels: channels), law)
    case .opus: state = .opus(OpusPages(channels: 2, serial: serial))
    }
  }

  /// Returns the items that a packet completes.
  mutating func receive(_ packet: RTPPacket) -> [Item] {
    items = []
    switch state {
    case .mpeg(var framer):
      state = .mpeg(StreamFramer())  // so that it is not copied
      let bytes = packet.payload.dropFirst(Self.mpegHead)
      bytes.withUnsafeBytes { framer.feed($0) }
      drain(&framer)
      framer.compact()
      state = .mpeg(framer)
    case .aac(let framing, var units):
      let format = StreamFormat(codec: .aac, sampleRate: framing.sampleRate, channels: framing.channels)
      for unit in units.receive(packet) where unit.count <= AACPacketFraming.longestFrame {
        let bytes = framing.adts(unit)
        append(bytes, format, samples: AACPacketFraming.samplesPerFrame)
      }
      state = .aac(framing, units)
    case .samples(let format, let law): receive(packet.payload, format, law)
    case .opus(var pages):
      let format = StreamFormat(codec: .opus, sampleRate: OpusPages.sampleRate, channels: 2)
      if self.format == nil {
        begin(format)
        let headers = pages.headers
        let hash = headers.withUnsafeBytes { FrameHash.of($0) }
        items.append(
          .frame(
            StreamFrame(headersAt: offset, length: headers.count, hash: hash, format: format), headers))
      }
      if let page = pages.page(of: Array(packet.payload)) {
        append(page.bytes, format, samples: page.samples)
      }
      state = .opus(pages)
    }
    return items
  }

  /// Ends the sound before lost packets: a unit whose rest is lost is dropped.
  /// - Returns: the last whole frames.
  mutating func interrupt() -> [Item] {
    items = []
    switch state {
    case .mpeg(var framer):
      // The last frame needs no header after it; a part of one is dropped.
      framer.end()
      drain(&framer)
      state = .mpeg(StreamFramer(contentType: "audio/mpeg", offset: offset, dropsDoubtful: true))
    case .aac(let framing, var units):
      units.reset()
      state = .aac(framing, units)
    case .samples, .opus: break
    }
    return items
  }

  private mutating func drain(_ framer: inout StreamFramer) {
    while let item = framer.next() {
      switch item {
      case .format(let format): begin(format)
      case .frame(let frame):
        guard frame.codec.hasFrames, let bytes = framer.withBytes(of: frame, { [UInt8]($0) }) else {
          continue
        }
        offset = frame.offset + frame.length
        items.append(.frame(frame, bytes))
      case .notAudio(let found):
        if format == nil { items.append(.notAudio(found: found)) }
      }
    }
  }

  private mutating func begin(_ new: StreamFormat) {
    guard new != format else { return }
    format = new
    items.append(.format(new))
  }

  private mutating func append(_ bytes: [UInt8], _ format: StreamFormat, samples: Int) {
    begin(format)
    let frame = StreamFrame(
      offset: offset, length: bytes.count, hash: bytes.withUnsafeBytes { FrameHash.of($0) }, format: format,
      samples: samples)
    offset += bytes.count
    items.append(.frame(frame, bytes))
  }

  private mutating func receive(_ payload: ArraySlice<UInt8>, _ format: StreamFormat, _ law: Companding?) {
    let width = law == nil ? 2 : 1
    let frameSize = width * format.channels
    var rest = payload.prefix(payload.count / frameSize * frameSize)
    let frames = min(Self.pieceSize / (2 * format.channels), format.sampleRate / Self.piecesPerSecond)
    let most = max(1, frames) * frameSize
    while !rest.isEmpty {
      let piece = rest.prefix(most)
      rest = rest.dropFirst(piece.count)
      append(Self.pcm(piece, law), format, samples: piece.count / frameSize)
    }
  }

  /// Returns samples of 16 bits, little-endian.
  private static func pcm(_ bytes: ArraySlice<UInt8>, _ law: Companding?) -> [UInt8] {
    var result = [UInt8]()
    guard let law else {
      result.reserveCapacity(bytes.count)
      for index in stride(from: bytes.startIndex, to: bytes.endIndex, by: 2) {
        result.append(bytes[index + 1])
        result.append(bytes[index])
      }
      return result
    }
    result.reserveCapacity(2 * bytes.count)
    let table = law.table
    for code in bytes {
      let sample = UInt16(bitPattern: table[Int(code)])
      result.append(UInt8(truncatingIfNeeded: sample))
      result.append(UInt8(sample >> 8))
    }
    return result
  }
}
