import AudioCore
import Codecs
import Glibc
import TestSupport
import TestTraits
import Testing

/// Output of `roomtone simulate scripts/wake_up.lua --render`, and its source.
private struct WakeUp {
  static let shared = Result { try WakeUp() }

  let outcome: Outcome
  let files: [String]
  /// Tune at the session's rate.
  let source: Sound
  /// Bytes of the samples of each file, by name.
  let samples: [String: ArraySlice<UInt8>]
  private let sounds: [String: Sound]

  private init() throws {
    let home = try Home()
    outcome = try home.run(
      "simulate", "scripts/wake_up.lua", "now", "--render", home.path("out"), in: Fixtures.repository(""))
    files = fileNames(in: home.path("out"))
    let folder = home.path("out")
    samples = try Dictionary(
      uniqueKeysWithValues: files.map { ($0, try wavSamples(in: "\(folder)/\($0)")) })
    sounds = try Dictionary(
      uniqueKeysWithValues: ["Kitchen.wav", "Bedroom Left.wav", "Bedroom Right.wav"].map {
        ($0, try Sound(file: "\(folder)/\($0)"))
      })
    source = try Sound(
      decoding: ConformedDecoder(AudioFile.open(Fixtures.repository("scripts/wake_up.mp3"))), frames: 48_000)
  }

  func sound(_ speaker: String) throws -> Sound { try #require(sounds["\(speaker).wav"]) }

  /// Returns the sound of a speaker of this role at full volume.
  func source(_ role: ChannelRole) -> Sound {
    let (left, right) = (source.channels[0], source.channels[1])
    let channel: [Float] =
      switch role {
      case .left, .frontLeft, .surroundLeft: left
      case .right, .frontRight, .surroundRight: right
      case .mono, .center, .lfe: zip(left, right).map { ($0 + $1) / 2 }
      case .stereo: []
      }
    return Sound(sampleRate: 48_000, channels: role == .stereo ? [left, right] : [channel, channel])
  }
}

@Suite("The first script, simulated and rendered", .waiting, .tags(.simulation, .alarm)) struct WakeUpTests {
  private static let block = 960
  /// Frames at which the Kitchen joins, 12 s into the fade, and the Bedroom leaves, 2 s later.
  private static let (join, leave) = (12 * 48_000, 14 * 48_000)

  @Test("a time line shows the actions of the house in order")
  func timeLine() throws {
    let outcome = try WakeUp.shared.get().outcome
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
    let expected = [
      "00:00:00 Good morning!",
      // At the volume that the routine sets before it plays.
      "00:00:00 Bedroom ▶ the morning tune at volume 8",
      "00:00:12 Kitchen joins the morning tune",
      "00:00:12 Breakfast is in the kitchen.",
      "00:00:14 Bedroom leaves its session",
      "00:00:23 Kitchen ■ the morning tune has ended",
      "00:00:23 the morning tune is over: finished",
    ]
    let lines = outcome.lines.map { $0.split(separator: " ").joined(separator: " ") }
    #expect(lines.filter(expected.contains) == expected, "\(outcome)")
    #expect(lines.contains("00:00:00 Bedroom volume 8 → 32 over 12 s"), "\(outcome)")
  }

  @Test("there is one file per speaker, all of the tune's length")
  func files() throws {
    let wakeUp = try WakeUp.shared.get()
    #expect(
      wakeUp.files == [
        "Bathroom.wav", "Bedroom Left.wav", "Bedroom Right.wav", "Kitchen.wav", "Living Room Left.wav",
        "Living Room Right.wav",
      ])
    // 16 bit, stereo.
    for (file, samples) in wakeUp.samples {
      #expect(samples.count == wakeUp.source.frameCount * 4, "\(file)")
    }
    for silent in ["Bathroom", "Living Room Left", "Living Room Right"] {
      #expect(wakeUp.samples["\(silent).wav"]?.allSatisfy { $0 == 0 } == true, "\(silent)")
    }
    #expect(try wakeUp.sound("Kitchen").format == AudioFormat.session)
  }

