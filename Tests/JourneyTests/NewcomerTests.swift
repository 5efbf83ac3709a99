import TestSupport
import TestTraits
import Testing

/// The first hour of a person who has read the README alone.
@Suite("The prompt, for a newcomer", .waiting, .tags(.prompt)) struct NewcomerTests {
  @Test("help and Tab lead from nothing to a routine that plays a tune in the kitchen every morning")
  func routine() throws {
    let home = try Home()
    try home.write(try readBytes(Fixtures.repository("scripts/doorbell.mp3")), to: "doorbell.mp3")
    let screen = try Screen(["repl", "--output", "null"], of: home, columns: 80, rows: 60)
    try screen.expect("a prompt") { $0.last == ">" }

    // The modules, and the way to their pages.
    try screen.enter("help()")
    try screen.expect(row: "  speaker      The house:")
    try screen.expect(row: "help \"speaker\" shows a module, help(speaker.play) a function")

    // The kitchen, found by Tab.
    try screen.type("kitchen = spea")
    try screen.press("Tab")
    try screen.type(".dev")
    try screen.press("Tab")
    try screen.expect(row: "> kitchen = speaker.device")
    try screen.type(" \"kit")
    try screen.press("Tab")
    try screen.expect("> kitchen = speaker.device \"Kitchen\"")
    try screen.press("Enter")
    try screen.enter("help(kitchen)")
    try screen.expect(row: "set_volume")

    // The events, found by Tab.
    try screen.type("speaker.on(\"end")
    try screen.press("Tab")
    try screen.expect("> speaker.on(\"ended\"")
    try screen.enter(", function(event) print(\"over:\", event.source.title, event.reason) end)")
    try screen.expect(row: "subscription to \"ended\"")

    // The file, found by Tab; its end is printed above the line that is typed meanwhile.
    try screen.enter("help(speaker.play)")
    try screen.expect(row: "Title of a single file shown to people")
    try screen.type("speaker.play(\"door")
    try screen.press("Tab")
    try screen.expect("> speaker.play(\"doorbell.mp3\"")
    try screen.enter(")")
    try screen.type("sched")
    try screen.press("Tab")
    try screen.type(".a")
    try screen.press("Tab")
    try screen.expect("the end above the line") {
      $0.last == "> schedule.at" && $0.contains { $0.hasPrefix("over:") && $0.contains("doorbell.mp3") }
    }

    // The routine that repeats it; its option is found by Tab.
    try screen.type("(\"07:00\", { da")
    try screen.press("Tab")
    try screen.expect("> schedule.at(\"07:00\", { days =")
    try screen.enter("\"mon-fri\" }, function()")
    try screen.enter("speaker.play \"doorbell.mp3\"")
    try screen.enter("end)")
    try screen.expect(row: "job \"at 07:00 mon-fri\" (next ")

    try screen.enter("live()")
    try screen.expect(row: "jobs     at 07:00 mon-fri")
    try screen.press("q", "C-d")
    try screen.expect("status 0", "cooked")
  }
}
