import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

/// HLS stations of tests, with ffmpeg's segments, received ten times as fast as they would be heard.
@Suite("HLS stations", .waiting, .tags(.stream, .hls)) struct HLSReceiverTests {
  func receive(
    _ station: HLSStation, timeout: Duration = .seconds(20), clock: ReceiverClock = .faster(10)
  ) throws -> Receiver {
    var options = ReceiverOptions()
    options.dataTimeout = timeout
    // Nothing is read meanwhile.
    options.fileLead = StreamTime(seconds: 1000)
    return try Receiver(url: station.url, options: options, blocks: 400, clock: clock)
  }

  /// Ends a receiver; the frames by their numbers in the programme.
  private func end(_ receiver: Receiver, _ station: HLSStation) -> [Int] {
    station.programme.numbers(of: receiver.allFrames())
  }

  /// The first and the last frame of each run of frames that follow each other.
  private func runs(_ numbers: [Int]) -> [ClosedRange<Int>] {
    var runs: [ClosedRange<Int>] = []
    for number in numbers {
      if let last = runs.last, last.upperBound + 1 == number {
        runs[runs.count - 1] = last.lowerBound...number
      } else {
        runs.append(number...number)
      }
    }
    return runs
  }

  @Test("what is listed to its end is received frame for frame", arguments: HLSProgramme.Kind.allCases)
  func file(kind: HLSProgramme.Kind) throws {
    let station = try HLSStation(kind, window: .init(first: 0, count: 100, isEnded: true))
    let receiver = try receive(station)
    #expect(receiver.wait(for: "held back"), "\(receiver.events)")
    #expect(receiver.buffer.isComplete)
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [0...(station.programme.frames.count - 1)])
    #expect(receiver.events.contains("file with parts"))
  }

  @Test("a live list begins three target durations before its end, and continues as it grows")
  func live() throws {
    let station = try HLSStation(.transport)
    let receiver = try receive(station)
    #expect(station.wait(for: 5), "\(receiver.events)")
    for last in 6..<12 {
      station.change { $0.first += 1 }
      #expect(station.wait(for: last), "\(receiver.events)")
    }
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [borders[try station.programme.start]...(borders[12] - 2)], "\(receiver.events)")
    #expect(!receiver.events.contains { $0.hasPrefix("failed") })
  }

  @Test(
    "an outage inside of the window loses nothing",
    arguments: [HLSProgramme.Kind.transport, .fragments, .packedMP3])
  func shortOutage(kind: HLSProgramme.Kind) throws {
    let station = try HLSStation(kind)
    let receiver = try receive(station)
    #expect(station.wait(for: 5))
    station.station.refuse()
    #expect(receiver.wait(for: "failed stream.network"))
    station.change { $0.first += 4 }
    station.station.accept()
    #expect(station.wait(for: 9), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [borders[try station.programme.start]...(borders[10] - 2)], "\(receiver.events)")
    #expect(receiver.events.contains("reconnected stitched"))
    #expect(receiver.gaps == [])
  }

  @Test(
    "of an outage of any length exactly that is missing which a window of 12 s has lost",
    arguments: [0, 0.5, 2, 8, 20, 45])
  func outages(seconds: Double) throws {
    let station = try HLSStation(.transport, window: .init(count: 12))
    let receiver = try receive(station)
    #expect(station.wait(for: 11), "\(receiver.events)")
    receiver.settle()
    station.station.refuse()
    #expect(receiver.wait(for: "failed stream.network"), "\(receiver.events)")
    usleep(UInt32(seconds * 100_000))
    let passed = Int(seconds)
    station.change { $0.first += passed }
    station.station.accept()
    #expect(station.wait(for: 11 + passed), "\(receiver.events)")
    station.change { $0.first += 1 }
    #expect(station.wait(for: 12 + passed), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let runs = runs(end(receiver, station))
    #expect(runs.last?.upperBound == borders[13 + passed] - 2, "\(runs) \(receiver.events)")
    guard passed > 12 else {
      #expect(runs.count == 1 && receiver.gaps == [], "\(runs) \(receiver.gaps)")
      #expect(receiver.events.contains("reconnected stitched"), "\(receiver.events)")
      return
    }
    #expect(
      runs.count == 2 && runs[0].upperBound == borders[12] - 1 && runs[1].lowerBound == borders[passed],
      "\(runs) \(receiver.events)")
    let lost = station.programme.segments[12..<passed].reduce(0) { $0 + $1.duration }
    #expect(receiver.gaps.count == 1 && abs(receiver.gaps[0] - lost) < 0.3, "\(receiver.gaps) \(lost)")
  }

  @Test("of a longer outage exactly the segments that the window has lost are a gap")
  func longOutage() throws {
    let station = try HLSStation(.transport)
    let receiver = try receive(station)
    #expect(station.wait(for: 5))
    receiver.settle()
    station.station.refuse()
    #expect(receiver.wait(for: "failed stream.network"))
    // It takes longer than the sound that is lost.
    usleep(1_000_000)
    station.change { $0.first += 10 }
    station.station.accept()
    #expect(station.wait(for: 15), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(
      runs(numbers) == [
        borders[try station.programme.start]...(borders[6] - 1), borders[10]...(borders[16] - 2),
      ], "\(receiver.events)")
    let lost = station.programme.segments[6..<10].reduce(0) { $0 + $1.duration }
    #expect(receiver.gaps.count == 1 && abs(receiver.gaps[0] - lost) < 0.05, "\(receiver.gaps)")
  }

  @Test("a segment that is cut off is continued at the frame where it was")
  func truncated() throws {
    let station = try HLSStation(.transport)
    let segment = station.programme.segments[4]
    let whole = Answer.file(segment.bytes, type: "video/mp2t")
    station.station.answer(
      "/live/\(segment.name)", with: whole.dropping(at: segment.bytes.count / 2, by: .reset), whole)
    let receiver = try receive(station)
    #expect(station.wait(for: 5), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [borders[try station.programme.start]...(borders[6] - 2)], "\(receiver.events)")
    #expect(receiver.events.contains("reconnected stitched"))
  }

  @Test("a list whose addresses change with each answer loses no frame, also within a segment")
  func sessions() throws {
    let station = try HLSStation(.transport, window: .init(hasSessions: true))
    let bytes = station.programme.segments[4].bytes
    let whole = Answer.file(bytes, type: "video/mp2t")
    station.answer(4, in: 1...2, with: whole.dropping(at: bytes.count / 2 + 77, by: .reset))
    // In real time: the segment is to be of the first list, or the second.
    let receiver = try receive(station, clock: .loop)
    #expect(station.wait(for: 5), "\(receiver.events)")
    station.change { $0.first += 2 }
    #expect(station.wait(for: 7), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(Set(station.visits(to: 4).map(\.target)).count > 1)
    #expect(runs(numbers) == [borders[try station.programme.start]...(borders[8] - 2)], "\(receiver.events)")
    #expect(receiver.events.contains("reconnected stitched"))
  }

  @Test("30,000 segments that can't be requested are a gap, reported once") func unusable() throws {
    let station = try HLSStation(.transport, window: .init(count: 3))
    // Turns of the loop may be slow.
    let receiver = try receive(station, timeout: .seconds(900))
    #expect(station.wait(for: 2), "\(receiver.events)")
    station.change { ($0.count, $0.unusable) = (6, 30_000) }
    #expect(station.wait(for: 5), "\(receiver.events.prefix(20))")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [borders[0]...(borders[6] - 2)], "\(receiver.events.prefix(20))")
    #expect(receiver.events.filter { $0.hasPrefix("failed") } == ["failed stream.unsupported"])
    #expect(receiver.gaps == [30_000])
  }

  @Test("bytes without sound are no life: packets of nothing time out") func nothing() throws {
    let station = try HLSStation(.transport)
    let null: [UInt8] = [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)
    var live = Live(Programme(repeating: null, bytesPerSecond: 50_000))
    live.pace = .realTime(1)
    station.answer(4, with: .live(live, type: "video/mp2t"))
    let receiver = try receive(station, timeout: .seconds(3))
    #expect(receiver.wait(for: "failed stream.timeout"), "\(receiver.events)")
    #expect(station.visits(to: 4).first.map { $0.sent > 188 } == true)
    let numbers = end(receiver, station)
    #expect(runs(numbers).count == 1)
  }

  @Test("a segment that the server does not have is a gap, and reported")
  func missing() throws {
    let station = try HLSStation(.transport)
    station.station.answer("/live/\(station.programme.segments[4].name)", with: .status("404 Not Found"))
    let receiver = try receive(station)
    #expect(station.wait(for: 5), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(
      runs(numbers) == [
        borders[try station.programme.start]...(borders[4] - 1), borders[5]...(borders[6] - 2),
      ], "\(receiver.events)")
    #expect(receiver.events.contains("failed stream.not_found"))
    #expect(
      receiver.gaps.count == 1 && abs(receiver.gaps[0] - station.programme.segments[4].duration) < 0.001)
  }

  @Test("a list that does not change is a timeout, behind which nothing is missing")
  func stale() throws {
    let station = try HLSStation(.transport)
    let receiver = try receive(station, timeout: .seconds(3))
    #expect(receiver.wait(for: "failed stream.timeout"), "\(receiver.events)")
    station.change { $0.first += 2 }
    #expect(station.wait(for: 7), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [borders[try station.programme.start]...(borders[8] - 2)], "\(receiver.events)")
    #expect(receiver.events.contains("reconnected stitched"))
  }

  @Test("a station that becomes one of MP3 behind its address is received on, and one that becomes HLS again")
  func change() throws {
    let station = try HLSStation(.transport)
    let receiver = try receive(station, clock: .loop)
    #expect(station.wait(for: 5), "\(receiver.events)")
    var live = Live(Programme(repeating: try FrameProgramme(.mp3, seconds: 20).bytes, bytesPerSecond: 16_000))
    live.pace = .realTime(1)
    station.station.answer("/live/index.m3u8", with: .live(live))
    #expect(receiver.wait(for: "format mp3"), "\(receiver.events)")
    let list = station.list
    station.change { $0.first += 6 }
    station.station.answer("/live/index.m3u8", with: list)
    station.station.cut()
    #expect(receiver.wait(for: "format aac", count: 2), "\(receiver.events)")
    _ = receiver.end()
    #expect(receiver.events.filter { $0.hasPrefix("gave up") } == [], "\(receiver.events)")
  }

  @Test("behind segments a station of MP3 is not compared with the MP3 in front of them") func changeBack()
    throws
  {
    let station = try HLSStation(.transport)
    var live = Live(Programme(repeating: try FrameProgramme(.mp3, seconds: 20).bytes, bytesPerSecond: 16_000))
    live.pace = .realTime(1)
    station.station.answer("/live/index.m3u8", with: .live(live))
    let receiver = try receive(station, clock: .faster(4))
    #expect(receiver.wait(for: "format mp3"), "\(receiver.events)")
    station.station.answer("/live/index.m3u8", with: station.list)
    station.station.cut()
    #expect(station.wait(for: 5), "\(receiver.events)")
    for last in 6..<9 {
      station.change { $0.first += 1 }
      #expect(station.wait(for: last), "\(receiver.events)")
      usleep(500_000)
    }
    let before = receiver.gaps.count
    station.station.answer("/live/index.m3u8", with: .live(live))
    #expect(receiver.wait(for: "format mp3", count: 2), "\(receiver.events)")
    usleep(500_000)
    _ = receiver.end()
    // The time without a connection alone.
    let gaps = receiver.gaps.dropFirst(before)
    #expect(gaps.allSatisfy { $0 < 2.5 } && gaps.count <= 1, "\(receiver.gaps) \(receiver.events)")
  }

  @Test("a list that ends while it is followed is received to its end, and complete") func ended() throws {
    let station = try HLSStation(.transport)
    let receiver = try receive(station)
    #expect(station.wait(for: 5), "\(receiver.events)")
    station.change { ($0.first, $0.isEnded) = (2, true) }
    #expect(receiver.wait(for: "complete"), "\(receiver.events)")
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [borders[try station.programme.start]...(borders[8] - 1)], "\(receiver.events)")
    #expect(!receiver.events.contains { $0.hasPrefix("failed") }, "\(receiver.events)")
  }

  @Test(
    "a segment without sound is asked for again, and a gap if it stays so",
    arguments: ["", "<html>no</html>"])
  func silent(body: String) throws {
    let station = try HLSStation(.transport)
    let empty = Answer.file(Array(body.utf8), type: "video/mp2t")
    station.answer(4, with: empty, .file(station.programme.segments[4].bytes, type: "video/mp2t"))
    station.answer(5, with: empty)
    station.change { $0.count = 7 }
    let receiver = try receive(station)
    #expect(station.wait(for: 6), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let runs = runs(end(receiver, station))
    #expect(runs.count == 2 && runs.first?.upperBound == borders[5] - 1, "\(runs) \(receiver.events)")
    #expect(runs.last.map { $0 == borders[6]...(borders[7] - 2) } == true, "\(runs) \(borders)")
    #expect(receiver.gaps.count == 1 && abs(receiver.gaps[0] - 1) < 0.1, "\(receiver.gaps)")
    #expect(receiver.events.contains("failed stream.content"), "\(receiver.events)")
  }

  @Test("the first reload of a list has the headers of the answer that the connection brought")
  func validators() throws {
    let station = try HLSStation(.transport)
    station.station.answer("/live/index.m3u8", with: station.list.with("ETag", "\"one\""))
    let receiver = try receive(station)
    #expect(station.wait(for: 5), "\(receiver.events)")
    func reloads() -> [Visit] { station.station.visits.filter { $0.target == "/live/index.m3u8" } }
    for _ in 0..<500 where reloads().count < 3 { usleep(10_000) }
    _ = receiver.end()
    let asked = reloads().map { $0["If-None-Match"] }
    #expect(asked.count > 1 && asked[0] == nil, "\(asked)")
    #expect(asked.dropFirst().allSatisfy { $0 == "\"one\"" }, "\(asked)")
  }

  @Test("numbers that jump are a gap, and numbers that begin anew continue with what is new")
  func numbers() throws {
    let station = try HLSStation(.transport)
    let receiver = try receive(station)
    #expect(station.wait(for: 5))
    // As long as the sound of the segments that are new.
    usleep(600_000)
    station.change { ($0.first, $0.shift) = (6, 1_000_000) }
    #expect(station.wait(for: 11), "\(receiver.events)")
    station.change { ($0.first, $0.count, $0.shift) = (20, 3, -20) }
    #expect(station.wait(for: 22), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let runs = runs(end(receiver, station))
    #expect(
      runs.first?.lowerBound == borders[try station.programme.start]
        && runs.last?.upperBound == borders[23] - 2, "\(runs)")
    #expect(runs.count == 2 && runs[1].lowerBound == borders[20], "\(runs) \(receiver.events)")
  }

  @Test("a server that asks for a delay is asked again after it, and no frame is lost") func delayed() throws
  {
    let station = try HLSStation(.transport)
    let segment = station.programme.segments[4]
    station.answer(
      4, with: .status("503 Service Unavailable", retryAfter: "2"), .file(segment.bytes, type: "video/mp2t"))
    let receiver = try receive(station, clock: .faster(2))
    #expect(station.wait(for: 5), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(runs(numbers) == [borders[try station.programme.start]...(borders[6] - 2)], "\(receiver.events)")
    #expect(!receiver.events.contains { $0.hasPrefix("failed") }, "\(receiver.events)")
  }

  @Test("a segment that is there only later is waited for while the list has it") func late() throws {
    let station = try HLSStation(.transport, window: .init(targetDuration: 2))
    let segment = station.programme.segments[4]
    let missing = [Answer](repeating: .status("404 Not Found"), count: 5)
    station.station.answer(
      "/live/\(segment.name)", with: missing + [.file(segment.bytes, type: "video/mp2t")])
    let receiver = try receive(station)
    #expect(station.wait(for: 5), "\(receiver.events)")
    receiver.settle()
    let borders = try station.programme.borders()
    let numbers = end(receiver, station)
    #expect(station.visits(to: 4).count == 6)
    #expect(runs(numbers).count == 1 && numbers.last == borders[6] - 2, "\(runs(numbers)) \(receiver.events)")
    #expect(!receiver.events.contains { $0.hasPrefix("failed") }, "\(receiver.events)")
  }
}