  @Test("the Kitchen starts with the very block that the Bedroom gets")
  func joins() throws {
    let wakeUp = try WakeUp.shared.get()
    let (kitchen, bedroom) = (try wakeUp.sound("Kitchen"), try wakeUp.sound("Bedroom Left"))
    let first = try #require(kitchen.channels[0].firstIndex { $0 != 0 })
    #expect((Self.join..<(Self.join + 2 * Self.block)).contains(first))
    let start = first / Self.block * Self.block
    let together = start..<(start + 16_384)
    for (own, other) in [
      (kitchen, wakeUp.source(.mono)), (bedroom, wakeUp.source(.left)), (kitchen, bedroom),
    ] {
      #expect(own[together].alignment(to: other[together]).frames == 0)
    }
    // The volume is in effect by the third block.
    let settled = (start + 3 * Self.block)..<(start + 16_384)
    #expect(kitchen[settled].alignment(to: wakeUp.source(.mono)[settled]).correlation > 0.9999)
  }

  @Test(
    "each speaker plays the channels of its role, at the gain of its volume, to the last bit",
    arguments: [("Kitchen", ChannelRole.mono), ("Bedroom Left", .left), ("Bedroom Right", .right)])
  func roles(speaker: String, role: ChannelRole) throws {
    let wakeUp = try WakeUp.shared.get()
    let (sound, source) = (try wakeUp.sound(speaker), wakeUp.source(role))
    // At rest: after the ramp to volume 32, and before the Bedroom leaves.
    let rest = (Self.join + 4 * Self.block)..<(Self.leave - Self.block)
    let gain = VolumeLaw.gain(at: 32)
    var worst: Float = 0
    for (own, other) in zip(sound.channels, source.channels) {
      for frame in rest { worst = max(worst, (own[frame] - other[frame] * gain).magnitude) }
    }
    #expect(worst <= 1 / Float(32_768))
  }

