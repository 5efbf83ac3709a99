import Glibc
import TestSupport
import Testing

// Reports of sound that comes late, or never.

extension RecordTests {
  @Test("with -q it prints nothing unless it fails, and then one line")
  func quiet() throws {
    let (station, home) = (try Self.station(), try Home())
    let done = try home.run("record", station.url("/live"), "-q", "-o", "a.mp3", "--for", "2s")
    #expect(done == Outcome(status: 0, output: "", errors: ""), "\(done)")
    station.refuse()
    let failed = try home.run("record", station.url("/live"), "-q", "-o", "b.mp3", "--for", "2s")
    #expect(failed.status == 1 && failed.output == "" && failed.errorLines.count == 1, "\(failed)")
    #expect(failed.errors.contains("(stream.network)"))
    #expect(fileNames(in: home.path("")).filter { $0.contains(".mp3") } == ["a.mp3"])
  }

  @Test("with -q one line reports that a good part is missing; the recording is kept")
  func missing() throws {
    var live = try Self.live()
    live.pace = .realTime(1)
    let station = try Self.station(.live(live).dropping(at: 90_000, by: .reset), .status("404 Not Found"))
    let home = try Home()
    let outcome = try home.run("record", station.url("/live"), "-q", "-o", "a.mp3", "--for", "30s")
    #expect(outcome.status == 0 && outcome.output == "" && outcome.errorLines.count == 1, "\(outcome)")
    #expect(
      outcome.errors.contains(" of 0:30 is missing, up to the end: recorded \(home.path("a.mp3")), 0:"),
      "\(outcome)")
  }

  @Test("--wait-for-audio tries until the station is there, and ends when it would have ended without that")
  func wait() throws {
    let station = try Self.station(.status("404 Not Found"), .live(try Self.live()))
    let home = try Home()
    let start = ContinuousClock.now
    let outcome = try home.run(
      "record", station.url("/live"), "-o", "a.mp3", "--for", "14s", "-q", "--wait-for-audio")
    let elapsed = start.duration(to: .now)
    #expect(outcome.status == 0 && outcome.output == "" && outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.contains("is missing: recorded \(home.path("a.mp3"))"), "\(outcome)")
    #expect(station.visits.count == 2 && fileNames(in: home.path("")).contains("a.mp3"))
    // By the clock: counted in sound, the burst of the station would have ended the recording.
    #expect(elapsed > .seconds(13), "\(elapsed)")
    let failed = try home.run("record", station.url("/other"), "-o", "b.mp3", "--for", "2s")
    #expect(failed.status == 1 && failed.errors.contains("stream.not_found"), "\(failed)")
  }

  @Test("--wait-for-audio without an end reports once, also without a terminal, that it waits for audio")
  func waitsForEver() throws {
    let (station, home) = (try Station(), try Home())
    let command = try home.start(
      ["record", station.url("/live"), "-o", "a.mp3", "-q", "--wait-for-audio"])
    for _ in 0..<3_000 where station.visits.count < 3 { usleep(20_000) }
    command.send(SIGTERM)
    let outcome = try command.finish()
    #expect(outcome.status == 143 && outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.contains("(stream.not_found); trying again"), "\(outcome)")
  }

  @Test("--wait-for-audio gives up when the time to record is over")
  func waitInVain() throws {
    let (station, home) = (try Station(), try Home())
    let outcome = try home.run(
      "record", station.url("/live"), "-o", "a.mp3", "--for", "6s", "-q", "--wait-for-audio")
    #expect(outcome.status == 1 && outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.contains("stream.not_found") && station.visits.count >= 2, "\(outcome)")
    #expect(fileNames(in: home.path("")).allSatisfy { !$0.contains(".mp3") })
  }
}
