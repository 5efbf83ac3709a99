import EventLoop
import StreamCore
import TestSupport
import TestTraits
import Testing

/// The result of a de-interleaver for bytes in pieces.
struct ICYRun {
  private(set) var audio: [UInt8] = []
  private(set) var blocks: [ICYDeinterleaver.Block] = []

  init(_ bytes: [UInt8], interval: Int, pieces size: Int = .max) {
    var icy = ICYDeinterleaver(interval: interval)
    var rest = bytes[...]
    while !rest.isEmpty {
      rest.prefix(size).withUnsafeBytes { piece in
        var index = 0
        while let part = icy.next(in: piece, from: &index) {
          switch part {
          case .audio(let range): audio += piece[range]
          case .metadata(let block): blocks.append(block)
          }
        }
      }
      rest = rest.dropFirst(size)
    }
  }
}

@Suite("ICY de-interleaver", .waiting, .tags(.stream, .titles)) struct ICYDeinterleaverTests {
  private func block(_ text: String) -> [UInt8] {
    let units = (text.utf8.count + 15) / 16
    return [UInt8(units)] + Array(text.utf8)
      + [UInt8](repeating: 0, count: units * 16 - text.utf8.count)
  }

  /// Returns audio with a title every `interval` bytes, most of them empty.
  private func interleaved(_ audio: [UInt8], interval: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, start) in stride(from: 0, to: audio.count, by: interval).enumerated() {
      let part = audio[start...].prefix(interval)
      bytes += part
      if part.count == interval { bytes += index % 4 == 1 ? block("StreamTitle='\(index)';") : [0] }
    }
    return bytes
  }

  @Test(
    "returns all audio, and titles with their position, in any pieces", arguments: [1, 7, 100, 8192])
  func any(interval: Int) {
    var random = SeededRandom(seed: UInt64(interval))
    let audio = random.bytes(interval == 1 ? 500 : 20_000)
    let stream = interleaved(audio, interval: interval)
    for size in [1, 2, 15, 16, 17, 1000, .max] {
      let run = ICYRun(stream, interval: interval, pieces: size)
      #expect(run.audio == audio)
      let count = audio.count / interval
      let expected = (0..<count).filter { $0 % 4 == 1 }
      #expect(run.blocks.map(\.audioPosition) == expected.map { ($0 + 1) * interval })
      #expect(run.blocks.map { ICYMetadata($0.bytes).title } == expected.map(String.init))
    }
  }

  @Test("without an interval all is audio") func noInterval() {
    let run = ICYRun([1, 2, 3], interval: 0)
    #expect(run.audio == [1, 2, 3] && run.blocks.isEmpty)
  }

  @Test("the longest block has 4,080 bytes") func longest() {
    let run = ICYRun([9, 255] + [UInt8](repeating: 65, count: 4080) + [8], interval: 1)
    #expect(run.audio == [9, 8] && run.blocks.map(\.bytes.count) == [4080])
  }

  @Test("positions continue from earlier connections") func position() {
    var icy = ICYDeinterleaver(interval: 100, audioPosition: 5000)
    var index = 0
    [UInt8](repeating: 1, count: 30).withUnsafeBytes { bytes in
      #expect(icy.next(in: bytes, from: &index) == .audio(0..<30))
      #expect(icy.next(in: bytes, from: &index) == nil)
    }
    #expect(icy.audioPosition == 5030)
  }
}

