import TestTraits
import Testing

@testable import Roomtone

@Suite("The view of live()", .tags(.prompt, .events)) struct LiveViewTests {
  private let view = LiveView(
    playing: [
      .init(
        rooms: ["Kitchen", "居間"], session: nil, title: "tune.wav", position: 72, duration: 83, volume: 22,
        isPaused: false),
      .init(
        rooms: [], session: "news", title: "Morning FM", position: 3_700, duration: nil, volume: 0,
        isPaused: true),
    ],
    listeners: ["on \"volume\"", "on \"state\"", "on \"volume\""],
    jobs: [("wake up", "2026-03-28 06:45:00", 0), ("once", nil, 1)],
    recordings: [.init(path: "Radio/show.mp3", title: "Artist - One", seconds: 61, bytes: 1_400_000)])

  @Test("shows what plays, who listens, jobs and recordings")
  func all() {
    #expect(
      view.lines(width: 200, height: 50) == [
        "plays    ▶ tune.wav  1:12 / 1:23  volume 22 of 50  Kitchen, 居間",
        "         ⏸ Morning FM  1:01:40  volume 0 of 50  no speaker  session news",
        "listens  on \"volume\" (2)", "         on \"state\"",
        "jobs     wake up  next 2026-03-28 06:45:00", "         once  no further run  running",
        "records  1:01  1.4 MB  Artist - One  Radio/show.mp3",
      ])
    #expect(LiveView().lines(width: 80, height: 9).allSatisfy { $0.hasSuffix("nothing") })
  }

  @Test("rows fit a narrow terminal, and those beyond its height are counted")
  func narrow() {
    let lines = view.lines(width: 24, height: 4)
    #expect(lines.count == 4 && lines.last == "… 4 more")
    #expect(lines.first == "plays    ▶ tune.wav  1:…")
  }
}
