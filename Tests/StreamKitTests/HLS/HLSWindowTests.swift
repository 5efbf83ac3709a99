import Codecs
import EventLoop
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("the window of a list of HLS", .tags(.stream, .hls)) struct HLSWindowTests {
  private let url: StreamAddress = "http://radio.example/live.m3u8"
  private let error = StreamError(.notFound, "gone")

  /// A window that lists 10 to 19 of 4 s, and a buffer that begins with 16.
  private func window(isStart: Bool = true, absent: Int? = nil) -> HLSWindow {
    var media = HLSMedia(sequence: 10, targetDuration: 4)
    media.segments = (10..<20).map {
      var segment = HLSSegment(sequence: $0, reference: "s\($0)", duration: 4)
      segment.isAbsent = $0 == absent
      return segment
    }
    var window = HLSWindow()
    window.follow(media, at: url, of: url)
    for (number, time) in [(16, 0.0), (17, 4), (18, 8)] {
      window.mark(.init(number: number, time: StreamTime(seconds: time), isStart: isStart && number == 16))
    }
    return window
  }

  private func words(_ actions: [HLSWindow.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .fetch(let piece): "\(piece.segment.sequence)\(piece.isContinuous ? "" : " new")"
      case .discard: "discard"
      case .deliver(let isAligned, let error):
        "deliver \(isAligned ? "aligned" : "within") \(error?.code ?? "whole")"
      }
    }
  }

  @Test("a player is to be three target durations behind the end") func lead() {
    #expect(window().lead == 12)
    #expect(HLSWindow().lead == 0)
  }

  @Test("the live position leaves a player what is heard until more comes, or what it waits for") func live()
  {
    let buffer = StreamBuffer(blocks: 100, wait: StreamTime(seconds: 2))
    let format = StreamFormat(codec: .aac, sampleRate: 44_100, channels: 2)
    let bytes = [UInt8](repeating: 1, count: 200)
    for number in 0..<441 {
      let frame = StreamFrame(
        offset: number * 200, length: 200, hash: UInt64(number), format: format, samples: 1000)
      bytes.withUnsafeBytes { _ = buffer.append(frame, $0, nil) }
    }
    #expect(buffer.live.seconds == 8)
    buffer.setEarlier(.zero, lead: StreamTime(seconds: 6))
    #expect(buffer.live.seconds == 4 && buffer.secondsAhead == 10)
    buffer.keepUnheard(true)
    #expect(buffer.secondsAhead == nil)
  }

  @Test("reaches as far as segments are listed without a hole")
  func reach() {
    var whole = window()
    #expect(whole.reach(before: .zero) == 24)
    var broken = window(absent: 12)
    #expect(broken.reach(before: .zero) == 12)
    // The oldest frames have been evicted.
    #expect(whole.reach(before: StreamTime(seconds: 5)) == 28)
    whole.reset()
    #expect(whole.reach(before: .zero) == 0)
  }

  @Test("requests the segments from the one with the time up to the buffer")
  func request() {
    var window = window()
    #expect(words(window.request(from: StreamTime(seconds: -7), before: .zero)) == ["discard", "14 new"])
    // A later time comes with it, an earlier one begins anew.
    #expect(words(window.request(from: StreamTime(seconds: -3), before: .zero)) == [])
    #expect(words(window.request(from: StreamTime(seconds: -8.1), before: .zero)) == ["discard", "13 new"])
    #expect(words(window.segmentReceived()) == ["14"])
    #expect(words(window.segmentReceived()) == ["15"])
    #expect(words(window.segmentReceived()) == ["deliver aligned whole"])
    window.extend(to: StreamTime(seconds: -12))
    #expect(window.reach(before: StreamTime(seconds: -12)) == 12)
    #expect(
      words(window.request(from: StreamTime(seconds: -100), before: StreamTime(seconds: -12))) == [
        "discard", "10 new",
      ])
  }

  @Test("a buffer that begins within a segment is met in that segment")
  func within() {
    var window = window(isStart: false)
    #expect(words(window.request(from: StreamTime(seconds: -3), before: .zero)) == ["discard", "15 new"])
    #expect(words(window.segmentReceived()) == ["16"])
    #expect(words(window.segmentReceived()) == ["deliver within whole"])
  }

  @Test("a segment that fails is requested again, and left out with all in front of it")
  func failure() {
    var window = window()
    _ = window.request(from: StreamTime(seconds: -11), before: .zero)
    _ = window.segmentReceived()
    #expect(words(window.segmentFailed(error, .connection)) == ["discard", "13 new"])
    _ = window.segmentReceived()
    #expect(words(window.segmentFailed(error, .connection)) == ["discard", "15 new"])
    #expect(words(window.segmentReceived()) == ["deliver aligned stream.not_found"])
    #expect(words(window.segmentReceived()) == [])
    _ = window.request(from: StreamTime(seconds: -3), before: .zero)
    #expect(words(window.segmentFailed(error, .content)) == ["discard", "deliver aligned stream.not_found"])
  }

  @Test("sound that repeats is joined where its length says")
  func silence() {
    #expect(HLSWindow.join([1, 2, 3, 4, 5], to: [4, 5, 6], near: 0) == 3)
    #expect(HLSWindow.join([0, 0, 0, 0, 0], to: [0, 0], near: 3) == 3)
    #expect(HLSWindow.join([1, 2, 3], to: [4], near: 1) == nil)
    #expect(HLSWindow.join([1, 2, 3], to: [], near: 1) == nil)
  }
}