@Suite("ICY metadata", .waiting, .tags(.stream, .titles)) struct ICYMetadataTests {
  @Test(
    "a title ends only at its quote and semicolon",
    arguments: [
      ("StreamTitle='A - Café d'Or; live';", "A - Café d'Or; live", nil),
      ("StreamTitle='Rock';n'Roll';StreamUrl='http://x';", "Rock';n'Roll", "http://x"),
      ("StreamTitle='';StreamUrl='';", "", ""), ("StreamTitle='a';garbage", "a", nil),
      ("StreamUrl='u';StreamTitle='t';", "t", "u"), ("streamtitle='low';", "low", nil),
      ("StreamTitle='It's';", "It's", nil), ("StreamTitle='cut off", "cut off", nil),
      ("StreamTitle='no semicolon'", "no semicolon", nil), ("StreamTitle=';';", ";", nil),
      ("garbage; =='' StreamTitle='found';", "found", nil), ("", nil, nil), ("';';", nil, nil),
      ("adw_ad='true';durationMilliseconds='100';StreamTitle='x';", "x", nil),
      ("StreamTitle='  blanks \t\u{7}and\u{1B} controls\n ';", "blanks and controls", nil),
    ] as [(String, String?, String?)])
  func title(text: String, title: String?, url: String?) {
    for padding in [0, 5] {
      let data = ICYMetadata(Array(text.utf8) + [UInt8](repeating: 0, count: padding))
      #expect(data.title == title && data.url == url)
    }
  }

  private func text(_ bytes: [UInt8], _ encoding: MetadataEncoding) -> String { encoding.text(bytes[...]) }

  @Test("UTF-8 is UTF-8 whatever the setting") func utf8() {
    for encoding in [MetadataEncoding.latin1, .utf8, .windows1252, MetadataEncoding(name: "koi8-r") ?? .utf8]
    {
      #expect(text(Array("Café – Ω".utf8), encoding) == "Café – Ω")
    }
  }

  @Test("text that is not UTF-8 is read in the encoding of the setting, else as Latin-1") func settings()
    throws
  {
    let cafe: [UInt8] = [0x43, 0x61, 0x66, 0xE9]
    #expect(text(cafe, .latin1) == "Café")
    #expect(text(cafe, .utf8) == "Café")
    #expect(text([0x93, 0x80, 0x94, 0xE9], .windows1252) == "“€”é")
    #expect(text([0x93, 0xE9], .latin1) == "é")
    let russian = try #require(MetadataEncoding(name: "windows-1251"))
    #expect(text([0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2], russian) == "Привет")
    let japanese = try #require(MetadataEncoding(name: "SHIFT_JIS"))
    #expect(text([0x93, 0xFA, 0x96, 0x7B], japanese) == "日本")
    // Half a character is decoded as Latin-1, without control characters.
    #expect(text([0x93, 0xFA, 0x96], japanese) == "ú")
  }

  private func utf16(_ text: String, isLittle: Bool) -> [UInt8] {
    ("\u{FEFF}" + text).utf16.flatMap { unit in
      isLittle ? [UInt8(unit & 0xFF), UInt8(unit >> 8)] : [UInt8(unit >> 8), UInt8(unit & 0xFF)]
    }
  }

  @Test(
    "a title in UTF-16 with a byte order mark is read, alone, as a whole block, or read byte by byte by others",
    arguments: [true, false])
  func utf16(isLittle: Bool) {
    let title = "Größe – 東京 🎵"
    let bytes = utf16(title, isLittle: isLittle)
    let block = Array("StreamTitle='".utf8) + bytes + Array("';StreamUrl='http://a/';".utf8)
    for padding in [0, 7] {
      let data = ICYMetadata(block + [UInt8](repeating: 0, count: padding))
      #expect(data.title == title && data.url == "http://a/")
    }
    let whole = utf16("StreamTitle='\(title)';StreamUrl='u';", isLittle: isLittle)
    for padding in [0, 8] {
      let data = ICYMetadata(whole + [UInt8](repeating: 0, count: padding))
      #expect(data.title == title && data.url == "u")
    }
    let doubled = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    for encoding in [MetadataEncoding.latin1, .utf8, .windows1252] {
      #expect(text(Array(doubled.utf8), encoding) == title)
      #expect(text(bytes, encoding) == title)
      // Half a character at the end is left out.
      #expect(text(utf16("äb", isLittle: isLittle).dropLast(), encoding) == "ä")
    }
    // Two letters that are no mark.
    #expect(text(Array("ÿ þ".utf8), .latin1) == "ÿ þ")
  }

  @Test("names of encodings are accepted as people write them, and unknown ones refused") func names() {
    #expect(MetadataEncoding(name: "UTF-8") == .utf8)
    #expect(MetadataEncoding(name: "Latin1") == .latin1 && MetadataEncoding(name: "ISO-8859-1") == .latin1)
    #expect(MetadataEncoding(name: "cp1252") == .windows1252)
    for name in ["", "klingon", "ASCII//TRANSLIT", "utf-16\0", String(repeating: "a", count: 100)] {
      #expect(MetadataEncoding(name: name) == nil)
    }
  }
}

@Suite("Titles with entities of XML", .waiting, .tags(.stream, .titles)) struct ICYEntityTests {
  @Test(
    "are decoded where all of the title is written so, else left as they were sent",
    arguments: [
      ("R&amp;B", "R&B"), ("Caf&#233; &lt;live&gt;", "Café <live>"),
      ("&#x1F3B5; &quot;A&quot; &apos;", "🎵 \"A\" '"),
      ("&amp;amp;", "&amp;"), ("Q & A &amp; B", "Q & A &amp; B"), ("&nbsp;", "&nbsp;"), ("A&#7;B", "A&#7;B"),
      ("It&#39;s &#X27;on&#x27;", "It's 'on'"), ("It&#146;s", "It’s"), ("&#129;", "&#129;"),
      ("&#xD800;", "&#xD800;"), ("&#+65;", "&#+65;"), ("&#99999999999;", "&#99999999999;"), ("&", "&"),
    ])
  func entities(sent: String, title: String) {
    #expect(ICYMetadata(Array("StreamTitle='\(sent)';".utf8)).title == title)
    #expect(ICYMetadata(Array("StreamUrl='\(sent)';".utf8)).url == title)
  }

  @Test("an address with a bare ampersand stays as it was sent, one that is written in XML is decoded")
  func addresses() {
    for (sent, url) in [
      ("http://a/?x=1&y=2", "http://a/?x=1&y=2"), ("http://a/?x=1&amp;y=It&#39;s", "http://a/?x=1&y=It's"),
    ] {
      #expect(ICYMetadata(Array("StreamTitle='t';StreamUrl='\(sent)';".utf8)).url == url)
    }
  }
}
