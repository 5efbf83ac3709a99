import Glibc
import TestSupport
import TestTraits
import Testing

/// Twenty scripts of a household, each written without a thought of the others, which play sines of their own.
private enum Household {
  /// Pitch of each sound in Hz, by the name of its file.
  static let pitches = [
    "radio": 400, "bath": 500, "record": 600, "book": 700, "party": 800, "bell": 900, "wake": 1000,
    "news": 1100,
    "show": 1200, "late": 1300,
  ]
  static let rooms = ["kitchen", "bath", "living", "bed"]

  /// The scripts by name. Triggers lead them through the evening.
  static let scripts: [(name: String, code: String)] = [
    ("radio", music("radio", "kitchen", at: "music")),
    ("bath", music("bath", "bath", at: "music")),
    ("record", music("record", "living", at: "music")),
    (
      "doorbell",
      """
      trigger.on("bell", function()
        require "announce".play { "bell.wav", rooms = "kitchen" }
        print "heard"
      end)
      """
    ),
    (
      "wake",
      """
      trigger.on("wake", function()
        local wake = speaker.session { name = "wake", priority = 200, devices = "bed" }
        wake:play("wake.wav", { loop = true })
        print "rings"
        trigger.wait "up"
        wake:close()
        print "over"
      end)
      """
    ),
    (
      "book",
      """
      trigger.on("book", function()
        local _, err = task.try(speaker.play, "book.wav", { rooms = "bed", loop = true })
        print(err and err.code or "plays", err and err.session)
      end)
      """
    ),
    ("news", music("news", "bath", at: "news")),
    ("show", music("show", "kitchen", "living", at: "show")),
    ("late", music("late", "bed", at: "late")),
    (
      "party",
      """
      trigger.on("party", function()
        local party = require "party".start()
        speaker.play("party.wav", { loop = true })
        print "dances"
        trigger.wait "home"
        party:stop()
        print "tidy"
      end)
      """
    ),
    ("again", #"trigger.on("again", function() trigger.fire "music" print "once more" end)"#),
    ("volume", #"trigger.on("quiet", function() speaker.device "kitchen":set_volume(15) print "quiet" end)"#),
    (
      "sleep",
      #"trigger.on("sleep", function() require "sleep_timer".start { after = 0, fade = 1, rooms = "living" } print "sleeps" end)"#
    ),
    ("ended", #"speaker.on("ended", { all = true }, function(e) print(e.session.name, e.reason) end)"#),
    ("rooms", #"trigger.on("look", function() for _, s in ipairs(speaker.sessions()) do print(s) end end)"#),
    (
      "scene",
      #"trigger.on("music", function() require "scene".save "evening" print "saved" end)"#
    ),
    ("motion", #"trigger.on("motion", function(e) print("motion", e.value) end)"#),
    ("weather", #"schedule.at("06:30", { days = "daily" }, function() print "rain" end) print "waits""#),
    (
      "levels",
      #"speaker.on("volume", function(e) if e.volume > 50 then error "too loud" end end) print "listens""#
    ),
    ("idle", #"speaker.open { add_all = true } print(speaker.own.name, speaker.state())"#),
  ]
  /// A script that plays a sound in rooms at a trigger.
  private static func music(_ sound: String, _ rooms: String..., at trigger: String) -> String {
    let list = rooms.map { "\"\($0)\"" }.joined(separator: ", ")
    return """
      speaker.on("ended", function(e) print("ended", e.reason) end)
      trigger.on("\(trigger)", function()
        local _, err = task.try(speaker.play, "\(sound).wav", { rooms = { \(list) }, loop = true })
        print(err and err.code or "plays")
      end)
      """
  }
}

/// A house in which the scripts play, and what is heard there.
private protocol Residence {
  /// The options of `roomtone serve`.
  var options: [String] { get }
  /// Returns what a room has played so far, from a frame on.
  func heard(in room: String, from frame: Int) throws -> [Float]
}

/// Speakers that write files.
private struct WAVHouse: Residence {
  let home: Home
  var options: [String] { ["--output", "wav:out"] }
  private static let files = [
    "kitchen": "Kitchen", "bath": "Bathroom", "living": "Living Room Left", "bed": "Bedroom Right",
  ]

  func heard(in room: String, from frame: Int) throws -> [Float] {
    let path = home.path("out/\(Self.files[room] ?? room).wav")
    guard access(path, F_OK) == 0 else { return [] }
    let bytes = try readBytes(path, 44 + 4 * frame..<1 << 40)
    return (0..<bytes.count / 4).map { place in
      Float(Int16(bitPattern: UInt16(bytes[4 * place]) | UInt16(bytes[4 * place + 1]) << 8)) / 32_768
    }
  }
}

/// A house whose sound is examined elsewhere.
private struct SilentHouse: Residence {
  let options = ["--config", "config.lua"]
  func heard(in room: String, from frame: Int) -> [Float] { [] }
}

/// Clients of a snapserver.
private struct SnapcastHouse: Residence {
  let rig: SnapcastRig
  let options = ["--config", "config.lua"]

  func heard(in room: String, from frame: Int) throws -> [Float] {
    try rig.played(by: room, frames: frame..<1 << 38).channels[0]
  }
}

@Suite("Twenty scripts of a household", .waiting, .tags(.daemon, .sessions)) struct HouseholdTests {
  /// One pass through the evening.
  private final class Evening {
    let home: Home
    let residence: any Residence
    let process: RunningCommand
    private var marks: [String: Int] = [:]

    init(
      _ home: Home, _ residence: any Residence, of scripts: [(name: String, code: String)] = Household.scripts
    ) throws {
      (self.home, self.residence) = (home, residence)
      guard mkdir(home.path("scripts"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
      for (name, code) in scripts {
        let head = """
          local speaker, task, trigger = require "speaker", require "task", require "trigger"
          local schedule = require "schedule"

          """
        try home.script(head + code + "\nprint \"ready\"\n", as: "scripts/\(name).lua")
      }
      for (name, pitch) in Household.pitches {
        let frames = name == "bell" ? 96_000 : 48_000 * 5
        let tone = Signal.sine(Double(pitch), amplitude: 0.5, frames: frames, sampleRate: 48_000)
        try Sound(sampleRate: 48_000, channels: [tone, tone]).write(to: home.path("scripts/\(name).wav"))
      }
      process = try home.start(["serve"] + residence.options + ["scripts"])
      for _ in scripts { try process.expect(": ready") }
    }

    /// Lets `expectOnce` examine what is played from now on.
    func mark() throws {
      for room in Household.rooms { marks[room, default: 0] += try heard(in: room).count }
    }

    /// Returns what a room has played since the mark.
    func heard(in room: String) throws -> [Float] { try residence.heard(in: room, from: marks[room] ?? 0) }

    func fire(_ trigger: String) throws {
      try mark()
      let outcome = try home.run("ctl", "trigger", trigger)
      guard outcome.status == 0 else { throw TestFailure("\(outcome)") }
    }

    /// Returns the pitches that a room has played since the mark, by tenths of a second; 0 is silence.
    func pitches(in room: String) throws -> [Int] {
      let samples = try heard(in: room)
      return stride(from: 0, to: samples.count - 4800, by: 4800).map {
        Self.pitch(of: samples[$0..<$0 + 4800])
      }
    }

    /// Waits until the rooms play sounds, by their names; "" is silence.
    func expect(_ wanted: [String: String]) throws {
      for (room, sound) in wanted {
        var last: [Int] = []
        do {
          try ServeTests.wait("\(room) plays \"\(sound)\"") {
            last = try pitches(in: room)
            return last.suffix(2) == Array(repeating: Household.pitches[sound] ?? 0, count: 2)[...]
          }
        } catch { throw TestFailure("\(error), it plays \(last.suffix(20)); \(try now())") }
      }
    }

    /// Waits until a room has played a sound since the mark, or the last trigger.
    func expectOnce(_ sound: String, in room: String) throws {
      try ServeTests.wait("\(room) has played \"\(sound)\"") {
        try pitches(in: room).contains(Household.pitches[sound] ?? 0)
      }
    }

    func now() throws -> String { try home.run("now").output + home.run("ctl", "log").output }

    /// Returns the pitch among those of the household that is loudest; 0 for silence, -1 for something else.
    static func pitch(of samples: ArraySlice<Float>) -> Int {
      let energy = samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)
      guard energy > 1e-7 else { return 0 }
      let powers = Household.pitches.values.map { pitch -> (Int, Double) in
        var (real, imaginary) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
          let phase = 2 * Double.pi * Double(pitch * index) / 48_000
          real += Double(sample) * cos(phase)
          imaginary += Double(sample) * sin(phase)
        }
        let count = Double(samples.count)
        return (pitch, 2 * (real * real + imaginary * imaginary) / (count * count))
      }
      guard let best = powers.max(by: { $0.1 < $1.1 }), best.1 > energy * 0.8 else { return -1 }
      return best.0
    }
  }

  /// Plays the evening in a house with a stream for each of four sessions.
  private func play(_ home: Home, _ residence: any Residence) throws {
    let evening = try Evening(home, residence)
    let process = evening.process
    try evening.fire("music")
    try evening.expect(["kitchen": "radio", "bath": "bath", "living": "record", "bed": ""])
    try evening.fire("bell")
    try evening.expectOnce("bell", in: "kitchen")
    try evening.expect(["kitchen": "radio", "bath": "bath", "living": "record"])
    try evening.fire("wake")
    try evening.expect(["bed": "wake", "kitchen": "radio"])
    try evening.fire("book")
    try process.expect("book: speaker.outranked wake")
    let why = try home.run("ctl", "why", "bed").output
    #expect(why.contains("\"wake\"") && why.contains("kept by \"wake\" of priority 200"), "\(why)")
    try evening.fire("news")
    try process.expect("news: plays")
    try evening.expect(["bath": "news", "kitchen": "radio", "bed": "wake"])
    try evening.fire("show")
    try evening.expect(["kitchen": "show", "living": "show", "bath": "news"])
    try evening.fire("late")
    try process.expect("late: speaker.outranked")
    try evening.fire("up")
    try process.expect("wake: over")
    try evening.expect(["bed": "", "kitchen": "show"])
    try evening.fire("late")
    try process.expect("late: plays")
    try evening.expect(["bed": "late"])
    try evening.fire("party")
    try process.expect("party: dances")
    try evening.expect(["kitchen": "party", "bath": "party", "living": "party", "bed": "party"])
    try evening.fire("home")
    try process.expect("party: tidy")
    try evening.expect(["kitchen": "show", "living": "show", "bath": "news", "bed": "late"])
    try evening.fire("sleep")
    try evening.expect(["living": "", "kitchen": "show", "bath": "news", "bed": "late"])
    try evening.fire("again")
    try evening.expect(["kitchen": "radio", "bath": "bath", "living": "record", "bed": "late"])
    for (room, script) in [("kitchen", "radio"), ("bath", "bath"), ("living", "record"), ("bed", "late")] {
      let why = try home.run("ctl", "why", room).output
      #expect(why.contains("\"\(script)\""), "\(why)")
    }
    let scripts = try home.run("ctl", "scripts").output
    #expect(!scripts.contains("failed") && scripts.split(separator: "\n").count >= 20, "\(scripts)")
    process.send(SIGTERM)
    let outcome = try process.finish()
    #expect(!outcome.output.contains("error") && !outcome.errors.contains("error"), "\(outcome)")
  }

  @Test("play where and when they should in one daemon, on the house")
  func house() throws {
    let home = try Home()
    try play(home, WAVHouse(home: home))
  }

  @Test("two plays of a person at the same moment both sound, and the rooms do what they did before")
  func people() throws {
    let home = try Home()
    let evening = try Evening(
      home, WAVHouse(home: home), of: Household.scripts.filter { ["radio", "bath"].contains($0.name) })
    try evening.fire("music")
    try evening.expect(["kitchen": "radio", "bath": "bath"])
    try evening.mark()
    let both = try [("show", "Kitchen"), ("news", "Bath")].map { sound, room in
      try home.start(["play", "scripts/\(sound).wav", "--on", room])
    }
    try evening.expectOnce("show", in: "kitchen")
    try evening.expectOnce("news", in: "bath")
    for play in both {
      let outcome = try play.finish()
      #expect(outcome.status == 0, "\(outcome)")
    }
    try evening.expect(["kitchen": "radio", "bath": "bath"])
    let kept = try home.run("play", "scripts/bell.wav", "--on", "Kitchen", "--keep")
    #expect(kept.status == 0, "\(kept)")
    try evening.process.expect("radio: ended no_devices")
    try evening.expect(["kitchen": "", "bath": "bath"])
  }

  @Test("saving a script while its music plays makes no click and no gap")
  func saved() throws {
    let home = try Home()
    let evening = try Evening(
      home, WAVHouse(home: home), of: Household.scripts.filter { $0.name == "radio" })
    try evening.fire("music")
    try evening.expect(["kitchen": "radio"])
    try evening.mark()
    for version in 1...3 {
      try home.script("print('version \(version)', require 'speaker'.state())", as: "scripts/radio.lua")
      try evening.process.expect("radio: version \(version) playing")
    }
    try evening.expect(["kitchen": "radio"])
    // A sine of 0.5 at 400 Hz: neighbours differ by no more, and it crosses zero 800 times a second.
    let samples = try evening.heard(in: "kitchen")
    let largest = zip(samples, samples.dropFirst()).map { abs($0 - $1) }.max() ?? 0
    let limit: Float = 0.5 * 2 * .pi * 400 / 48_000 + 3 / 32_768
    #expect(largest <= limit)
    var (silent, longest) = (0, 0)
    for sample in samples {
      silent = abs(sample) < 0.001 ? silent + 1 : 0
      longest = max(longest, silent)
    }
    #expect(samples.count > 48_000 / 2 && longest < 8)
  }

  @Test("on a hub, where one session sounds at a time, the later one of at least equal priority is heard")
  func hub() throws {
    let hub = try Hub(Household.rooms.enumerated().map { Hub.Speaker("10\($0)", name: $1) })
    let home = try Home()
    try home.script("house { driver = \"hkwhub\", url = \"\(hub.url)\" }", as: "config.lua")
    let evening = try Evening(home, SilentHouse())
    let process = evening.process
    /// Waits until the hub plays a sound, by the beginning of its medium; nil for none.
    func expect(_ sound: String?, in rooms: String...) throws {
      try ServeTests.wait("the hub plays \"\(sound ?? "")\"") {
        guard let sound else { return hub.mediaURL == nil }
        guard hub.mediaURL != nil, let medium = hub.media.last else { return false }
        try home.write(medium, to: "heard.wav")
        guard let heard = try? Sound(file: home.path("heard.wav")), heard.frameCount > 9600 else {
          return false
        }
        return Evening.pitch(of: heard.channels[0][4800..<9600]) == Household.pitches[sound]
          && hub.speakers.filter(\.isActive).map(\.name) == rooms.map { "\"\($0)\"" }
      }
    }
    try evening.fire("wake")
    try process.expect("wake: rings")
    try expect("wake", in: "bed")
    try evening.fire("book")
    try process.expect("book: speaker.outranked wake")
    try evening.fire("late")
    try process.expect("late: speaker.outranked")
    try evening.fire("news")
    // Its room is free, but the hub is not.
    try process.expect("news: speaker.no_stream")
    try evening.fire("up")
    try process.expect("wake: over")
    try expect(nil)
    try evening.fire("news")
    try process.expect("news: plays")
    try expect("news", in: "bath")
    try evening.fire("show")
    try process.expect("news: ended replaced")
    try process.expect("show: plays")
    try expect("show", in: "kitchen", "living")
    try evening.fire("bell")
    try expect("bell", in: "kitchen")
    try process.expect("show: ended replaced")
    try process.expect("doorbell: heard")
    let why = try home.run("ctl", "why", "kitchen").output
    #expect(why.contains("bell.wav"), "\(why)")
    // Three at the same moment: one is heard, and the others are told.
    try evening.fire("music")
    for _ in 0..<2 { try process.expect(": ended replaced") }
    try ServeTests.wait("one plays") { hub.mediaURL != nil }
    let now = try home.run("now").output
    #expect(now.split(separator: "\n").count { $0.contains("playing") } == 1, "\(now)")
    process.send(SIGTERM)
    let outcome = try process.finish()
    #expect(!outcome.output.contains("error") && !outcome.errors.contains("error"), "\(outcome)")
  }

  @Test("play where and when they should in one daemon, on a snapserver with four streams")
  func snapserver() throws {
    let rig = try SnapcastRig(clients: Household.rooms, sessions: 4, buffer: 400)
    let home = try Home()
    try home.script(
      "house { driver = \"snapcast\", port = \(rig.controlPort), buffer = \"400ms\" }", as: "config.lua")
    try play(home, SnapcastHouse(rig: rig))
  }
}
