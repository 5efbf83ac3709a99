import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import StreamCore

/// Connections to a station of Ogg: each begins with the headers, and then with some earlier page.
@Suite("Connections to Ogg are stitched", .waiting, .tags(.stream, .ogg, .stitching)) struct OggStitchingTests
{
  /// Feeds pages to a stitcher, and collects what it delivers.
  private struct Line {
    var stitcher = Stitcher()
    var delivered: [UInt64] = []
    var gap: Double?
    var overlap: Int?

    mutating func receive(_ frames: some Sequence<(frame: StreamFrame, bytes: [UInt8])>, at time: Double) {
      for (frame, bytes) in frames {
        let action = bytes.withUnsafeBytes { stitcher.receive(frame, $0, at: time) }
        switch action {
        case .pass: delivered.append(frame.hash)
        case .hold: continue
        case .joined(let count, _): overlap = count
        case .gap(let seconds): gap = seconds
        }
        stitcher.release { frame, _ in
          delivered.append(frame.hash)
          return true
        }
      }
    }
  }

  private static let vorbis = Result {
    try OggProgramme(.vorbis, seconds: 20, titles: ["A - One", "A - Two"]).frames
  }

  @Test("pages that come again are left out, also a single one", arguments: [1, 2, 8])
  func overlap(count: Int) throws {
    let frames = try Self.vorbis.get()
    var line = Line()
    line.receive(frames[..<20], at: 10)
    _ = line.stitcher.lost(at: 10)
    line.receive([frames[0]] + frames[(20 - count)...], at: 12)
    #expect(line.overlap == count && line.gap == nil)
    #expect(line.delivered == frames.map(\.frame.hash))
  }

  @Test(
    "pages that are missing or damaged within a connection are a gap of their length",
    arguments: OggProgramme.Kind.allCases, [false, true])
  func missing(kind: OggProgramme.Kind, isDamaged: Bool) throws {
    let programme = try OggProgramme(kind, seconds: 6)
    let frames = programme.frames
    var bytes = programme.bytes
    let lost = frames[6].frame.offset..<frames[8].frame.offset
    if isDamaged {
      for frame in frames[6..<8] { bytes[frame.frame.offset + 60] ^= 0x55 }
    } else {
      bytes.removeSubrange(lost)
    }
    var line = Line()
    let left = OggProgramme.frames(of: bytes, pieces: 5_000)
    line.receive(left, at: 10)
    #expect(line.delivered == left.map(\.frame.hash) && line.delivered.count == frames.count - 2)
    let gap = try #require(line.gap)
    let sound = left.reduce(0) { $0 + $1.frame.duration.seconds }
    #expect(abs(sound + gap - 6) < 0.001 && gap > 0.7, "\(sound) + \(gap)")
    // The number of a page may begin anew with its stream only.
    var whole = Line()
    whole.receive(frames, at: 10)
    #expect(whole.gap == nil)
  }

  @Test("the very next page joins though none came again") func next() throws {
    let frames = try Self.vorbis.get()
    var line = Line()
    line.receive(frames[..<20], at: 10)
    _ = line.stitcher.lost(at: 10)
    line.receive([frames[0]] + frames[20...], at: 12)
    #expect(line.overlap == 0 && line.gap == nil)
    #expect(line.delivered == frames.map(\.frame.hash))
  }

  @Test("a gap is as long as the positions say, and reported at once") func gap() throws {
    let frames = try Self.vorbis.get()
    var line = Line()
    line.receive(frames[..<20], at: 10)
    _ = line.stitcher.lost(at: 10)
    // A connection begins with pages of a stream of its own: their first packet gives no sound.
    let later = OggProgramme.frames(of: frames[0].bytes + frames[26...30].flatMap(\.bytes))
    line.receive(later, at: 13)
    let missing = frames[20..<26].reduce(0) { $0 + $1.frame.duration.seconds }
    #expect(abs((line.gap ?? 0) - missing) < 0.05, "\(line.gap ?? 0) for \(missing)")
    #expect(line.delivered == frames[..<20].map(\.frame.hash) + frames[26...30].map(\.frame.hash))
  }

  @Test("a connection that begins in the stream before joins behind the headers of this one") func chained()
    throws
  {
    let frames = try Self.vorbis.get()
    let second = try #require(frames.lastIndex { $0.frame.isHeaders })
    var line = Line()
    line.receive(frames[..<(second + 3)], at: 10)
    _ = line.stitcher.lost(at: 10)
    line.receive([frames[0]] + frames[(second - 4)...], at: 11)
    #expect(line.overlap != nil && line.gap == nil)
    #expect(line.delivered == frames.map(\.frame.hash))
  }

  @Test("another programme is a gap, with its headers") func other() throws {
    let (frames, other) = (
      try Self.vorbis.get(), try OggProgramme(.vorbis, seconds: 20, titles: ["B - Three"]).frames
    )
    var line = Line()
    line.receive(frames[..<20], at: 10)
    _ = line.stitcher.lost(at: 10)
    for (index, frame) in other.enumerated() { line.receive([frame], at: 12 + Double(index) / 4) }
    #expect(abs((line.gap ?? 0) - 2) < 1.1, "\(line.gap ?? 0)")
    // Twice as fast as it is heard, the first of it counts as sound from before; its headers are kept.
    #expect(Array(line.delivered[..<21]) == frames[..<20].map(\.frame.hash) + [other[0].frame.hash])
    #expect(Set(other.suffix(30).map(\.frame.hash)).isSubset(of: line.delivered))
  }
}
