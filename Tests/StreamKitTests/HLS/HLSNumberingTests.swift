import EventLoop
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("numbers of segments that change", .tags(.stream, .hls)) struct HLSNumberingTests {
  private let url: StreamAddress = "http://radio.example/live.m3u8"
  private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  /// A list of segments of 2 s, whose files are numbered otherwise.
  /// - Parameters:
  ///   - shift: the number of a segment, less that of its file.
  ///   - name: the beginning of the names.
  ///   - hasDates: true for dates, two seconds for each file.
  private func list(
    _ files: Range<Int>, shift: Int = 0, name: String = "s", hasDates: Bool = false, isEnded: Bool = false
  ) -> HLSPlaylist {
    var media = HLSMedia(sequence: files.lowerBound + shift, targetDuration: 2)
    media.segments = files.map { file in
      var segment = HLSSegment(sequence: file + shift, reference: "\(name)\(file).ts", duration: 2)
      if hasDates { segment.date = 1_000_000 + Double(file) * 2 }
      return segment
    }
    media.isEnded = isEnded
    return .media(media)
  }

  /// A follower that has received the segments 10 to 15, at 0.5 s.
  private func follower(hasDates: Bool = false) -> HLSFollower {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16, hasDates: hasDates), at: url, at: at(0))
    for _ in 0..<3 { _ = follower.segmentReceived(at: at(0.5)) }
    return follower
  }

  /// The files that are requested of a list, and the seconds that are lost in front, as it comes at a time.
  private func files(
    _ follower: inout HLSFollower, _ list: HLSPlaylist, at time: Double
  ) -> (files: [String], lost: Double, mayRepeat: Bool) {
    _ = follower.deadlinePassed(received: 0, at: at(time))
    var (files, lost, mayRepeat): ([String], Double, Bool) = ([], 0, false)
    var actions = follower.loaded(list, at: url, at: at(time))
    while true {
      var isFetching = false
      for action in actions {
        if case .lost(let seconds) = action { lost += seconds }
        if case .fetch(let piece) = action {
          files.append(piece.segment.reference)
          (isFetching, mayRepeat) = (true, mayRepeat || piece.mayRepeat)
        }
      }
      guard isFetching else { return (files, lost, mayRepeat) }
      actions = follower.segmentReceived(at: at(time))
    }
  }

  @Test(
    "segments that are the same under other numbers are continued where they were",
    arguments: [1000, 1, -3, -9, -497])
  func renumbered(shift: Int) {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(500..<506), at: url, at: at(0))
    for _ in 0..<3 { _ = follower.segmentReceived(at: at(0.5)) }
    let found = files(&follower, list(501..<507, shift: shift), at: 2)
    #expect(found.files == ["s506.ts"] && found.lost == 0 && !found.mayRepeat, "\(found)")
    #expect(follower.renumberings == 1)
    let next = files(&follower, list(502..<508, shift: shift), at: 4)
    #expect(next.files == ["s507.ts"] && next.lost == 0, "\(next)")
    #expect(follower.renumberings == 1)
  }

  @Test("numbers that go back with each copy repeat nothing") func backwards() {
    var follower = follower()
    for step in 1...6 {
      let found = files(&follower, list((10 + step)..<(16 + step), shift: -2 * step), at: Double(2 * step))
      #expect(found.files == ["s\(15 + step).ts"] && found.lost == 0, "\(found)")
    }
  }

  @Test("of a list in which nothing is recognised all may be new, and its frames are compared") func unknown()
  {
    var follower = follower()
    let found = files(&follower, list(20..<30, shift: 900, name: "n"), at: 4)
    // That of 4 s, and of three target durations.
    #expect(found.files == (25..<30).map { "n\($0).ts" } && found.lost == 0 && found.mayRepeat, "\(found)")
    let later = files(&follower, list(50..<53, shift: -50, name: "m"), at: 24)
    #expect(later.files == (50..<53).map { "m\($0).ts" } && later.lost == 14, "\(later)")
  }

  @Test("segments without known names are recognised by their dates, which measure a gap, too") func dates() {
    var follower = follower(hasDates: true)
    let found = files(&follower, list(11..<17, shift: 700, name: "n", hasDates: true), at: 2)
    #expect(found.files == ["n16.ts"] && found.lost == 0 && !found.mayRepeat, "\(found)")
    let later = files(&follower, list(20..<26, shift: -20, name: "x", hasDates: true), at: 20)
    #expect(later.files == (20..<26).map { "x\($0).ts" } && later.lost == 6, "\(later)")
  }

  @Test("numbers that have grown as time has are right, whatever names come again") func wrapped() {
    var follower = HLSFollower(rateLimit: 320_000)
    func wrapped(_ numbers: Range<Int>) -> HLSPlaylist {
      var media = HLSMedia(sequence: numbers.lowerBound, targetDuration: 2)
      media.segments = numbers.map {
        HLSSegment(sequence: $0, reference: "s\($0 % 10).ts", duration: 2)
      }
      return .media(media)
    }
    _ = follower.open(wrapped(10..<16), at: url, at: at(0))
    for _ in 0..<3 { _ = follower.segmentReceived(at: at(0.5)) }
    let found = files(&follower, wrapped(22..<28), at: 24)
    #expect(found.files == (22..<28).map { "s\($0 % 10).ts" } && found.lost == 12, "\(found)")
  }

  @Test("behind a list that was stale what it has lost meanwhile is the gap, however often it was asked for")
  func stale() {
    var follower = follower()
    for second in 2..<22 {
      #expect(files(&follower, list(10..<16), at: Double(second)).files == [])
    }
    // Also over a connection that was closed meanwhile.
    follower.close(received: 0)
    _ = follower.open(list(10..<16), at: url, at: at(21))
    let found = files(&follower, list(21..<27), at: 23)
    #expect(found.files.first == "s21.ts" && found.lost == 10, "\(found)")
  }

  @Test("a live list that ends is received to its end, and complete then") func ends() {
    var follower = follower()
    _ = follower.deadlinePassed(received: 0, at: at(2))
    var actions = follower.loaded(list(11..<18, isEnded: true), at: url, at: at(2))
    actions += follower.segmentReceived(at: at(2.5)) + follower.segmentReceived(at: at(3))
    #expect(actions.last == .complete, "\(actions)")
    #expect(actions.count { if case .fail = $0 { true } else { false } } == 0)
    #expect(follower.deadline == nil)
  }

  @Test(
    "dates of any zone, with and without fractions",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-01-05T06:45:00.250+01:00", 1_767_591_900.25),
      ("2000-02-29T23:59:59-0330", 951_881_399), ("2026-01-05T06:45:00", 1_767_595_500),
    ])
  func date(text: String, seconds: Double) {
    #expect(HLSDate.seconds(text).map { abs($0 - seconds) < 0.001 } == true, "\(HLSDate.seconds(text) ?? -1)")
  }

  @Test(
    "text that is no date is none", arguments: ["", "yesterday", "2026-13-01T00:00:00Z", "2026-01-05T06:45"])
  func noDate(text: String) { #expect(HLSDate.seconds(text) == nil) }
}
