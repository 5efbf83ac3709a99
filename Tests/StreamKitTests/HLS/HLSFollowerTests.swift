import EventLoop
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("following a list of HLS", .tags(.stream, .hls)) struct HLSFollowerTests {
  private let url: StreamAddress = "http://radio.example/live.m3u8"
  private let error = StreamError(.network, "gone")
  private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  private func list(_ numbers: Range<Int>, length: Double = 4, isEnded: Bool = false, name: String = "s")
    -> HLSPlaylist
  {
    var media = HLSMedia(sequence: numbers.lowerBound, targetDuration: length)
    media.segments = numbers.map { HLSSegment(sequence: $0, reference: "\(name)\($0)", duration: length) }
    media.isEnded = isEnded
    return .media(media)
  }

  /// The actions in words: the number of a segment, "load", "lost 4", …
  private func words(_ actions: [HLSFollower.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .load(let address): "load \(address.path)"
      case .fetch(let piece): "\(piece.segment.sequence)\(piece.isContinuous ? "" : " new")"
      case .cancelFetch: "cancel"
      case .lost(let seconds): "lost \(seconds)"
      case .file(let media): "file \(media.duration)"
      case .grown: "grown"
      case .report(let error): "report \(error.code)"
      case .fail(let error, let wait):
        "fail \(error.code)\(wait > .zero ? " after \(Int(wait.inSeconds))" : "")"
      case .complete: "complete"
      }
    }
  }

  @Test("asks again after a target duration, after half of one while nothing is new")
  func reload() {
    var follower = HLSFollower(rateLimit: 320_000)
    #expect(words(follower.open(list(10..<16), at: url, at: at(0))) == ["grown", "13 new"])
    #expect(words(follower.segmentReceived(at: at(0.1))) == ["14"])
    #expect(words(follower.segmentReceived(at: at(0.2))) == ["15"])
    #expect(words(follower.segmentReceived(at: at(0.3))) == [])
    #expect(follower.deadline == at(4))
    #expect(words(follower.deadlinePassed(received: 0, at: at(4))) == ["load /live.m3u8"])
    #expect(words(follower.loaded(list(10..<16), at: url, at: at(4.1))) == [])
    #expect(follower.deadline == at(6))
    #expect(words(follower.deadlinePassed(received: 0, at: at(6))) == ["load /live.m3u8"])
    #expect(words(follower.unchanged(at: at(6.1))) == [])
    #expect(follower.deadline == at(8))
    #expect(words(follower.deadlinePassed(received: 0, at: at(8))) == ["load /live.m3u8"])
    #expect(words(follower.loaded(list(11..<17), at: url, at: at(8.1))) == ["grown", "16"])
    #expect(follower.deadline == at(12))
  }

  @Test("a target duration of 0 is no reason to ask without end")
  func zero() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(0..<0, length: 0), at: url, at: at(0))
    #expect(follower.deadline == at(1))
    _ = follower.deadlinePassed(received: 0, at: at(1))
    _ = follower.loaded(list(0..<0, length: 0), at: url, at: at(1))
    #expect(follower.deadline == at(1.5))
  }

  @Test("of a list of many versions without a list 20 are tried, then the connection has failed")
  func deadVersions() {
    var follower = HLSFollower(rateLimit: 320_000)
    var master = HLSMaster()
    master.variants = (0..<20_000).map { .init(reference: "v\($0)", bitRate: 64_000, kind: .audio) }
    for connection in 0..<2 {
      let now = at(Double(connection))
      var actions = words(follower.open(.master(master), at: url, at: now))
      var loads = 0
      while actions.first?.hasPrefix("load") == true {
        loads += 1
        actions = words(follower.loadFailed(error, .content, at: now))
      }
      #expect(loads == 20)
      #expect(actions == ["fail stream.network"])
      follower.close(received: 0)
    }
    // A list that comes is the beginning of a new count.
    var actions = words(follower.open(.master(master), at: url, at: at(2)))
    for _ in 0..<10 { actions = words(follower.loadFailed(error, .content, at: at(2))) }
    #expect(actions == ["load /v50"])
    _ = follower.loaded(list(0..<6), at: url, at: at(3))
    for _ in 0..<15 { actions = words(follower.loadFailed(error, .content, at: at(3))) }
    #expect(actions.first?.hasPrefix("load") == true || actions.isEmpty)
  }

  @Test("after an outage it continues with the segment under way; what the list has lost is a gap")
  func outage() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    _ = follower.segmentReceived(at: at(1))
    follower.close(received: 1.5)
    #expect(words(follower.open(list(12..<18), at: url, at: at(9))) == ["grown", "14"])
    follower.close(received: 1.5)
    // 14 but for what came of it, 15 to 17, which were listed, and 18, 19.
    #expect(words(follower.open(list(20..<26), at: url, at: at(60))) == ["grown", "lost 22.5", "20 new"])
  }

  /// A failure of a segment.
  private func fail(
    _ follower: inout HLSFollower, _ failure: HLSFailure = .answer(retryAfter: .zero), received: Double = 0,
    hasSound: Bool = true, at time: Double
  ) -> [String] {
    words(follower.segmentFailed(error, failure, received: received, hasSound: hasSound, at: at(time)))
  }

  @Test("a segment that a live list has is asked for again for three target durations, and then left out")
  func failure() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    var (time, attempts, actions) = (1.0, 1, fail(&follower, received: 1, at: 1))
    while actions.isEmpty, let due = follower.deadline, attempts < 100 {
      time = Double(due.nanoseconds) / 1e9
      let passed = words(follower.deadlinePassed(received: 1, at: due))
      // The list still has it.
      if passed.contains("load /live.m3u8") { _ = follower.loaded(list(10..<16), at: url, at: due) }
      if passed.contains("13 new") {
        attempts += 1
        actions = fail(&follower, received: 1, at: time)
      }
    }
    #expect(actions == ["report stream.network", "lost 3.0", "14 new"])
    #expect((13...15.5).contains(time) && (6...12).contains(attempts), "\(time) \(attempts)")
    // Without an answer the connection is lost, with what is damaged the segment.
    #expect(fail(&follower, .connection, at: 16) == ["fail stream.network"])
    var other = HLSFollower(rateLimit: 320_000)
    _ = other.open(list(10..<16), at: url, at: at(0))
    #expect(fail(&other, .content, at: 1) == ["report stream.network", "lost 4.0", "14 new"])
  }

  @Test("a segment that stays away is left for a later one while a player has sound, but never at once")
  func supplied() {
    /// The moments of the attempts for segment 10 until the next one is requested, as a player hears its sound.
    func attempts(ahead: Double, listed: Range<Int>, retryAfter: Duration = .zero) -> [Double] {
      var follower = HLSFollower(rateLimit: 320_000)
      _ = follower.open(list(listed), at: url, at: at(0))
      var (time, attempts) = (0.0, [0.0])
      while attempts.count < 50 {
        let actions = follower.segmentFailed(
          error, .answer(retryAfter: retryAfter), received: 0, hasSound: true, ahead: ahead - time,
          at: at(time))
        guard actions.isEmpty else { break }
        while true {
          guard let due = follower.deadline else { return attempts }
          time = Double(due.nanoseconds) / 1e9
          let words = words(follower.deadlinePassed(received: 0, at: due))
          if words.contains(where: { $0.hasPrefix("load") }) { _ = follower.unchanged(at: due) }
          if words.contains("\(listed.lowerBound) new") { break }
        }
        attempts.append(time)
      }
      return attempts
    }
    // Segments of 4 s: the next one needs 2 s.
    let supplied = attempts(ahead: 6, listed: 10..<13)
    #expect(supplied.last == 4 && supplied.count > 3, "\(supplied)")
    #expect(attempts(ahead: 1, listed: 10..<13) == [0, 0.5])
    // A server that wants more time than there is gets no second request.
    #expect(attempts(ahead: 6, listed: 10..<13, retryAfter: .seconds(5)) == [0])
    #expect(attempts(ahead: 6, listed: 10..<13, retryAfter: .seconds(3)) == [0, 3])
    // Without a later one it is waited for.
    #expect(attempts(ahead: 1, listed: 10..<11).last.map { $0 >= 11 } == true)
  }

  @Test("a segment that the list has lost is waited for no longer, and one that comes is in its place")
  func waiting() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    #expect(fail(&follower, at: 1) == [])
    #expect(words(follower.deadlinePassed(received: 0, at: at(1.5))) == ["13 new"])
    #expect(fail(&follower, at: 1.6) == [])
    #expect(words(follower.deadlinePassed(received: 0, at: at(4))) == ["load /live.m3u8", "13 new"])
    #expect(fail(&follower, at: 4.1) == [])
    #expect(words(follower.loaded(list(14..<20), at: url, at: at(4.2))) == ["grown", "lost 4.0", "14 new"])
    #expect(words(follower.segmentReceived(at: at(5))) == ["15"])
    // The list goes past the segment that is under way, which comes all the same.
    _ = follower.deadlinePassed(received: 0, at: at(9))
    #expect(words(follower.loaded(list(17..<23), at: url, at: at(9))) == ["grown"])
    #expect(words(follower.segmentReceived(at: at(10))) == ["lost 4.0", "17 new"])
  }

  @Test("at the start, and in a file, three attempts are all; a live stream may begin with a later segment")
  func fewAttempts() {
    for isEnded in [false, true] {
      var follower = HLSFollower(rateLimit: 320_000)
      let first = isEnded ? 10 : 13
      _ = follower.open(list(10..<16, isEnded: isEnded), at: url, at: at(0))
      for time in [1.0, 2.0] {
        #expect(fail(&follower, hasSound: isEnded, at: time) == [])
        #expect(words(follower.deadlinePassed(received: 0, at: at(time + 1))) == ["\(first) new"])
      }
      let end = fail(&follower, hasSound: isEnded, at: 3)
      #expect(end == ["report stream.network", "lost 4.0", "\(first + 1) new"])
    }
    var last = HLSFollower(rateLimit: 320_000)
    _ = last.open(list(10..<11), at: url, at: at(0))
    for time in [1.0, 2.0] {
      #expect(fail(&last, hasSound: false, at: time) == [])
      #expect(words(last.deadlinePassed(received: 0, at: at(time + 1))) == ["10 new"])
    }
    #expect(fail(&last, hasSound: false, at: 3) == ["fail stream.network"])
    var file = HLSFollower(rateLimit: 320_000)
    _ = file.open(list(10..<16, isEnded: true), at: url, at: at(0))
    for time in [1.0, 2.0] {
      _ = fail(&file, hasSound: false, at: time)
      _ = file.deadlinePassed(received: 0, at: at(time + 1))
    }
    #expect(fail(&file, hasSound: false, at: 3) == ["fail stream.network"])
  }

  @Test("a server that asks for a delay gets it: a short one beside the list, a long one between connections")
  func delays() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    #expect(fail(&follower, .answer(retryAfter: .seconds(3)), at: 0.5) == [])
    #expect(follower.deadline == at(3.5))
    #expect(words(follower.deadlinePassed(received: 0, at: at(3.5))) == ["13 new"])
    #expect(fail(&follower, .answer(retryAfter: .seconds(120)), at: 3.6) == ["fail stream.network after 120"])
    _ = follower.open(list(10..<16), at: url, at: at(130))
    _ = follower.deadlinePassed(received: 0, at: at(140))
    let list = follower.loadFailed(error, .answer(retryAfter: .seconds(7)), at: at(141))
    #expect(words(list) == ["fail stream.network after 7"])
  }

  @Test("a segment that hangs in each of three connections is left out") func hangs() {
    var follower = HLSFollower(rateLimit: 320_000)
    for time in [0.0, 30, 60] {
      #expect(words(follower.open(list(10..<16, isEnded: true), at: url, at: at(time))).last == "10 new")
      follower.silent(received: 0, at: at(time + 20))
      follower.close(received: 0)
    }
    let last = words(follower.open(list(10..<16, isEnded: true), at: url, at: at(90)))
    #expect(Array(last.suffix(2)) == ["lost 4.0", "11 new"])
  }

  private let master = HLSPlaylist.master(
    HLSMaster(variants: [96, 128, 64].map { .init(reference: "\($0)", bitRate: $0 * 1000, kind: .audio) }))

  @Test("a version that fails is left for the next one down, and tried again after a minute")
  func versions() {
    var follower = HLSFollower(rateLimit: 320_000)
    #expect(words(follower.open(master, at: url, at: at(0))) == ["load /128"])
    #expect(words(follower.loadFailed(error, .connection, at: at(0.1))) == ["load /96"])
    #expect(words(follower.loaded(list(10..<16), at: url, at: at(0.2))) == ["grown", "13 new"])
    #expect(fail(&follower, received: 1, at: 1) == ["load /64"])
    #expect(words(follower.loaded(list(10..<16), at: url, at: at(1.2))) == ["grown", "13 new"])
    #expect(words(follower.segmentReceived(at: at(2))) == ["14"])
    // The list of the better one comes beside the segments of this one.
    #expect(words(follower.segmentReceived(at: at(60.5))) == ["load /128", "15"])
    #expect(words(follower.loaded(list(13..<19), at: url, at: at(60.6))) == ["grown"])
    #expect(words(follower.segmentReceived(at: at(61))) == ["16 new"])
    // All fail: so does the connection.
    #expect(words(follower.deadlinePassed(received: 0, at: at(64.6))).contains("load /128"))
    #expect(words(follower.loadFailed(error, .connection, at: at(64.7))) == ["cancel", "load /96"])
    #expect(words(follower.loadFailed(error, .connection, at: at(64.8))) == ["load /64"])
    #expect(words(follower.loadFailed(error, .connection, at: at(64.9))) == ["fail stream.network"])
  }

  @Test("the list of a better version that hangs silences nothing: after 3 s the old one continues")
  func risingHangs() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(master, at: url, at: at(0))
    _ = follower.loadFailed(error, .connection, at: at(0.1))
    _ = follower.loaded(list(10..<16), at: url, at: at(0.2))
    #expect(words(follower.segmentReceived(at: at(61))) == ["load /128", "14"])
    #expect(words(follower.segmentReceived(at: at(61.5))) == ["15"])
    #expect(follower.deadline == at(64))
    #expect(words(follower.deadlinePassed(received: 0, at: at(64))) == ["load /96"])
    #expect(words(follower.loaded(list(12..<18), at: url, at: at(64.1))) == ["grown"])
    #expect(words(follower.segmentReceived(at: at(65))) == ["16"])
    // It is left for a minute.
    #expect(words(follower.segmentReceived(at: at(66))) == ["17"])
    #expect(words(follower.deadlinePassed(received: 0, at: at(68.1))) == ["load /96"])
    #expect(words(follower.loaded(list(14..<19), at: url, at: at(68.2))) == ["grown"])
    #expect(words(follower.segmentReceived(at: at(125))) == ["load /128", "18"])
  }

  @Test("a first list that hangs is left for that of the next version after 5 s") func openingHangs() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(master, at: url, at: at(0))
    #expect(follower.deadline == at(5))
    #expect(words(follower.deadlinePassed(received: 0, at: at(5))) == ["load /96"])
    #expect(words(follower.deadlinePassed(received: 0, at: at(10))) == ["load /64"])
    // No other one is left: the connection's own limit counts.
    #expect(follower.deadline == nil)
  }

  @Test("a slow segment is no reason to wake again and again while all other versions are left") func slow() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(master, at: url, at: at(0))
    _ = follower.loaded(list(10..<16, length: 2), at: url, at: at(0))
    // Each fails: the best until 60, the next one until 70, the last until 80.
    #expect(fail(&follower, at: 0) == ["load /96"])
    #expect(words(follower.loadFailed(error, .connection, at: at(10))) == ["load /64"])
    _ = follower.loaded(list(10..<16, length: 2), at: url, at: at(11))
    #expect(fail(&follower, at: 20) == [])
    #expect(words(follower.deadlinePassed(received: 0, at: at(20.5))) == ["load /64", "13 new"])
    _ = follower.loaded(list(10..<16, length: 2), at: url, at: at(21))
    #expect(words(follower.segmentReceived(at: at(61))) == ["load /128", "14"])
    _ = follower.loaded(list(10..<16, length: 2), at: url, at: at(62))
    #expect(words(follower.segmentReceived(at: at(63))) == ["15 new"])
    var time = at(62.5)
    while time < at(69), let deadline = follower.deadline {
      #expect(deadline > time)
      guard deadline > time else { return }
      time = deadline
      if words(follower.deadlinePassed(received: 0, at: time)) == ["load /128"] {
        _ = follower.loaded(list(10..<16, length: 2), at: url, at: time)
      }
    }
    #expect(time >= at(69))
  }

  @Test("only a newer copy of a list that is followed may be answered as the same") func reloading() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(master, at: url, at: at(0))
    #expect(!follower.isReloading)
    _ = follower.loadFailed(error, .connection, at: at(0.1))
    _ = follower.loaded(list(10..<16), at: url, at: at(0.2))
    _ = follower.deadlinePassed(received: 0, at: at(5))
    #expect(follower.isReloading)
    _ = follower.unchanged(at: at(5))
    _ = follower.segmentReceived(at: at(61))
    #expect(!follower.isReloading)
  }

  @Test("segments of other sessions are the same, also within one") func sessions() {
    func piece(_ reference: String, _ number: Int = 7, range: Range<Int>? = nil) -> HLSPiece {
      var segment = HLSSegment(sequence: number, reference: reference, duration: 4)
      segment.range = range
      return HLSPiece(segment: segment, base: url, version: url, isContinuous: true, received: 0)
    }
    let progress = HLSProgress(piece("a1/s7.ts?token=1"), from: HLSSound())
    #expect(progress.isSame(as: piece("b2/s7.ts?token=2")))
    #expect(!progress.isSame(as: piece("a1/s8.ts?token=1")))
    #expect(!progress.isSame(as: piece("a1/s7.ts?token=1", 8)))
    #expect(!progress.isSame(as: piece("a1/s7.ts?token=1", range: 0..<9)))
  }

  @Test("an older copy of a list is ignored; numbers that begin anew are not")
  func backwards() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    for time in 1...3 { _ = follower.segmentReceived(at: at(Double(time))) }
    _ = follower.deadlinePassed(received: 0, at: at(4))
    // Also one that says that it has ended.
    #expect(words(follower.loaded(list(8..<14, isEnded: true), at: url, at: at(4))) == [])
    #expect(follower.deadline == at(6))
    _ = follower.deadlinePassed(received: 0, at: at(8))
    #expect(words(follower.loaded(list(11..<17), at: url, at: at(8))) == ["grown", "16"])
    _ = follower.segmentReceived(at: at(9))
    _ = follower.deadlinePassed(received: 0, at: at(12))
    #expect(words(follower.loaded(list(0..<3), at: url, at: at(12))) == ["grown", "0 new"])
  }

  @Test("a list that is complete at first is a file; a live one that ends is complete with its last segment")
  func ends() {
    var file = HLSFollower(rateLimit: 320_000)
    #expect(
      words(file.open(list(0..<2, isEnded: true), at: url, at: at(0))) == ["grown", "file 8.0", "0 new"])
    #expect(file.deadline == nil)
    #expect(words(file.segmentReceived(at: at(1))) == ["1"])
    #expect(words(file.segmentReceived(at: at(2))) == ["complete"])
    var live = HLSFollower(rateLimit: 320_000)
    _ = live.open(list(0..<1), at: url, at: at(0))
    _ = live.segmentReceived(at: at(1))
    _ = live.deadlinePassed(received: 0, at: at(4))
    #expect(words(live.loaded(list(0..<1, isEnded: true), at: url, at: at(4))) == ["grown", "complete"])
  }
}
