import Codecs
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite("A simulated station", .waiting, .tags(.stream, .simulation))
struct SimulatedStationTests {
  /// 20 s at 128 kbit/s.
  private static let sound = Result {
    try StationSound(file: Fixtures.path("mp3-cbr128-44k.mp3"))
  }

  /// A station with a burst of 12 s, more than a stream waits for.
  private func station(_ change: (inout SimulatedStation) -> Void = { _ in }) throws -> SimulatedStation {
    var station = SimulatedStation(.programme(try Self.sound.get()))
    station.burst = .seconds(12)
    change(&station)
    return station
  }

  private func stations(_ change: (inout SimulatedStation) -> Void = { _ in }) throws -> SimulatedStations {
    SimulatedStations([SimulationHarness.url: try station(change)])
  }

  /// The lines without what repeats while it connects again and again.
  private func withoutRepeats(_ reported: [String]) -> [String] {
    var seen: Set<String> = []
    return reported.filter { line in
      let words = line.drop { $0 != " " }
      return !(words == " connecting" || words.hasPrefix(" failed")) || seen.insert(String(words)).inserted
    }
  }

  @Test(
    "a reception that rests shows what one that is looked at every second shows")
  func rest() throws {
    let station = try stations {
      $0.titles = [.init("A - One", at: .zero), .init("B - Two", at: .seconds(1_800))]
      $0.drops = [
        .init(at: .seconds(700), outage: .seconds(3)), .init(at: .seconds(2_500), outage: .seconds(40)),
      ]
    }
    var looks: [[String]] = []
    var events: [[String]] = []
    for isPatient in [false, true] {
      var lines: [String] = []
      var random = SeededRandom(seed: 3)
      let reported = try SimulationHarness.run(station) { harness in
        try await harness.stream.start()
        for _ in 0..<12 {
          let end = harness.loop.now.advanced(
            by: .milliseconds(Int.random(in: 1_000..<500_000, using: &random)))
          while !isPatient, harness.loop.now.advanced(by: .seconds(1)) < end {
            try await harness.sleep(1)
            _ = harness.stream.figures
          }
          try await harness.loop.sleep(until: end)
          lines.append("\(harness.stream.figures) \(harness.stream.position)")
          if Bool.random(using: &random) { lines.append("\(try harness.stream.move(by: -30))") }
        }
      }
      looks.append(lines)
      events.append(reported)
    }
    #expect(looks[0] == looks[1])
    #expect(events[0] == events[1] && events[0].contains { $0.hasSuffix("heard B - Two") })
    #expect(events[0].contains { $0.contains("reconnected") })
  }

  @Test("an hour of a station that only a clock follows takes a few turns of the loop")
  func restingTurns() throws {
    try SimulationHarness.run(try stations()) { harness in
      try await harness.stream.start()
      var turns = 0
      let end = harness.loop.now.advanced(by: .seconds(3_600))
      // Every turn of the loop asks.
      while harness.loop.now < end {
        turns += 1
        guard let buffer = harness.stream.buffer else { break }
        if let rest = buffer.rest, harness.loop.now < rest.until {
          try await harness.loop.sleep(until: min(end, rest.until))
        } else {
          try await harness.sleep(1)
        }
      }
      #expect(turns < 20, "\(turns)")
      #expect(harness.stream.figures.buffered > 11)
    }
  }

