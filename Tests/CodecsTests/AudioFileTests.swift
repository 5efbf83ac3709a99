import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@Suite("Opening audio files", .tags(.codecs, .files)) struct AudioFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Returns the error of opening `bytes` under the name of an MP3 file.
  private func error(_ bytes: [UInt8], name: String = "song.mp3") throws -> AudioError? {
    let path = try folder.write(bytes, to: name)
    return #expect(throws: AudioError.self) { try AudioFile.open(path) }
  }

  @Test("the bytes decide, not the name") func ignoresNames() throws {
    let mp3 = try folder.write(readBytes(Fixtures.path("mp3-vbr-v4-44k.mp3")), to: "song.wav")
    #expect(try AudioFile.open(mp3) is MP3Decoder)
    let flac = try folder.write(readBytes(Fixtures.path("music-44k.flac")), to: "song.mp3")
    #expect(try AudioFile.open(flac) is SoundFileDecoder)
  }

  @Test("a playlist is named, one of HLS with what to do")
  func playlists() throws {
    let list = try error(Array("#EXTM3U\nsong.mp3\n".utf8), name: "list.m3u")
    #expect(list?.kind == .unsupported && list?.message.hasSuffix("list.m3u: it is a playlist") == true)
    let segments = try error(
      Array("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na.ts\n".utf8), name: "show.m3u8")
    #expect(
      segments?.kind == .unsupported && segments?.message.contains("a list of HLS on this machine") == true
        && segments?.hint?.contains("URL") == true)
  }

  @Test("a missing file, a folder, a device and a file without permission have errors of their own")
  func notFound() throws {
    func cause(_ path: String) -> String? {
      let error = #expect(throws: AudioError.self) { try AudioFile.open(path) }
      #expect(error?.code == "audio.not_found")
      return error?.message
    }
    #expect(cause("/no/such.mp3") == "cannot open /no/such.mp3: no such file or directory")
    #expect(cause(folder.path) == "cannot open \(folder.path): it is a folder")
    #expect(
      #expect(throws: AudioError.self) { try AudioFile.open("/no/\u{FFFD}.mp3") }?.hint
        == "give the file a name in UTF-8")
    #expect(cause("/dev/null") == "cannot open /dev/null: it is not a regular file")
    let secret = try folder.write([1], to: "secret.mp3")
    try Command.succeed("chmod", ["000", secret])
    if try Command.run("id", ["-u"]).text != "0\n" {
      #expect(cause(secret) == "cannot open \(secret): permission denied")
    }
  }

  @Test("a pipe without a writer does not block") func pipe() throws {
    try Command.succeed("mkfifo", [folder.file("pipe.mp3")])
    #expect(throws: AudioError.self) { try AudioFile.open(folder.file("pipe.mp3")) }
  }

  @Test("data that is no audio is named in the error, with its byte")
  func unreadable() throws {
    let text = try error(Array("Dear diary, today I renamed a file. Ça marche!\n".utf8))
    #expect(text?.code == "audio.unreadable")
    #expect(text?.message == "cannot decode \(folder.file("song.mp3")): found text at byte 0")
    #expect(try error([])?.message.contains("the file is empty") == true)
    #expect(try error([0x89, 0x50, 0x4E, 0x47, 13, 10])?.message.contains("a PNG image at byte 0") == true)
    #expect(try error([UInt8](repeating: 0, count: 9000))?.message.contains("zeros at byte 0") == true)
    #expect(try error([1, 2, 0xAB, 4, 5])?.message.contains("(01 02 ab 04) at byte 0") == true)
    let tagged = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0] + Array("only text".utf8)
    #expect(try error(tagged)?.message.contains("found text at byte 15") == true)
    let endless = Array("ID3".utf8) + [4, 0, 0, 0x7F, 0x7F, 0x7F, 0x7F, 0, 0]
    #expect(try error(endless)?.message.contains("end of the file") == true)
  }

  @Test("audio of other kinds is unsupported, and the error names the kind") func unsupported() throws {
    let matroska = try error([0x1A, 0x45, 0xDF, 0xA3, 0, 0, 0, 0])
    #expect(matroska?.code == "audio.unsupported")
    #expect(matroska?.message.contains("Matroska") == true && matroska?.hint != nil)
    let alac = #expect(throws: AudioError.self) { try AudioFile.open(Fixtures.path("alac.m4a")) }
    #expect(alac?.code == "audio.unsupported" && alac?.message.contains("ALAC") == true)
  }

  @Test(
    "other codecs are called by their names",
    arguments: [
      ("MP+\u{7}", "Musepack"), ("MPCK", "Musepack"), ("DSD \u{1C}", "DSD"),
      ("FRM8\0\0\0\0\0\0\0\0DSD ", "DSD"),
      ("wvpk", "WavPack"), ("MAC ", "Monkey's Audio"), ("RIFF\0\0\0\0AVI ", "AVI"), ("#!AMR\n", "AMR"),
    ])
  func names(head: String, name: String) throws {
    let error = try error(Array(head.utf8) + [UInt8](repeating: 0, count: 100))
    #expect(error?.code == "audio.unsupported" && error?.message.contains(name) == true, "\(error as Any)")
  }

  @Test("a transport stream is called by its name, also when a later packet is damaged")
  func transportStream() throws {
    var bytes = (0..<400).flatMap { _ in [0x47, 0x40, 0x11, 0x10] + [UInt8](repeating: 0xFF, count: 184) }
    bytes[100 * 188] = 0
    let found = try error(bytes)
    #expect(found?.code == "audio.unsupported")
    #expect(found?.message.contains("an MPEG transport stream (MPEG-TS)") == true, "\(found as Any)")
    #expect(try error(Array(bytes.prefix(2 * 188)))?.code == "audio.unreadable")
  }

  @Test(
    "an Ogg file of a codec unknown to libsndfile is reported by the codec's name",
    arguments: [
      ("Speex   1.2", "Speex in Ogg"), ("\u{80}theora", "Theora video"),
    ])
  func namesInOgg(packet: String, name: String) throws {
    // Bytes, not UTF-8: a packet of Theora begins with 0x80.
    let packet =
      packet.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + [UInt8](repeating: 0, count: 40)
    let page =
      Array("OggS".utf8) + [0, 2] + [UInt8](repeating: 0, count: 20) + [1, UInt8(packet.count)] + packet
    let error = try error(page)
    #expect(error?.code == "audio.unsupported" && error?.message.contains(name) == true, "\(error as Any)")
  }

  @Test("files with a header and no sound have an error that names this") func withoutSound() throws {
    // Pro Tools: the chunk of the samples is empty, and others follow.
    var wav = WAVBytes(bits: 24, channels: 2).bytes(data: []) + Array("DGDA".utf8) + [200, 0, 0, 0]
    wav += [UInt8](repeating: 0x7F, count: 200)
    wav[4] = UInt8(wav.count - 8)
    let empty = try error(wav, name: "empty.wav")
    #expect(empty?.code == "audio.unreadable" && empty?.message.contains("without any sound") == true)
    // AIFF without an SSND chunk: 8 kHz is 0x400B FA00 0000 0000 0000 in 80 bits.
    let common = [0, 1, 0, 0, 0, 0, 0, 16, 0x40, 0x0B, 0xFA, 0, 0, 0, 0, 0, 0, 0] as [UInt8]
    let aiff = try error(
      Array("FORM".utf8) + [0, 0, 0, 30] + Array("AIFFCOMM".utf8) + [0, 0, 0, 18] + common, name: "a.aiff")
    #expect(aiff?.message.contains("internal") == false && aiff?.message.contains("no samples") == true)
  }

  @Test("a damaged header is unreadable, at a byte of the file") func damagedHeader() throws {
    var bytes = WAVBytes(bits: 16, channels: 2).bytes(data: [1, 2, 3, 4])
    bytes[16...19] = [0xFF, 0xFF, 0xFF, 0x7F]
    let error = try error(bytes)
    #expect(error?.kind == .unreadable || error?.kind == .unsupported)
  }

  @Test("1,000 files of random bytes end in an error or in silence, never in more memory")
  func randomBytes() async {
    await #expect(processExitsWith: .success) {
      try AudioFileTests().measuredRandomBytes()
    }
  }

  private func measuredRandomBytes() throws {
    var random = SeededRandom(seed: 99)
    let heads: [[UInt8]] = [
      [], Array("ID3".utf8), [0xFF, 0xFB, 0x90, 0x64], Array("RIFF\u{40}\u{0}\u{0}\u{0}WAVEfmt ".utf8),
      Array("fLaC".utf8), Array("OggS".utf8), Array("caff".utf8),
      Array("FORM\u{0}\u{0}\u{1}\u{0}AIFFCOMM".utf8), Array(".snd".utf8), Array("RF64".utf8),
    ]
    let before = peakMemory()
    var opened = 0
    for round in 0..<1000 {
      let bytes = heads[round % heads.count] + random.bytes(Int.random(in: 0...3000, using: &random))
      opened += try survives(folder.write(bytes, to: "random")) ? 1 : 0
    }
    #expect(opened < 500)
    #expect(peakMemory() - before < memoryLimit)
  }

  @Test("files cut off or damaged anywhere end in an error or early, never in more memory")
  func damagedAnywhere() async {
    await #expect(processExitsWith: .success) {
      try AudioFileTests().measuredDamagedAnywhere()
    }
  }

  private func measuredDamagedAnywhere() throws {
    try Sound(file: Fixtures.path("music-44k.flac"))[0..<3000].write(to: folder.file("whole.wav"))
    var random = SeededRandom(seed: 98)
    let before = peakMemory()
    let flac = Fixtures.path("music-44k.flac")
    try Command.succeed(
      "ffmpeg", ["-v", "error", "-i", flac, "-t", "0.1", "-c:a", "flac", folder.file("t.oga")])
    let sources = [
      folder.file("whole.wav"), flac, folder.file("t.oga"), Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"),
    ]
    for source in sources {
      let whole = try readBytes(source).prefix(12_000)
      for length in stride(from: 0, to: whole.count, by: 41) where length < 200 || length % 16 == 0 {
        _ = try survives(folder.write(Array(whole[..<length]), to: "damaged"))
      }
      for _ in 0..<150 {
        var bytes = Array(whole)
        for _ in 0..<4 {
          let offset = Int.random(in: 0..<(Bool.random(using: &random) ? 100 : bytes.count), using: &random)
          bytes[offset] = UInt8(truncatingIfNeeded: random.next())
        }
        _ = try survives(folder.write(bytes, to: "damaged"))
      }
    }
    #expect(peakMemory() - before < memoryLimit)
  }

  /// Opens, seeks in and reads the file at `path`; any error must be an `AudioError`.
  /// - Returns: `true` if it could be opened.
  private func survives(_ path: String) throws -> Bool {
    do {
      let decoder = try AudioFile.open(path)
      var samples = [Float](repeating: 0, count: 4096 * 32)
      if let count = decoder.frameCount { try decoder.seek(toFrame: count / 2) }
      var rounds = 0
      while rounds < 100, try samples.withUnsafeMutableBufferPointer({ try decoder.read(into: $0) }) > 0 {
        rounds += 1
      }
      return true
    } catch is AudioError {
      return false
    }
  }
}