  @Test("the fade rises by no more than 1 dB from block to block, from the very first")
  func fade() throws {
    let wakeUp = try WakeUp.shared.get()
    let range = 0..<Self.join
    let played = try wakeUp.sound("Bedroom Left")[range].levels()
    let source = wakeUp.source(.left)[range].levels()
    let gains = zip(played, source).filter { $0.1 > -40 }.map { $0.0 - $0.1 }
    #expect(gains.count > 590)
    let steps = zip(gains.dropFirst(), gains).map { $0.0 - $0.1 }
    for (block, step) in steps.enumerated() { #expect(abs(step) < 1, "after block \(block)") }
    let (first, last) = (try #require(gains.first), try #require(gains.last))
    // Volumes 8 and 32, at 0.9 dB a step.
    #expect(abs(first - -37.8) < 0.5)
    #expect(abs(last - -16.2) < 1)
  }

  @Test(
    "nothing clicks: neither the fade, nor a speaker that joins or leaves",
    arguments: ["Bedroom Left", "Kitchen"])
  func clicks(speaker: String) throws {
    let wakeUp = try WakeUp.shared.get()
    let sound = try wakeUp.sound(speaker)
    // Rounding may add one step of 16 bits.
    let allowed = wakeUp.source.largestStep * VolumeLaw.gain(at: 32) + 1 / 16_384
    #expect(sound.largestStep <= allowed)
    for moment in [0, Self.join, Self.leave] {
      let around = max(0, moment - 9_600)..<(moment + 9_600)
      #expect(sound[around].clicks() == [], "around frame \(moment)")
    }
  }

  @Test("the Bedroom falls silent where it leaves, and the Kitchen plays the tune to its last frame")
  func end() throws {
    let wakeUp = try WakeUp.shared.get()
    let (kitchen, bedroom) = (try wakeUp.sound("Kitchen"), try wakeUp.sound("Bedroom Left"))
    let count = wakeUp.source.frameCount
    #expect(bedroom[(Self.leave + 3 * Self.block)..<count].peak == 0)
    #expect(bedroom[(Self.leave - Self.block)..<Self.leave].peak > 0)
    let source = wakeUp.source(.mono)
    // The last 100 ms that are loud enough to exceed rounding.
    let loud = try #require(source.channels[0].lastIndex { $0.magnitude > 0.01 })
    let last = (loud - 4_799)..<(loud + 1)
    let alignment = kitchen[last].alignment(to: source[last])
    #expect(abs(alignment.delay) < 0.05)
    #expect(alignment.correlation > 0.999)
  }
}

@Suite("Simulations", .waiting, .tags(.simulation)) struct SimulationTests {
  @Test(
    "two speakers that play the same have the same samples, whenever they join", arguments: [0, 0.3, 0.507])
  func inStep(delay: Double) throws {
    let home = try Home()
    try home.music()
    let script = try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open { add_all = false }
      local kitchen, bathroom = speaker.device "Kitchen", speaker.device "Bathroom"
      kitchen:set_volume(30)
      bathroom:set_volume(30)
      bathroom:join()
      task.sleep(0.1)
      local delay = tonumber(arg[1])
      if delay == 0 then kitchen:join() end
      speaker.play "music.mp3"
      task.sleep(delay)
      if not kitchen.active then kitchen:join() end
      task.sleep(1)
      speaker.stop()
      """)
    let outcome = try home.run("simulate", "--render", "out", "--", script, "\(delay)")
    #expect(outcome.status == 0, "\(outcome)")
    let (kitchen, bathroom) = (
      try Sound(file: home.path("out/Kitchen.wav")), try Sound(file: home.path("out/Bathroom.wav"))
    )
    let first = try #require(kitchen.channels[0].firstIndex { $0 != 0 }) / 960
    let joined = Int((delay * 50).rounded(.up))
    #expect((joined...joined + 1).contains(first))
    // The Kitchen fades in for one block, unless it was a member before the music.
    let same = (delay == 0 ? 0 : first + 1) * 960..<kitchen.frameCount
    #expect(kitchen[same] == bathroom[same])
    #expect(kitchen[same].peak > 0)
  }

  @Test("speakers that join at the same moment sound the same from their first sample on")
  func joinTogether() throws {
    let home = try Home()
    try home.music()
    let script = try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open { add_all = false }
      local kitchen, bathroom = speaker.device "Kitchen", speaker.device "Bathroom"
      for _, device in ipairs { kitchen, bathroom } do device:set_volume(30) end
      speaker.device "Bedroom Left":join()
      speaker.play "music.mp3"
      task.sleep(0.33)
      kitchen:join()
      bathroom:join()
      task.sleep(0.5)
      """)
    #expect(try home.run("simulate", "--render", "out", "--for", "2s", script).status == 0)
    let kitchen = try Sound(file: home.path("out/Kitchen.wav"))
    #expect(kitchen.peak > 0)
    #expect(try kitchen == Sound(file: home.path("out/Bathroom.wav")))
  }

  @Test("the same script makes the same bytes and the same lines in every process")
  func repeats() throws {
    let home = try Home()
    func simulate(_ folder: String) throws -> Outcome {
      let script = Fixtures.repository("scripts/wake_up.lua")
      return try home.run("simulate", script, "now", "--for", "14s", "--render", folder)
    }
    let (first, second) = (try simulate("one"), try simulate("two"))
    #expect(first.status == 0)
    #expect(first.output.replacing("one:", with: "two:") == second.output)
    #expect(fileNames(in: home.path("one")).count == 6)
    for name in fileNames(in: home.path("one")) {
      #expect(try readBytes(home.path("one/\(name)")) == readBytes(home.path("two/\(name)")), "\(name)")
    }
  }

  private static let randomScript = """
    math.randomseed()
    local number = math.random(1000000)
    print("table", tostring({}), tostring(print), tostring(function() end))
    print("date", os.date(), os.time(), os.clock())
    local all = { [{}] = 1, [print] = 2, [true] = 3, [1.5] = 4 }
    for _, name in ipairs { "x", "zebra", "a", "b", "kitchen" } do all[name] = name end
    for key, value in pairs(all) do print("pair", key, value) end
    require "task".sleep("90s")
    print("date", os.date("%F %T"), os.time(), os.clock())
    print("random", number, math.random(1000000), math.random())
    """

  @Test("random numbers, the order of pairs, names of tables and the time are the same every time")
  func determined() throws {
    let home = try Home()
    let script = try home.script(Self.randomScript)
    let first = try home.run("simulate", script)
    #expect(first.status == 0)
    #expect(first.lines.count > 10)
    #expect(try home.run("simulate", script) == first)
    #expect(try home.run("simulate", "--seed", "1", script) == first)
    #expect(first.output.contains("2026-01-05 00:01:30"))
  }

  @Test("another seed changes the random numbers and nothing else")
  func seeds() throws {
    let home = try Home()
    let script = try home.script(Self.randomScript)
    let (one, two) = (
      try home.run("simulate", "--seed", "1", script), try home.run("simulate", "--seed", "2", script)
    )
    let different = zip(one.lines, two.lines).filter { $0.0 != $0.1 }
    #expect(one.lines.count == two.lines.count)
    #expect(different.count == 1)
    #expect(different.allSatisfy { $0.0.contains("random") })
  }

  @Test("--json prints one object a line")
  func json() throws {
    let home = try Home()
    let script = try home.script(
      """
      print 'a "quoted" line'
      io.write("one ", 2, " ")
      io.stdout:write("three\\nfour "):write "five"
      print " six"
      require "speaker".device "Kitchen":set_volume(30)
      require "task".sleep(1)
      io.write "the last"
      """)
    func line(_ second: Int, _ kind: String, _ room: String, _ fields: String, _ text: String) -> String {
      #"{"time": "2026-01-05T00:00:0\#(second)+00:00", "kind": "\#(kind)", "room": "\#(room)", \#(fields), "text": "\#(text)"}"#
    }
    func printed(_ second: Int, _ text: String) -> String {
      line(second, "print", "", #""message": "\#(text)""#, text)
    }
    #expect(
      try home.run("simulate", "--json", "--timezone", "Etc/UTC", script).lines == [
        printed(0, #"a \"quoted\" line"#), printed(0, "one 2 three"), printed(0, "four five six"),
        line(0, "volume", "Kitchen", #""from": 22, "to": 30, "over": 0.0"#, "volume 22 → 30"),
        printed(1, "the last"),
      ])
  }

  @Test("programs and the like are unavailable, with an error that names this")
  func notHere() throws {
    let home = try Home()
    for call in ["os.execute 'true'", "io.popen 'true'"] {
      let outcome = try home.run("simulate", home.script(call))
      #expect(outcome.status == 1)
      #expect(outcome.errors.hasPrefix("roomtone: 2026-01-05 00:00: routine.lua:1: "))
      #expect(outcome.errors.contains("simulate.not_here"))
    }
  }

  @Test(
    "a script is no module, and the library's modules come before files of their names; other files are found"
  )
  func ownName() throws {
    let home = try Home()
    try home.script("return { own = true }", as: "scene.lua")
    try home.script("return type(require('party').start)", as: "helper.lua")
    try home.script(
      "print(type(require('party').start), require 'helper', type(require('scene').apply))", as: "party.lua")
    let outcome = try home.run("run", "--output", "null", "party.lua")
    #expect(outcome.status == 0 && outcome.output == "function\tfunction\tfunction\n", "\(outcome)")
    #expect(outcome.errors.contains("the module 'scene' is the library's, not the file beside"), "\(outcome)")
    try home.script("require 'mine'", as: "mine.lua")
    let missing = try home.run("run", "--output", "null", "mine.lua")
    #expect(
      missing.status == 1 && missing.errors.contains("mine.lua' is the script itself, no file"), "\(missing)")
  }

  @Test("a week of routines is simulated in a moment")
  func week() throws {
    let home = try Home()
    try home.tune(frames: 96_000)
    let script = try home.script(
      """
      local schedule, speaker = require "schedule", require "speaker"
      schedule.at("06:45", { days = "mon-fri" }, function()
        speaker.play("tune.wav", { rooms = "Kitchen" })
        print(speaker.finish())
      end)
      """)
    let outcome = try home.run("simulate", "--for", "7d", script)
    #expect(outcome.status == 0)
    #expect(outcome.lines.filter { $0.hasSuffix("finished") }.count == 5, "\(outcome)")
  }
}

@Suite("In real time", .waiting, .tags(.rendering, .playback)) struct RealTimeRunTests {
  @Test(
    "files have the whole sound, sample for sample what a simulation renders", arguments: [44_100, 48_000])
  func exact(sampleRate: Int) throws {
    let home = try Home()
    let source = try home.tune(frames: 3 * sampleRate + 123, sampleRate: sampleRate)
    let script = try home.script(
      "local speaker = require 'speaker' speaker.open { add_all = true } speaker.play 'tune.wav' print(speaker.finish())"
    )
    let outcome = try home.run("run", "--output", "wav:real", script)
    #expect(outcome == Outcome(status: 0, output: "finished\n", errors: ""))
    #expect(try home.run("simulate", "--render", "simulated", script).status == 0)
    let names = fileNames(in: home.path("real"))
    #expect(names.count == 6)
    #expect(names == fileNames(in: home.path("simulated")))
    for name in names {
      let real = try Sound(file: home.path("real/\(name)"))
      #expect(try real == Sound(file: home.path("simulated/\(name)")), "\(name)")
      #expect(real.peak > 0)
      if sampleRate == 48_000 { #expect(real.frameCount == source.frameCount) }
      #expect(abs(real.frameCount - source.frameCount * 48_000 / sampleRate) <= 1)
    }
  }
}
