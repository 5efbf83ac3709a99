import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("a house with several sound cards", .waiting, .tags(.cards))
struct CardTests {
  /// Cards that write what they play to files, as ALSA's file plug-in does; the last one is not there.
  private static let cards = """
    pcm.left_card { type file slave.pcm null file left.raw format raw }
    pcm.amplifier { type file slave.pcm null file amplifier.raw format raw }
    """

  private static let configuration = """
    house { output = "alsa:left_card", speakers = {
      { name = "Hall", volume = 50 },
      { name = "Kitchen", volume = 50, output = "alsa:amplifier", channels = { 3, 4 } },
      { name = "Bath", role = "right", volume = 50, output = "alsa:amplifier", channels = { 1 } },
      { name = "Attic", output = "alsa:hw:77", delay = "12ms" } } }
    """

  private func home() throws -> Home {
    let home = try Home()
    try home.script(Self.cards, as: ".asoundrc")
    guard mkdir(home.path("config/roomtone"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    try home.script(Self.configuration, as: "config/roomtone/config.lua")
    return home
  }

  /// Returns the 16-bit samples of one channel of a card, from the first that sounds.
  private func channel(_ channel: Int, of channels: Int, _ path: String) throws -> [Int16] {
    let bytes = try readBytes(path)
    let samples = stride(from: 2 * channel, to: bytes.count - 1, by: 2 * channels).map {
      Int16(truncatingIfNeeded: Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8)
    }
    return Array(samples.drop { $0 == 0 })
  }

  @Test("a tune reaches the channels of all cards sample for sample; a missing card is one line, and no end")
  func play() throws {
    let home = try home()
    let tune = try home.tune(frames: 48_000)
    let played = try home.run("play", "tune.wav")
    #expect(played.status == 0, "\(played)")
    let complaints = played.errorLines.filter { $0.contains("no sound") }
    #expect(complaints.count == 1, "\(played)")
    #expect(
      complaints.first?.contains("no sound on Attic: cannot write audio to the sound card \"hw:77\"") == true)
    func samples(_ channel: Int) -> [Int16] {
      Array(tune.channels[channel].map { Int16(($0 * 32_768).rounded()) }.drop { $0 == 0 })
    }
    let heard = [
      ("left.raw", 2, 0, 0), ("left.raw", 2, 1, 1), ("amplifier.raw", 4, 0, 1),
      ("amplifier.raw", 4, 2, 0), ("amplifier.raw", 4, 3, 1),
    ]
    for (file, channels, number, source) in heard {
      let expected = samples(source)
      let sound = try channel(number, of: channels, home.path(file)).prefix(expected.count)
      #expect(Array(sound) == expected, "channel \(number + 1) of \(file)")
    }
    #expect(try channel(1, of: 4, home.path("amplifier.raw")).isEmpty)
  }

  @Test("devices, status and doctor show which speaker has which card, and a card that is not there")
  func shown() throws {
    let home = try home()
    let devices = try home.run("devices")
    for (line, output) in zip(
      devices.lines.dropFirst(),
      [
        "alsa:left_card", "alsa:amplifier channels 3 and 4", "alsa:amplifier channel 1",
        "alsa:hw:77, 12 ms late",
      ])
    { #expect(line.contains("  \(output)  "), "\(line)") }
    let status = try home.run("status")
    #expect(status.lines.contains("Output         alsa:left_card and alsa:amplifier and alsa:hw:77"))
    let doctor = try home.run("doctor", "--offline")
    #expect(doctor.status == 1)
    let cards = doctor.lines.filter { $0.contains("sound card  ") }
    #expect(cards.map { String($0.prefix(4)) } == ["ok  ", "ok  ", "FAIL"], "\(doctor)")
    #expect(cards.last?.hasSuffix("config/roomtone/config.lua stays silent") == true, "\(cards)")
  }

  @Test("the demonstration house says that its speakers are invented")
  func invented() throws {
    let home = try Home()
    let devices = try home.run("devices")
    #expect(devices.lines.count == 7)
    #expect(devices.lines.dropFirst().allSatisfy { $0.contains("  invented, on alsa  ") }, "\(devices)")
    let status = try home.run("status")
    #expect(status.output.contains("6 in 4 groups, 6 available; invented, `roomtone help configuration`"))
    #expect(!(try self.home().run("status").output.contains("invented")))
  }
}