@Suite("a list of HLS that is a file", .tags(.stream, .hls, .files)) struct HLSFileTests {
  private let frame = StreamFrame(
    offset: 0, length: 300, hash: 1, format: StreamFormat(codec: .aac, sampleRate: 44_100, channels: 2),
    samples: 1024)

  private func file(_ count: Int, of seconds: Double, from sequence: Int = 0, breaks: Int? = nil) -> HLSFile {
    var media = HLSMedia(sequence: sequence, targetDuration: seconds, isEnded: true)
    media.segments = (0..<count).map {
      var segment = HLSSegment(sequence: sequence + $0, reference: "s\($0)", duration: seconds)
      segment.isDiscontinuous = $0 == breaks
      return segment
    }
    return HLSFile(media)
  }

  @Test("lengths that are rounded are mended by the clocks of segments, and times are those of frames")
  func clocks() {
    // 4 s in the list, 4.2 s in truth; the clock passes the end of its 33 bits.
    var file = file(200, of: 4, from: 7)
    func ticks(_ number: Int) -> Int { ((1 << 33) - 90_000 + (number - 7) * 378_000) % (1 << 33) }
    #expect(file.place(7, frame, ticks: ticks(7)) == .next)
    let wanted = StreamTime(seconds: 420)
    #expect(file.seek(to: wanted, generation: 1) == 7 + 104)
    guard case .other(let number) = file.place(111, frame, ticks: ticks(111)) else {
      Issue.record("a segment that begins too late is not kept")
      return
    }
    #expect(number == 7 + 99)
    guard case .begins(let time) = file.place(number, frame, ticks: ticks(number)) else {
      Issue.record("the segment with the time is kept")
      return
    }
    #expect(time.ticks % frame.duration.ticks == 0 && abs(time.seconds - 99 * 4.2) < 0.012, "\(time)")
    #expect(file.target == nil && file.place(107, frame, ticks: ticks(107)) == .next)
  }

  @Test("behind a discontinuity, and without clocks, the lengths of the list count")
  func lengths() {
    var file = file(50, of: 4, breaks: 20)
    _ = file.place(0, frame, ticks: 1000)
    #expect(file.seek(to: StreamTime(seconds: 100), generation: 1) == 24)
    #expect(file.place(24, frame, ticks: 77) == .begins(StreamTime(ticks: frame.duration.ticks * 4134)))
    _ = file.seek(to: StreamTime(seconds: 20), generation: 2)
    #expect(file.place(4, frame, ticks: nil) == .begins(StreamTime(ticks: frame.duration.ticks * 689)))
    #expect(file.seek(to: .zero, generation: 3) == 0 && file.place(0, frame, ticks: nil) == .begins(.zero))
  }

  @Test("segments of a billion seconds, and none at all, are no reason to fail")
  func odd() {
    var long = file(3_000, of: 1e9)
    let number = long.seek(to: StreamTime(seconds: 1e13), generation: 1)
    if case .begins(let time) = long.place(number, frame, ticks: 5) { #expect(time > .zero) }
    if case .begins(let time) = long.place(2_999, frame, ticks: nil) { #expect(time > .zero) }
    var none = file(0, of: 0, from: 9)
    #expect(none.seek(to: .zero, generation: 1) == 9 && none.place(9, frame, ticks: nil) == .next)
  }
}
