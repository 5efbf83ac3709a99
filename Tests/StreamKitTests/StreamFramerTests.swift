import Codecs
import EventLoop
import StreamCore
import TestSupport
import TestTraits
import Testing

private typealias Item = StreamFramer.Item

@Suite("Stream framer", .waiting, .tags(.stream, .codecs)) struct StreamFramerTests {
  private func bytes(_ name: String) throws -> [UInt8] { try readBytes(Fixtures.path(name)) }

  private func formats(_ items: [StreamFramer.Item]) -> [StreamFormat] {
    items.compactMap { if case .format(let format) = $0 { format } else { nil } }
  }

  private func frames(_ items: [StreamFramer.Item]) -> [StreamFrame] {
    items.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
  }

  @Test(
    "recognizes the codec by the bytes, whatever the content type",
    arguments: [
      ("mp3-cbr128-44k.mp3", StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)),
      ("mp3-mpeg25-32-11k-mono.mp3", StreamFormat(codec: .mp3, sampleRate: 11_025, channels: 1)),
      ("aac-lc-44k.aac", StreamFormat(codec: .aac, sampleRate: 44_100, channels: 2)),
      ("he-aac-v2-48k.aac", StreamFormat(codec: .aac, sampleRate: 24_000, channels: 1)),
    ])
  func codec(name: String, format: StreamFormat) throws {
    let stream = try bytes(name)
    for type in ["audio/aacp", "application/ogg", "text/html", nil] {
      let items = StreamFramer.items(of: stream, contentType: type)
      #expect(items.first == .format(format) && formats(items).count == 1)
    }
  }

  @Test(
    "silence in AAC that begins in mid-frame is AAC, whatever its frames' lengths look like",
    arguments: 15...40)
  func silentAAC(length: Int) {
    let header: [UInt8] = [
      0xFF, 0xF1, 0x50, 0x80, UInt8(length >> 3), UInt8(length & 7) << 5 | 0x1F, 0xFC,
    ]
    let frame = header + [UInt8](repeating: 0, count: length - 7)
    let stream = Array([[UInt8]](repeating: frame, count: 400).joined().dropFirst(3))
    let items = StreamFramer.items(of: stream)
    #expect(formats(items) == [StreamFormat(codec: .aac, sampleRate: 44_100, channels: 2)])
    #expect(frames(items).count == 399)
  }

  @Test("returns whole frames with hash, offset, samples and bytes") func wholeFrames() throws {
    let stream = try bytes("aac-lc-44k.aac")
    var framer = StreamFramer(offset: 1000)
    stream.withUnsafeBytes { framer.feed($0) }
    framer.end()
    var end = 0
    while let item = framer.next() {
      guard case .frame(let frame) = item else { continue }
      #expect(frame.offset == 1000 + end && frame.samples == 1024)
      let copy = framer.withBytes(of: frame) { Array($0) }
      #expect(copy == Array(stream[end..<(end + frame.length)]))
      #expect(frame.hash == stream[end..<(end + frame.length)].withUnsafeBytes(FrameHash.of))
      end += frame.length
    }
    #expect(end == stream.count)
  }

  @Test("a frame that states the length of a file is a frame like any other") func infoFrame() throws {
    let found = try frames(StreamFramer.items(of: bytes("mp3-cbr128-44k.mp3")))
    let sound = try frames(StreamFramer.items(of: Array(bytes("mp3-cbr128-44k.mp3")[(found[1].offset)...])))
    #expect(found.dropFirst().map(\.hash) == sound.map(\.hash))
  }

  @Test("the last frame is held back until its end is known") func holdsBack() throws {
    let stream = try bytes("aac-lc-44k.aac")
    let all = StreamFramer.frames(of: stream)
    var framer = StreamFramer()
    stream[..<(all[9].offset + 3)].withUnsafeBytes { framer.feed($0) }
    var count = 0
    while let item = framer.next() { if case .frame = item { count += 1 } }
    #expect(count == 8)
    #expect(framer.pendingBytes == all[8].length + 3)
  }

  @Test("a format that changes in mid-frame is reported before its first frame", arguments: [1, 100, 5000])
  func changes(size: Int) throws {
    let (mp3, aac) = (try bytes("mp3-cbr128-44k.mp3"), try bytes("he-aac-v1-48k.aac"))
    let first = StreamFramer.frames(of: mp3)
    let cut = first[30].offset + 300
    let items = StreamFramer.items(of: Array(mp3[..<cut]) + aac + mp3, pieces: size)
    #expect(
      formats(items) == [
        StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2),
        StreamFormat(codec: .aac, sampleRate: 24_000, channels: 2),
        StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2),
      ])
    #expect(items[31] == .format(StreamFormat(codec: .aac, sampleRate: 24_000, channels: 2)))
    #expect(frames(items).count == 30 + StreamFramer.frames(of: aac).count + first.count)
  }

  @Test(
    "content that is not audio is recognised",
    arguments: [
      (
        "<!DOCTYPE html><html><body>Not found, as the mount is not here any more</body></html>",
        "an HTML page"
      ),
      ("\u{FEFF}  \n<HTML><head><title>The station is closed for tonight</title></head>", "an HTML page"),
      ("<?xml version=\"1.0\"?><playlist><trackList><track/></trackList></playlist>", "XML"),
      ("<feed><entry>1</entry></feed>", "XML"), ("{\"error\": \"no such mount\"}", "JSON"),
      ("#EXTM3U\n#EXTINF:-1,Station\nhttp://example.org/stream\n", "an M3U playlist"),
      ("[playlist]\nNumberOfEntries=1\nFile1=http://example.org/stream\n", "a PLS playlist"),
      ("The server is full, come back later.\r\n", "text"), ("", "nothing"),
    ])
  func notAudio(text: String, found: String) {
    for size in [1, 50, .max] {
      let items = StreamFramer.items(of: Array(text.utf8), contentType: "audio/mpeg", pieces: size)
      #expect(items == [.notAudio(found: found)])
    }
  }

  @Test("a page is recognised by its beginning, long text by two kilobytes, without an end") func early() {
    var framer = StreamFramer()
    let page = Array(("<html>" + String(repeating: "x", count: 80)).utf8)
    page.withUnsafeBytes { framer.feed($0) }
    #expect(framer.next() == .notAudio(found: "an HTML page"))
    #expect(framer.next() == nil)
    framer = StreamFramer()
    let text = [UInt8](repeating: 0x41, count: 2047)
    text.withUnsafeBytes { framer.feed($0) }
    #expect(framer.next() == nil)
    [0x41].withUnsafeBytes { framer.feed($0) }
    #expect(framer.next() == .notAudio(found: "text"))
  }

  @Test("a stream that is joined where an encoder padded a frame with letters is no text") func padding()
    throws
  {
    let padding = [UInt8](repeating: UInt8(ascii: "U"), count: 900)
    let stream = try padding + bytes("mp3-without-tag.mp3")
    for size in [1, 900, .max] {
      let items = StreamFramer.items(of: stream, pieces: size)
      #expect(formats(items).map(\.codec) == [.mp3])
      #expect(frames(items).first?.offset == 900)
    }
  }

  @Test("random bytes are not audio after 32 KiB") func randomBytes() {
    var random = SeededRandom(seed: 9)
    let noise = random.bytes(70_000)
    for type in [nil, "audio/mpeg"] {
      let items = StreamFramer.items(of: noise, contentType: type, pieces: 1000)
      #expect(items.count == 1)
      guard case .notAudio(let found) = items.first else { return #expect(Bool(false)) }
      #expect(found.hasPrefix("bytes without frames ("))
    }
  }

  @Test("containers go through whole", arguments: [1, 3000, .max]) func containers(size: Int) throws {
    var random = SeededRandom(seed: 4)
    let unknown = random.bytes(60_000)
    let cases: [([UInt8], String?, Codec)] = [
      (try bytes("music-44k.flac"), "audio/mpeg", .flac), (unknown, "audio/flac; rate=44100", .flac),
    ]
    for (stream, type, codec) in cases {
      var framer = StreamFramer(contentType: type)
      var joined: [UInt8] = []
      var reported: [StreamFormat] = []
      for start in stride(from: 0, to: stream.count, by: min(size, stream.count)) {
        stream[start...].prefix(size).withUnsafeBytes { framer.feed($0) }
        while let item = framer.next() {
          if case .format(let format) = item { reported.append(format) }
          guard case .frame(let piece) = item else { continue }
          #expect(piece.offset == joined.count)
          joined += framer.withBytes(of: piece) { Array($0) } ?? []
        }
      }
      #expect(reported == [StreamFormat(codec: codec)])
      #expect(joined == stream)
    }
  }

  @Test("a stream that has no frames any more is reported after 128 KiB") func lost() throws {
    let stream = try bytes("mp3-cbr128-44k.mp3")
    let damage = [UInt8](repeating: 0, count: 100_000)
    let healed = StreamFramer.items(of: stream + damage + stream)
    #expect(frames(healed).count == 2 * StreamFramer.frames(of: stream).count)
    let lost = StreamFramer.items(of: stream + damage + damage + stream, pieces: 777)
    #expect(lost.last == .notAudio(found: "no frame in 128 KiB"))
    #expect(frames(lost).count == StreamFramer.frames(of: stream).count)
  }

  @Test("a long tag in front is no reason to give up") func tag() throws {
    let picture = [UInt8](repeating: 0x41, count: 200_000)
    let size = [21, 14, 7, 0].map { UInt8(picture.count >> $0 & 0x7F) }
    let stream = try Array("ID3".utf8) + [4, 0, 0] + size + picture + bytes("mp3-without-tag.mp3")
    let items = StreamFramer.items(of: stream, contentType: "application/ogg", pieces: 1400)
    #expect(formats(items).map(\.codec) == [.mp3])
  }
}
