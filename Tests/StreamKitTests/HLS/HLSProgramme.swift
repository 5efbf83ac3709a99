import EventLoop
import Glibc
import TestSupport

@testable import Reception
@testable import StreamCore

/// A programme in segments of one second, made by ffmpeg's muxer, and the frames that it was made of.
struct HLSProgramme: Sendable {
  /// The containers of segments.
  enum Kind: String, CaseIterable, Sendable {
    case transport, transportMP3, packed, packedMP3, fragments, encrypted

    var isMP3: Bool { self == .transportMP3 || self == .packedMP3 }
  }

  /// Seconds of the programme.
  static let length = 60

  let kind: Kind
  let segments: [(name: String, duration: Double, bytes: [UInt8])]
  /// Lines in front of the first segment: the key, the initialization section.
  let tags: [String]
  /// Other files by their names.
  let files: [String: [UInt8]]
  /// The frames of the source, without the headers of ADTS, which a container may replace.
  let frames: [[UInt8]]

  private static let made = Lock<[Kind: HLSProgramme]>([:])

  /// Returns the programme of a kind, which is made once.
  static func of(_ kind: Kind) throws -> HLSProgramme {
    try made.withLock { made in
      if let programme = made[kind] { return programme }
      let programme = try HLSProgramme(kind)
      made[kind] = programme
      return programme
    }
  }

  private init(_ kind: Kind) throws {
    self.kind = kind
    let folder = try TemporaryFolder()
    let source = folder.file(kind.isMP3 ? "source.mp3" : "source.aac")
    let sound = [
      "-f", "lavfi", "-i", "anoisesrc=d=\(Self.length):c=pink:r=44100:a=0.3:seed=7", "-ac", "2", "-b:a",
      "96k",
    ]
    try Command.succeed(
      "ffmpeg",
      ["-v", "error"] + sound + (kind.isMP3 ? ["-write_xing", "0", "-id3v2_version", "0"] : []) + [source])
    frames = Self.payloads(of: try readBytes(source))
    let list = folder.file("index.m3u8")
    var options = ["-v", "error", "-i", source, "-c", "copy"]
    func segments(_ end: String) -> [String] { ["-hls_segment_filename", folder.file("s%03d.\(end)")] }
    let hls = ["-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod"]
    switch kind {
    case .transport, .transportMP3: options += hls + segments("ts")
    case .fragments:
      options +=
        ["-bsf:a", "aac_adtstoasc"] + hls + [
          "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4",
        ]
        + segments("m4s")
    case .packed, .packedMP3:
      let end = kind == .packed ? "aac" : "mp3"
      options += [
        "-f", "segment", "-segment_time", "1", "-segment_list", list, "-segment_list_type", "hls",
        "-segment_format", kind == .packed ? "adts" : "mp3",
      ]
      if kind == .packedMP3 { options += ["-segment_format_options", "write_xing=0:id3v2_version=0"] }
      options.append(folder.file("s%03d.\(end)"))
    case .encrypted:
      let (key, info) = (folder.file("key.bin"), folder.file("info"))
      try write((0..<16).map { UInt8($0 * 7 + 3) }, to: key)
      try write(Array("key.bin\n\(key)\n".utf8), to: info)
      options += hls + ["-hls_key_info_file", info] + segments("ts")
    }
    if kind != .packed, kind != .packedMP3 { options.append(list) }
    try Command.succeed("ffmpeg", options)
    let text = String(decoding: try readBytes(list), as: UTF8.self)
    guard case .media(let media) = try HLSPlaylist(Array(text.utf8), url: "index.m3u8") else {
      throw TestFailure("ffmpeg made no list of segments")
    }
    self.segments = try media.segments.map {
      ($0.reference, $0.duration, try readBytes(folder.file($0.reference)))
    }
    tags = text.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-KEY") || $0.hasPrefix("#EXT-X-MAP") }
      .map(String.init)
    var files: [String: [UInt8]] = [:]
    for name in ["key.bin", "init.mp4"] { files[name] = try? readBytes(folder.file(name)) }
    self.files = files
  }

  /// Returns the frames of a stream, those of ADTS without their headers.
  static func payloads(of bytes: [UInt8]) -> [[UInt8]] {
    StreamFramer.frames(of: bytes).map { payload(Array(bytes[$0.offset..<($0.offset + $0.length)])) }
  }

  /// Returns a frame, one of ADTS without its header.
  static func payload(_ frame: [UInt8]) -> [UInt8] {
    frame[1] & 0xF6 == 0xF0 ? Array(frame.dropFirst(frame[1] & 1 == 1 ? 7 : 9)) : frame
  }

  /// Returns the numbers of frames of the source; −1 for one that is none.
  func numbers(of frames: [[UInt8]]) -> [Int] {
    let places = Dictionary(self.frames.enumerated().map { ($1, $0) }, uniquingKeysWith: { one, _ in one })
    return frames.map { places[Self.payload($0)] ?? -1 }
  }

