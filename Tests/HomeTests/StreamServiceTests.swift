import EventLoop
import Home
import Playback
import Reception
import RecordingKit
import SpeakerKit
import StreamCore
import TestSupport
import TestTraits
import Testing

@Suite("Stations that a command plays", .waiting, .tags(.stream)) struct StreamServiceTests {
  private static func words(_ event: StationEvent) -> String {
    switch event {
    case .title(let text): "title \(text)"
    case .failed(let error): "failed \(error.code)"
    case .reconnected(let gap): "reconnected \(gap > 0)"
    }
  }

  @Test("a station sounds on a session, with its titles and the failures of its connections")
  func plays() throws {
    var station = try StationHarness.station()
    station.titles = [.init("One", at: .zero), .init("Two", at: .seconds(60))]
    station.drops = [.init(at: .seconds(100), outage: .seconds(20))]
    var events: [String] = []
    try StationHarness.run(station) { harness in
      let session = harness.house.session
      let stream = try harness.streams.stream("live")
      try await harness.streams.play(stream, on: session, of: harness.house) { events.append(Self.words($0)) }
      #expect(session.state == .playing && session.source?.path == StationHarness.url)
      try await harness.sleep(300)
      session.stop()
    }
    #expect(events.first == "title One" && events.contains("title Two"))
    #expect(events.contains("failed stream.network"))
    #expect(events.last { !$0.hasPrefix("title") }?.hasPrefix("reconnected") == true)
  }

  @Test("the session and the stream follow each other") func follows() throws {
    try StationHarness.run(try StationHarness.station()) { harness in
      let session = harness.house.session
      let stream = try harness.streams.stream("live")
      var suspensions = 0
      stream.listen { if case .suspension = $0 { suspensions += 1 } }
      try await stream.play(on: session, of: harness.house, title: "Radio")
      #expect(stream.session === session && session.source?.title == "Radio")
      session.pause()
      try await harness.sleep(1)
      #expect(stream.stream.status == .paused)
      try await stream.stream.start()
      try await harness.sleep(1)
      #expect(session.state == .playing)
      session.stop()
      try await harness.sleep(1)
      // The script did not ask for its end with the session.
      #expect(stream.session == nil && stream.stream.status == .playing && suspensions == 0)
      try await stream.play(on: session, of: harness.house, endsWithSession: true)
      try await harness.sleep(1)
      session.stop()
      try await harness.sleep(1)
      #expect(stream.session == nil && stream.stream.status == .stopped && !stream.isActive)
    }
  }

  @Test("a session that stops right behind the start ends its stream") func stopsAtOnce() throws {
    try StationHarness.run(try StationHarness.station()) { harness in
      let stream = try harness.streams.stream("live")
      try await stream.play(on: harness.house.session, of: harness.house, endsWithSession: true)
      harness.house.session.stop()
      try await harness.sleep(1)
      let isSilent = stream.session == nil
      #expect(isSilent)
      #expect(stream.stream.status == .stopped)
      // Another start, while the end of the first one is not yet reported.
      try await stream.play(on: harness.house.session, of: harness.house, endsWithSession: true)
      harness.house.session.stop()
      try await stream.play(on: harness.house.session, of: harness.house, endsWithSession: true)
      try await harness.sleep(1)
      let isHere = stream.session === harness.house.session
      #expect(isHere)
      #expect(stream.stream.status == .playing)
      harness.house.session.stop()
    }
  }

  @Test("the error of the first connection is thrown, and no event emitted") func fails() throws {
    var station = try StationHarness.station()
    station.answer = .status(404)
    try StationHarness.run(station) { harness in
      var count = 0
      let error = await harness.failure {
        let stream = try harness.streams.stream("live")
        try await harness.streams.play(stream, on: harness.house.session, of: harness.house) { _ in
          count += 1
        }
      }
      #expect(error?.status == 404 && count == 0 && harness.house.session.state == .stopped)
      let unknown = #expect(throws: StreamError.self) { try harness.streams.stream("lvie") }
      #expect(unknown?.message.contains("did you mean 'live'?") == true)
    }
  }
}

@Suite("Stations that a command records", .waiting, .tags(.recording)) struct StationRecordingTests {
  @Test("attempts are repeated until the station is heard, and the end stays where it was planned")
  func retries() throws {
    var station = try StationHarness.station()
    station.answer = .refusal
    try StationHarness.run(station) { harness in
      var options = RecordingOptions(template: "\(harness.folder.path)/show.mp3")
      options.duration = .seconds(60)
      var events: [String] = []
      let recording = try StationRecording(
        of: harness.streams.named.station("live"), options, streams: harness.streams,
        recordings: harness.recordings
      ) { event in
        if case .retrying(let error, let isFirst) = event { events.append("\(error.code) \(isFirst)") }
      }
      let start = harness.loop.now
      let error = await harness.failure { _ = try await recording.begin(retries: true) }
      #expect(error?.kind == .network && events == ["stream.network true"])
      #expect(start.duration(to: harness.loop.now) == .seconds(60))
    }
  }

  @Test("a recording is whole, and reported with its path below the folder of recordings")
  func records() throws {
    try StationHarness.run(try StationHarness.station()) { harness in
      var reports: [String] = []
      let journal = Journal(loop: harness.loop)
      harness.recordings.journal = journal
      journal.listen { if $0.kind != .source { reports.append("\($0.kind) \($0.name) \($0.detail ?? "")") } }
      var options = RecordingOptions(template: "\(harness.folder.path)/show.mp3")
      options.duration = .seconds(30)
      let stream = try harness.streams.stream("live")
      var made: HouseRecording?
      try await harness.recordings.record(stream, options) { made = $0 }
      #expect(stream.isActive && made?.isOver == false)
      try await harness.sleep(60)
      #expect(reports == ["recording show.mp3 ", "recorded show.mp3 30 s"] && made?.isOver == true)

      let direct = try StationRecording(
        of: harness.streams.named.station("live"), options, streams: harness.streams,
        recordings: harness.recordings)
      let (_, recording) = try await direct.begin(retries: true)
      try await recording.stop()
      #expect(direct.delay == .zero && direct.recording === recording && recording.state == .finished)
    }
  }
}
