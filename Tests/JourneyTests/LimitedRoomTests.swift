import AudioCore
import Glibc
import TestSupport
import TestTraits
import Testing

/// A room with a limit, and scripts and persons that want it louder.
@Suite("A room with a limit", .waiting, .tags(.daemon, .volume)) struct LimitedRoomTests {
  private static let (maximum, amplitude): (Int, Float) = (25, 0.5)

  /// The scripts by name; `sine` is a file of the amplitude.
  private static let scripts = [
    // Two that take the room from each other.
    "left": taker, "right": taker,
    "gain": """
    local session = speaker.session { name = "gain", devices = "Kitchen" }
    session:set_gain(12)
    trigger.on("go", function() session:play(sine, { loop = true }) session:fade { gain = -6, over = "0.3s" }
      session:fade { gain = 12, over = "0.3s" } end)
    """,
    "boost": """
    speaker.set_eq { [62] = 12, [125] = 12, [250] = 12, [500] = 12, [1000] = 12 }
    trigger.on("go", function() task.try(speaker.play, sine, { rooms = "Kitchen", loop = true }) end)
    """,
    "dimmer": """
    trigger.on("go", function()
      for _ = 1, 3 do
        speaker.device "Kitchen":fade { to = 0, over = "0.2s" }
        speaker.device "Kitchen":fade { to = 50, over = "0.4s" }
      end
    end)
    """,
    "steps": """
    trigger.on("go", function()
      for volume = 10, 50, 5 do speaker.device "Kitchen":set_volume(volume) task.sleep "0.1s" end
    end)
    """,
    // One that a person stops, and that starts again.
    "siren": """
    local session = speaker.session { name = "siren", priority = 200, devices = "Kitchen" }
    local count = 0
    session:on("ended", function()
      count = count + 1
      if count < 10 then task.sleep "0.2s" session:play(sine) session:set_volume(50) end
    end)
    trigger.on("go", function() task.sleep "1s" session:play(sine) session:set_volume(50) end)
    """,
    "over": """
    trigger.on("go", function()
      require "announce".play { sine, rooms = "Kitchen", volume = 50, duck = 3 }
      require "announce".play { sine, rooms = "Kitchen", volume = 50, fade = 0 }
      print "announced"
    end)
    """,
    // One whose session fails while an interruption has its room.
    "fails": """
    trigger.on("go", function()
      task.sleep "0.5s"
      speaker.play(sine, { rooms = "Kitchen" })
      speaker.interrupt { devices = "Kitchen", volume = 50, priority = 250, play = function(session)
        session:play(sine)
        speaker.own:close()
        session:set_gain(12)
        task.sleep "0.5s"
        error "it fails"
      end }
    end)
    """,
  ]

  private static let taker = """
    local count = 0
    local function play() task.try(speaker.play, sine, { rooms = "Kitchen", loop = true }) end
    speaker.on("ended", function()
      count = count + 1
      if count < 30 then task.sleep "50ms" play() end
    end)
    trigger.on("go", play)
    """

  @Test("is never louder than that, whatever scripts and persons do at once")
  func limit() throws {
    let home = try Home()
    guard mkdir(home.path("scripts"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    try home.script(
      "house { speakers = { { name = 'Kitchen', max_volume = \(Self.maximum), volume = 50 }, { name = 'Bath' } } }",
      as: "config.lua")
    let sine = Signal.sine(400, amplitude: Double(Self.amplitude), frames: 96_000, sampleRate: 48_000)
    try Sound(sampleRate: 48_000, channels: [sine, sine]).write(to: home.path("sine.wav"))
    // Twenty more that begin in the same moment.
    let others = (1...20).map { ("other\($0)", Self.taker) }
    let scripts = Self.scripts.map { ($0.key, $0.value) } + others
    for (name, code) in scripts {
      try home.script(
        """
        local speaker, task, trigger = require "speaker", require "task", require "trigger"
        local sine = "\(home.path("sine.wav"))"
        \(code)
        print "ready"
        """, as: "scripts/\(name).lua")
    }
    let process = try home.start(["serve", "--config", "config.lua", "--output", "wav:out", "scripts"])
    for _ in scripts { try process.expect(": ready") }
    _ = try home.run("ctl", "trigger", "go")
    for _ in 0..<5 {
      for line in [["volume", "Kitchen", "50"], ["volume", "Kitchen", "+10"], ["stop", "Kitchen"]] {
        let outcome = try home.start(line).finish()
        #expect(outcome.status == 0, "\(line): \(outcome)")
      }
    }
    // The room may be taken from it, too.
    _ = try home.run("play", "sine.wav", "--on", "Kitchen")
    try process.expect("over: announced")
    process.send(SIGTERM)
    _ = try process.finish()
    let sound = try Sound(file: home.path("out/Kitchen.wav"))
    let most = Self.amplitude * VolumeLaw.gain(at: Self.maximum)
    for (number, channel) in sound.channels.enumerated() {
      let blocks = stride(from: 0, to: channel.count, by: 960).map { start in
        channel[start..<min(start + 960, channel.count)].reduce(0) { max($0, $1.magnitude) }
      }
      let loud = blocks.indices.filter { blocks[$0] > most * 1.001 + 0x1p-14 }
      #expect(loud.isEmpty, "channel \(number): \(loud.prefix(5).map { ($0, blocks[$0]) }), allowed: \(most)")
      #expect(blocks.contains { $0 > most * 0.9 })
    }
  }
}