  @Test("emits events in the order of the real one, titles when received and when heard")
  func titles() throws {
    let reported = try SimulationHarness.run(
      try stations {
        $0.name = "Morning FM"
        $0.titles = [.init("A - One", at: .zero), .init("B - Two", at: .seconds(90))]
      }
    ) { harness in
      try await harness.stream.start()
      #expect(harness.stream.station.name == "Morning FM" && harness.stream.station.bitRate == 128)
      #expect(harness.now == 0)
      try await harness.sleep(120)
      #expect(harness.stream.title?.text == "B - Two")
      // Heard at the pace of the clock, 12 s behind, as much as the burst.
      #expect(abs(harness.stream.position.seconds - 120) < 0.01)
      #expect(abs(harness.stream.figures.timeShift - 12) < 1.1)
    }
    #expect(
      reported == [
        "0.0 connecting", "0.0 buffering", "0.0 came A - One", "0.0 heard A - One", "0.0 started",
        "90.0 came B - Two", "102.0 heard B - Two", "120.0 stopped",
      ])
  }

  @Test("behind a burst of 1 s it plays at once, without one after 0.7 s", arguments: [0, 1])
  func wait(burst: Int) throws {
    _ = try SimulationHarness.run(try stations { $0.burst = .seconds(burst) }) { harness in
      try await harness.stream.start()
      #expect((burst == 0 ? 0.7...1.1 : 0...0.1).contains(harness.now))
    }
  }

  @Test("a burst shorter than the buffer wait makes the stream wait for the remainder")
  func smallBurst() throws {
    var options = StreamOptions()
    options.bufferWait = .seconds(10)
    let reported = try SimulationHarness.run(try stations { $0.burst = .seconds(4) }, options: options) {
      harness in
      try await harness.stream.start()
      #expect((6...7.1).contains(harness.now))
    }
    #expect(reported.contains { $0.hasSuffix("started") })
  }

  @Test(
    "a player that ran dry starts as soon as the new connection has sent what it waits for",
    arguments: [(burst: 12, wait: 0...1.1), (burst: 0, wait: 0.7...2.1)])
  func dry(burst: Int, wait: ClosedRange<Double>) throws {
    let reported = try SimulationHarness.run(
      try stations {
        $0.burst = .seconds(burst)
        $0.drops = [.init(at: .seconds(60), outage: .seconds(40))]
      }
    ) { harness in
      try await harness.stream.start()
      try await harness.sleep(150)
    }
    func time(_ line: String?) throws -> Double {
      try #require(line.flatMap { Double($0.prefix { $0 != " " }) }, "\(reported)")
    }
    #expect(reported.contains { $0.hasSuffix("queue exhausted") })
    // The station is back at 100 s, and is asked within 2.5 s. Up to 1 s, its pace, shows that no overlap comes.
    let started =
      try time(reported.first { try $0.hasSuffix("started") && time($0) > 100 }) - 100
    #expect((wait.lowerBound...wait.upperBound + 2.5).contains(started), "\(started): \(reported.suffix(12))")
  }

  @Test("a player that ran dry plays at once what it has moved back to, while the station is away")
  func dryThenBack() throws {
    try SimulationHarness.run(
      try stations { $0.drops = [.init(at: .seconds(60), outage: .seconds(120))] }
    ) { harness in
      let stream = harness.stream
      try await stream.start()
      try await harness.sleep(90)
      let end = stream.position.seconds
      #expect(harness.reported.contains { $0.hasSuffix("queue exhausted") })
      #expect(abs(try stream.move(by: -20) + 20) < 0.1)
      try await harness.sleep(10)
      #expect(abs(stream.position.seconds - (end - 10)) < 0.1)
      try await harness.sleep(15)
      #expect(abs(stream.position.seconds - end) < 0.1)
      // Less than the player waits for is not begun.
      _ = try stream.move(by: -0.5)
      try await harness.sleep(5)
      #expect(abs(stream.position.seconds - (end - 0.5)) < 0.1)
    }
  }

  @Test("over a drop that the burst covers nothing is missing; over a longer one the gap is reported")
  func drops() throws {
    let reported = withoutRepeats(
      try SimulationHarness.run(
        try stations {
          $0.drops = [
            .init(at: .seconds(60), outage: .seconds(3)), .init(at: .seconds(120), outage: .seconds(40)),
          ]
        }
      ) { harness in
        try await harness.stream.start()
        try await harness.sleep(100)
        // 12 s behind what the station sends, as before the drop.
        #expect(abs(harness.stream.position.seconds - 100) < 0.01)
        try await harness.sleep(110)
        #expect(harness.stream.status == .playing)
      })
    #expect(
      reported.prefix(4) == ["0.0 connecting", "0.0 buffering", "0.0 started", "60.0 failed stream.network"])
    #expect(
      reported.contains { $0.hasPrefix("63") && $0.hasSuffix("reconnected 0.0 true true") }, "\(reported)")
    let dry = try #require(reported.firstIndex { $0.hasSuffix("queue exhausted") })
    #expect(reported[dry].hasPrefix("132"), "\(reported)")
    let words = reported[dry...].map { $0.drop { $0 != " " }.dropFirst() }.filter { $0 != "connecting" }
    // There is no connection: it is connecting, not buffering.
    try #require(words.count == 4, "\(reported)")
    #expect(words[1].hasPrefix("reconnected") && words[1].hasSuffix("false false"))
    #expect(words[2...] == ["started", "stopped"])
    // At least what the outage lasted, less the burst; no more than its last wait and the search longer.
    let gap = try #require(Double(words[1].split(separator: " ")[1]))
    #expect((28...70).contains(gap))
  }

  @Test("a station that falls silent is left when data_timeout is over, as the real one")
  func silence() throws {
    let reported = try SimulationHarness.run(
      try stations { $0.drops = [.init(at: .seconds(60), outage: .seconds(30), answer: .silence)] }
    ) { harness in
      try await harness.stream.start()
      try await harness.sleep(120)
    }
    #expect(reported.contains { $0.hasSuffix("queue exhausted") && $0.hasPrefix("72") }, "\(reported)")
    #expect(reported.contains("80.0 failed stream.timeout"), "\(reported)")
    #expect(reported.contains { $0.contains("reconnected") && $0.hasSuffix("false false") }, "\(reported)")
  }

  @Test(
    "a station that resumes before that has lost nothing, and no event is emitted", arguments: [2, 6, 11])
  func pause(seconds: Double) throws {
    let reported = try SimulationHarness.run(
      try stations { $0.drops = [.init(at: .seconds(60), outage: .seconds(seconds), answer: .silence)] }
    ) { harness in
      try await harness.stream.start()
      try await harness.sleep(100)
      #expect(abs(harness.stream.figures.timeShift - 12) < 1.1)
    }
    #expect(reported == ["0.0 connecting", "0.0 buffering", "0.0 started", "100.0 stopped"])
  }

  @Test(
    "a first connection that fails ends the stream, with the code of the real one",
    arguments: [
      (SimulatedStation.Answer.status(404), "stream.not_found"), (.status(403), "stream.auth"),
      (.status(503), "stream.http"), (.refusal, "stream.network"), (.page, "stream.content"),
    ])
  func failures(answer: SimulatedStation.Answer, code: String) throws {
    let reported = try SimulationHarness.run(try stations { $0.answer = answer }) { harness in
      let error = await #expect(throws: StreamError.self) { try await harness.stream.start() }
      #expect(error?.code == code)
      if case .status(let status) = answer { #expect(error?.status == status) }
      #expect(harness.stream.status == .stopped && harness.now == 0)
    }
    let isPage = answer == .page
    #expect(
      reported == ["0.0 connecting"] + (isPage ? ["0.0 buffering"] : []) + [
        "0.0 failed \(code)", "0.0 stopped",
      ])
  }

  @Test("a silent station is given up after data_timeout")
  func noAnswer() throws {
    var options = StreamOptions()
    options.dataTimeout = .seconds(7)
    let reported = try SimulationHarness.run(try stations { $0.answer = .silence }, options: options) {
      harness in
      let error = await #expect(throws: StreamError.self) { try await harness.stream.start() }
      #expect(error?.kind == .timeout)
    }
    #expect(reported == ["0.0 connecting", "7.0 failed stream.timeout", "7.0 stopped"])
  }

  @Test("a status that begins during an outage is reported once, and it connects for ever")
  func status() throws {
    let reported = try SimulationHarness.run(
      try stations { $0.drops = [.init(at: .seconds(60), outage: .seconds(300), answer: .status(404))] }
    ) { harness in
      try await harness.stream.start()
      try await harness.sleep(500)
      #expect(harness.stream.status == .playing)
    }
    #expect(reported.filter { $0.hasSuffix("failed stream.not_found") }.count == 1)
    #expect(reported.filter { $0.hasSuffix("connecting") }.count > 10, "each attempt is one")
  }

  @Test("paused until the buffer is full it stops receiving, and reports the gap when it resumes")
  func full() throws {
    var options = StreamOptions()
    options.bufferBlocks = 100
    options.pauseTimeout = .zero
    let reported = try SimulationHarness.run(try stations(), options: options) { harness in
      try await harness.stream.start()
      try await harness.sleep(5)
      harness.stream.pause()
      try await harness.sleep(300)
      #expect(harness.stream.figures.buffered > 20 && harness.stream.figures.buffered < 33)
      try await harness.stream.start()
      #expect(abs(harness.stream.position.seconds - 5) < 0.01)
      try await harness.sleep(60)
      #expect(harness.stream.status == .playing)
    }
    #expect(reported.contains { $0.contains("reconnected") && $0.hasSuffix("false false") }, "\(reported)")
  }

  @Test(
    "with next to nothing to wait for it runs dry once for each outage, and plays again",
    arguments: [0, 10, 25])
  func noWait(milliseconds: Int) throws {
    var options = StreamOptions()
    options.bufferWait = .milliseconds(milliseconds)
    let reported = try SimulationHarness.run(
      try stations {
        $0.drops = [
          .init(at: .seconds(60), outage: .seconds(30)), .init(at: .seconds(150), outage: .seconds(30)),
        ]
      }, options: options
    ) { harness in
      try await harness.stream.start()
      try await harness.sleep(240)
      #expect(harness.stream.status == .playing)
    }
    #expect(reported.count { $0.hasSuffix("queue exhausted") } == 2, "\(reported)")
  }

  @Test("a file with nothing to wait for plays to its end")
  func noWaitForFile() throws {
    var options = StreamOptions()
    options.bufferWaitFile = .zero
    var station = SimulatedStation(.file(Fixtures.path("mp3-cbr128-44k.mp3")))
    station.name = "A file"
    let reported = try SimulationHarness.run(
      SimulatedStations([SimulationHarness.url: station]), options: options
    ) { harness in
      try await harness.stream.start()
      try await harness.sleep(60)
    }
    #expect(reported.contains { $0.hasSuffix("file complete") }, "\(reported)")
  }

  @Test("the same run again emits the same, to the last event")
  func deterministic() throws {
    let stations = try stations {
      $0.drops = [
        .init(at: .seconds(60), outage: .seconds(100)), .init(at: .seconds(300), outage: .seconds(7)),
      ]
    }
    let runs = try (0..<2).map { _ in
      try SimulationHarness.run(stations) { harness in
        try await harness.stream.start()
        try await harness.sleep(600)
      }
    }
    #expect(runs[0] == runs[1] && runs[0].count > 10)
  }

  @Test("a URL that is not listed plays the tune, under a name from the URL")
  func others() throws {
    let stations = SimulatedStations { () throws(StreamError) in
      try StationSound(file: Fixtures.repository("stdlib/simulation/station.mp3"))
    }
    #expect(try stations.station(at: "http://radio.example/a/morning.mp3", asFile: nil).name == "morning")
    #expect(try stations.station(at: "http://radio.example:8000/", asFile: nil).name == "radio.example")
    try SimulationHarness.run(stations) { harness in
      try await harness.stream.start()
      // The tune's burst is more than a stream waits for.
      #expect(harness.now == 0 && harness.stream.title?.artist == "live")
    }
    let error = #expect(throws: StreamError.self) {
      try SimulatedStations().station(at: "http://a.example/", asFile: nil)
    }
    #expect(error?.kind == .notFound)
  }
}