  /// The number of the first frame of each segment, and of the one behind the last.
  func borders() throws -> [Int] {
    var sound = HLSSound()
    var (count, borders) = (0, [0])
    for segment in segments {
      try feed(segment.bytes, to: &sound) { count += 1 }
      // Its last frame comes with the next segment.
      borders.append(count + 1)
    }
    return borders
  }

  /// The segment with which a listener of a window of six begins.
  var start: Int {
    get throws {
      let lines = segments.prefix(6).map { "#EXTINF:\($0.duration),\nx" }
      let text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + lines.joined(separator: "\n")
      guard case .media(let media) = try HLSPlaylist(Array(text.utf8), url: "u") else { return 0 }
      return media.start
    }
  }

  /// Feeds a segment that is not encrypted to the demuxers.
  func feed(_ bytes: [UInt8], to sound: inout HLSSound, _ frame: () -> Void) throws {
    func receive(_ item: HLSSound.Item) -> Bool {
      if case .frame = item { frame() }
      return true
    }
    try sound.begin(title: nil, initialization: files["init.mp4"], isContinuous: true) { receive($0) }
    try bytes.withUnsafeBytes { try sound.consume($0) { receive($0) } }
    try sound.endSegment { receive($0) }
  }
}

/// Writes a file.
private func write(_ bytes: [UInt8], to path: String) throws {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
  guard descriptor >= 0 else { throw TestFailure("can't write \(path)") }
  defer { close(descriptor) }
  guard bytes.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else {
    throw TestFailure("can't write \(path)")
  }
}

/// A station that serves a window of a programme, which a test moves.
final class HLSStation: Sendable {
  struct Window: Sendable {
    /// The first segment of the list.
    var first = 0
    /// The segments in it.
    var count = 6
    var isEnded = false
    /// Added to the numbers of segments.
    var shift = 0
    /// Seconds, as the list states them.
    var targetDuration = 1
    /// Segments of addresses that do not work here, in front of the last three.
    var unusable = 0
    /// True if each answer names segments of a session of its own.
    var hasSessions = false
  }

  let station: Station
  let programme: HLSProgramme
  /// The answer that is the list.
  let list: Answer
  private let window: Lock<Window>

  init(_ kind: HLSProgramme.Kind, window: Window = Window()) throws {
    (station, programme) = (try Station(), try HLSProgramme.of(kind))
    self.window = Lock(window)
    let make = Self.list(self.window, programme)
    list = .page(type: "application/vnd.apple.mpegurl") { make() }
    for (index, segment) in programme.segments.enumerated() {
      answer(index, with: .file(segment.bytes, type: "video/mp2t"))
    }
    for (name, bytes) in programme.files {
      station.answer("/live/\(name)", with: .file(bytes, type: "video/mp4"))
    }
    station.answer("/live/index.m3u8", with: list)
  }

  var url: String { station.url("/live/index.m3u8") }

  /// Changes the window.
  func change(_ body: (inout Window) -> Void) { window.withLock { body(&$0) } }

  /// The number of folders in which sessions have the segments.
  static let sessions = 12

  private static func list(_ window: Lock<Window>, _ programme: HLSProgramme) -> @Sendable () -> String {
    let asked = Lock(0)
    return {
      let now = window.withLock { $0 }
      var lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(now.targetDuration)"]
      lines.append("#EXT-X-MEDIA-SEQUENCE:\(now.first + now.shift)")
      lines += programme.tags
      let end = min(programme.segments.count, now.first + now.count)
      let session = asked.withLock { number in
        number += 1
        return now.hasSessions ? ("s\(number % sessions)/", "?token=\(number)") : ("", "")
      }
      for index in now.first..<end {
        if index == end - 3 {
          lines += repeatElement("#EXTINF:1,\nftp://x/x.ts", count: now.unusable)
        }
        let segment = programme.segments[index]
        lines += ["#EXTINF:\(segment.duration),", session.0 + segment.name + session.1]
      }
      if now.isEnded { lines.append("#EXT-X-ENDLIST") }
      return lines.joined(separator: "\n") + "\n"
    }
  }

  /// Sets the answers for a segment, in these sessions: each list begins one, the first is 1.
  func answer(_ segment: Int, in chosen: some Sequence<Int> = 0..<sessions, with answers: Answer...) {
    let name = programme.segments[segment].name
    station.answer("/live/\(name)", with: answers)
    for session in chosen { station.answer("/live/s\(session)/\(name)", with: answers) }
  }

  /// Returns the requests for a segment.
  func visits(to segment: Int) -> [Visit] {
    let name = programme.segments[segment].name
    return station.visits.filter { $0.target.contains(name) }
  }

  /// Waits until a listener has asked for a segment.
  func wait(for segment: Int) -> Bool {
    for _ in 0..<3_000 {
      if visits(to: segment).contains(where: { !$0.isOpen }) { return true }
      usleep(10_000)
    }
    return false
  }
}
