import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("sound in segments of HLS", .tags(.stream, .hls, .codecs)) struct HLSSoundTests {
  /// The frames of a programme whose segments come in pieces.
  private func frames(_ programme: HLSProgramme, piece: Int) throws -> [[UInt8]] {
    var sound = HLSSound()
    var frames: [[UInt8]] = []
    func receive(_ item: HLSSound.Item) -> Bool {
      if case .frame(_, let bytes, _) = item { frames.append([UInt8](bytes)) }
      return true
    }
    for segment in programme.segments.prefix(12) {
      try sound.begin(title: nil, initialization: programme.files["init.mp4"], isContinuous: true) {
        receive($0)
      }
      for start in stride(from: 0, to: segment.bytes.count, by: piece) {
        let part = Array(segment.bytes[start..<min(segment.bytes.count, start + piece)])
        try part.withUnsafeBytes { try sound.consume($0) { receive($0) } }
      }
      try sound.endSegment { receive($0) }
    }
    sound.finish { receive($0) }
    return frames
  }

  @Test(
    "frames do not depend on how bytes are divided",
    arguments: [HLSProgramme.Kind.transport, .transportMP3, .packed, .packedMP3, .fragments])
  func pieces(kind: HLSProgramme.Kind) throws {
    let programme = try HLSProgramme.of(kind)
    let whole = try frames(programme, piece: 1 << 20)
    #expect(whole.map(HLSProgramme.payload) == Array(programme.frames.prefix(whole.count)))
    #expect(whole.count > 400)
    for piece in [1, 187, 188, 1000] { #expect(try frames(programme, piece: piece) == whole) }
  }

  /// A tag of ID3v2.4 with a title and an artist, and the time of packed audio.
  static func tag(title: String, artist: String, time: Int? = nil) -> [UInt8] {
    func frame(_ name: String, _ content: [UInt8]) -> [UInt8] {
      Array(name.utf8) + [0, 0, UInt8(content.count >> 7), UInt8(content.count & 0x7F), 0, 0] + content
    }
    var body =
      frame("TIT2", [3] + Array(title.utf8))
      + frame("TPE1", [1, 0xFF, 0xFE] + artist.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })
    if let time {
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: time >> (8 * (7 - $0))) }
      body += frame("PRIV", Array("com.apple.streaming.transportStreamTimestamp".utf8) + [0] + bytes)
    }
    return Array("ID3".utf8) + [4, 0, 0, 0, 0, UInt8(body.count >> 7), UInt8(body.count & 0x7F)] + body
  }

  @Test("tags: title and artist in any encoding, the time of packed audio")
  func tags() {
    let tag = TimedTag(Self.tag(title: "Café", artist: "The Ö", time: 900_000))
    #expect(tag?.title == "The Ö - Café")
    #expect(tag?.time == 900_000)
    #expect(TimedTag(Array("ID3".utf8)) == nil)
  }

  @Test("a title begins with the frame of its time, one of the list with its segment until tags have come")
  func titles() throws {
    let programme = try HLSProgramme.of(.packed)
    var sound = HLSSound()
    var (found, count): ([String], Int) = ([], 0)
    func receive(_ item: HLSSound.Item) -> Bool {
      if case .frame(_, _, let title) = item {
        if let title = title?.title { found.append("\(count) \(title)") }
        count += 1
      }
      return true
    }
    for (index, segment) in programme.segments.prefix(3).enumerated() {
      try sound.begin(title: "list \(index)", initialization: nil, isContinuous: true) { receive($0) }
      let tag = index == 0 ? [] : Self.tag(title: "T\(index)", artist: "A", time: index * 90_000)
      try (tag + segment.bytes).withUnsafeBytes { try sound.consume($0) { receive($0) } }
      try sound.endSegment { receive($0) }
    }
    let borders = try programme.borders()
    #expect(found == ["0 list 0", "\(borders[1]) A - T1", "\(borders[2]) A - T2"])
  }

  @Test("thousands of empty tags in front of packed audio are read one by one", arguments: [1 << 20, 7])
  func manyTags(piece: Int) throws {
    let programme = try HLSProgramme.of(.packed)
    let segment = programme.segments[0].bytes
    let tags = Array(repeatElement(Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 0], count: 100_000).joined())
    func frames(_ bytes: [UInt8]) throws -> [UInt64] {
      var (sound, hashes) = (HLSSound(), [UInt64]())
      func receive(_ item: HLSSound.Item) -> Bool {
        if case .frame(let frame, _, _) = item { hashes.append(frame.hash) }
        return true
      }
      try sound.begin(title: nil, initialization: nil, isContinuous: true) { receive($0) }
      for start in stride(from: 0, to: bytes.count, by: piece) {
        try bytes[start..<min(bytes.count, start + piece)].withUnsafeBytes {
          try sound.consume($0) { receive($0) }
        }
      }
      try sound.endSegment { receive($0) }
      return hashes
    }
    let found = try frames(tags + segment)
    #expect(try found == frames(segment) && found.count > 30)
  }

  @Test("counters of MPEG-TS that begin anew in each segment lose no packet") func counters() throws {
    let programme = try HLSProgramme.of(.transport)
    var last: [Int: UInt8] = [:]
    var (sound, count) = (HLSSound(), 0)
    for segment in programme.segments.prefix(6) {
      var bytes = segment.bytes
      var counters: [Int: UInt8] = [:]
      for packet in stride(from: 0, to: bytes.count, by: 188) where bytes[packet + 3] & 0x10 != 0 {
        let id = Int(bytes[packet + 1] & 0x1F) << 8 | Int(bytes[packet + 2])
        // The first one looks like the last one of the segment in front, sent twice.
        let counter = counters[id].map { ($0 + 1) & 15 } ?? last[id] ?? 0
        bytes[packet + 3] = bytes[packet + 3] & 0xF0 | counter
        counters[id] = counter
      }
      last = counters
      try programme.feed(bytes, to: &sound) { count += 1 }
    }
    #expect(try count == programme.borders()[6] - 1)
  }

  @Test("a transport stream without packets is given up after 64 KiB, one with damage is not") func lostSync()
    throws
  {
    let programme = try HLSProgramme.of(.transport)
    var random = SeededRandom(seed: 5)
    var sound = HLSSound()
    try sound.begin(title: nil, initialization: nil, isContinuous: true) { _ in true }
    let bytes = programme.segments[0].bytes
    var frames = 0
    func consume(_ bytes: [UInt8]) throws {
      try bytes.withUnsafeBytes { bytes in
        try sound.consume(bytes) { item in
          if case .frame = item { frames += 1 }
          return true
        }
      }
    }
    // Packets of 188 bytes between damage of 20 KB each: as much as the limit, all in all.
    for start in stride(from: 0, to: bytes.count / 188 / 4 * 188, by: 188 * 20) {
      try consume(Array(bytes[start..<(start + 188 * 20)]) + random.bytes(20_000))
    }
    #expect(frames > 5)
    var fed = 0
    let error = #expect(throws: HLSSound.Obstacle.self) {
      while fed < 10_000_000 {
        try consume(random.bytes(1_000))
        fed += 1_000
      }
    }
    #expect(error?.isUnsupported == false && fed < 300_000, "\(fed)")
  }

  /// Segments that end never, of which no frame comes.
  enum Endless: CaseIterable {
    case packetsOfNothing, table, tag, timedTag, box, header, noise
  }

  @Test("an endless segment is read in bounded memory", arguments: Endless.allCases)
  func endless(kind: Endless) throws {
    let programme = try HLSProgramme.of(.fragments)
    let transport = try HLSProgramme.of(.transport).segments[0].bytes
    var random = SeededRandom(seed: 6)
    func packet(_ id: Int, isStart: Bool = false, _ payload: [UInt8] = []) -> [UInt8] {
      let head = [0x47, UInt8(id >> 8) | (isStart ? 0x40 : 0), UInt8(id & 255), 0x10]
      return head + payload + [UInt8](repeating: 0xFF, count: 184 - payload.count)
    }
    var (start, piece) = ([UInt8](), [UInt8]())
    switch kind {
    case .packetsOfNothing: piece = Array(repeatElement(packet(0x1FFF), count: 50).joined())
    case .table:
      start = packet(0, isStart: true, [0, 0, 0xB3, 0xFF])
      piece = Array(repeatElement(packet(0), count: 50).joined())
    case .tag:
      start = Array("ID3".utf8) + [4, 0, 0, 0x7F, 0x7F, 0x7F, 0x7F]
      piece = [UInt8](repeating: 0, count: 10_000)
    case .timedTag:
      // The sound's own packets without an end, behind the tables.
      start = Array(transport[..<(188 * 3)])
      let id = Int(transport[188 * 3 + 1] & 0x1F) << 8 | Int(transport[188 * 3 + 2])
      piece = packet(id, isStart: true, [0, 0, 1, 0xC0, 0, 0, 0x80, 0x80, 0xFF])
    case .box:
      (start, piece) = ([0xFF, 0xFF, 0xFF, 0xFF] + Array("mdat".utf8), [UInt8](repeating: 0, count: 10_000))
    case .header:
      (start, piece) = ([0, 0x0F, 0xFF, 0xFF] + Array("moof".utf8), [UInt8](repeating: 0, count: 10_000))
    case .noise: piece = random.bytes(10_000).map { $0 & 0x7F }
    }
    let isFragments = kind == .box || kind == .header
    var (sound, held, fed) = (HLSSound(), 0, 0)
    do {
      try sound.begin(
        title: nil, initialization: isFragments ? programme.files["init.mp4"] : nil, isContinuous: true
      ) { _ in true }
      try start.withUnsafeBytes { try sound.consume($0) { _ in true } }
      while fed < 20_000_000 {
        try piece.withUnsafeBytes { try sound.consume($0) { _ in true } }
        fed += piece.count
        held = max(held, sound.pendingBytes)
      }
    } catch let error as HLSSound.Obstacle {
      #expect(!error.found.isEmpty)
    }
    // A header of 1 MiB is the most.
    #expect(held <= (kind == .header ? 1 << 20 : 300_000), "\(held) bytes of \(fed)")
    #expect(fed > 100_000 || kind == .noise || kind == .timedTag, "\(fed)")
  }

  @Test("a receiver that wants no more gets no more of the same bytes", arguments: [4, 1_000])
  func refusal(cut: Int) throws {
    let programme = try HLSProgramme.of(.packed)
    var (sound, count) = (HLSSound(), 0)
    try programme.feed(programme.segments[0].bytes, to: &sound) {}
    try sound.begin(title: nil, initialization: nil, isContinuous: true) { _ in true }
    let bytes = programme.segments[1].bytes
    // The last frame of the segment in front is complete with the first bytes of this one.
    try bytes[..<cut].withUnsafeBytes { try sound.consume($0) { _ in true } }
    try bytes[cut...].withUnsafeBytes {
      try sound.consume($0) { _ in
        count += 1
        return false
      }
    }
    #expect(count == 1)
  }

  @Test("a transport stream of another kind is refused by name")
  func foreign() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("x.ts")
    try Command.succeed(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", "sine=d=1", "-c:a", "ac3", "-f", "mpegts", path])
    var sound = HLSSound()
    try sound.begin(title: nil, initialization: nil, isContinuous: false) { _ in true }
    let error = #expect(throws: HLSSound.Obstacle.self) {
      try readBytes(path).withUnsafeBytes { try sound.consume($0) { _ in true } }
    }
    #expect(error == HLSSound.Obstacle(found: "AC-3 in MPEG-TS", isUnsupported: true))
  }

  @Test(
    "segments survive any damage", arguments: [HLSProgramme.Kind.transport, .packed, .fragments, .packedMP3])
  func damage(kind: HLSProgramme.Kind) throws {
    let programme = try HLSProgramme.of(kind)
    var random = SeededRandom(seed: 99)
    for _ in 0..<300 {
      var sound = HLSSound()
      var length = 0
      let initialization = programme.files["init.mp4"].map { damaged($0, &random, isRare: true) }
      for segment in programme.segments.prefix(2) {
        let bytes = damaged(Array(segment.bytes.prefix(6000)), &random, isRare: false)
        do {
          try sound.begin(
            title: nil, initialization: initialization, isContinuous: Bool.random(using: &random)
          ) { _ in true }
          try bytes.withUnsafeBytes { bytes in
            try sound.consume(bytes) { item in
              if case .frame(let frame, let bytes, _) = item {
                #expect(frame.length == bytes.count)
                length += bytes.count
              }
              return true
            }
          }
          try sound.endSegment { _ in true }
        } catch is HLSSound.Obstacle {}
      }
      #expect(length <= 20_000)
    }
  }

  @Test("lists and tags survive any damage") func texts() throws {
    var random = SeededRandom(seed: 98)
    let list = Array(
      """
      #EXTM3U
      #EXT-X-TARGETDURATION:4
      #EXT-X-MEDIA-SEQUENCE:9
      #EXT-X-MAP:URI="i",BYTERANGE="9@1"
      #EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x01
      #EXTINF:4.0,title="a",artist="b"
      #EXT-X-BYTERANGE:9@9
      a.ts
      #EXT-X-STREAM-INF:BANDWIDTH=9,AUDIO="a"
      b
      """.utf8)
    let tag = Self.tag(title: "abc", artist: "def", time: 9)
    for _ in 0..<3000 {
      if case .media(let media)? = try? HLSPlaylist(damaged(list, &random, isRare: false), url: "u") {
        #expect(media.segments.indices.allSatisfy { media.segments[$0].sequence == media.sequence + $0 })
        _ = media.start
      }
      _ = TimedTag(damaged(tag, &random, isRare: false))
    }
  }

  private func damaged(_ bytes: [UInt8], _ random: inout SeededRandom, isRare: Bool) -> [UInt8] {
    var bytes = bytes
    if isRare, Int.random(in: 0..<3, using: &random) > 0 { return bytes }
    for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.remove(at: index)
      default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
    }
    return bytes
  }
}
