import AudioCore
import Glibc
import TestSupport
import TestTraits
import Testing

/// Streams of a real gst-rtsp-server, and the same as ffmpeg decodes them.
@Suite("streams by RTSP", .waiting, .tags(.stream, .recording)) struct RTSPJourneyTests {
  /// Pipelines of six codecs, each of which begins anew for each client.
  private static func pipelines(_ home: Home) throws -> [String: String] {
    let (mp3, aac) = (Fixtures.path("mp3-without-tag.mp3"), Fixtures.path("aac-lc-44k.aac"))
    try Command.succeed(
      "ffmpeg",
      [
        "-v", "error", "-i", Fixtures.repository("scripts/wake_up.mp3"), "-t", "6", "-ar", "48000", "-ac",
        "2",
        "-bitexact", home.path("music.wav"),
      ])
    try Command.succeed("opusenc", ["--quiet", home.path("music.wav"), home.path("music.opus")])
    let music = "filesrc location=\(home.path("music.wav")) ! wavparse ! audioconvert dithering=none"
    let telephone = "\(music) ! audioresample ! audio/x-raw,rate=8000,channels=1"
    return [
      "mp3": "filesrc location=\(mp3) ! mpegaudioparse ! rtpmpapay name=pay0 pt=14",
      "aac": "filesrc location=\(aac) ! aacparse ! rtpmp4gpay name=pay0 pt=96",
      "opus":
        "filesrc location=\(home.path("music.opus")) ! oggdemux ! opusparse ! rtpopuspay name=pay0 pt=96",
      "l16": "\(music) ! rtpL16pay name=pay0 pt=96",
      "pcmu": "\(telephone) ! mulawenc ! rtppcmupay name=pay0 pt=0",
      "pcma": "\(telephone) ! alawenc ! rtppcmapay name=pay0 pt=8",
    ]
  }

  /// A tone without an end, in real time.
  private static let live = [
    "live":
      "audiotestsrc is-live=true freq=440 ! audio/x-raw,rate=8000 ! mulawenc ! rtppcmupay name=pay0 pt=0"
  ]

  /// Returns the sound of a stream as ffmpeg decodes it.
  private static func reference(
    _ url: String, format: AudioFormat, seconds: Int, _ options: String...
  ) throws -> Sound {
    let output = try Command.succeed(
      "ffmpeg",
      ["-v", "error", "-rtsp_transport", "tcp", "-i", url, "-t", "\(seconds)"] + options + [
        "-f", "f32le", "-",
      ]
    ).output
    let samples = output.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    return Sound(interleaved: samples, format: format)
  }

  @Test(
    "each codec is recorded in its own file, whose sound is that of ffmpeg",
    arguments: [
      ("mp3", "mp3", 44_100, 1, 3), ("aac", "aac", 44_100, 2, 3), ("opus", "opus", 48_000, 2, 4),
      ("l16", "wav", 48_000, 2, 4), ("pcmu", "wav", 8000, 1, 4), ("pcma", "wav", 8000, 1, 4),
    ])
  func recorded(codec: String, end: String, rate: Int, channels: Int, seconds: Int) throws {
    let home = try Home()
    let server = try RTSPServer(try Self.pipelines(home))
    let outcome = try home.run("record", server.url(codec), "-o", "x.{ext}", "--for", "\(seconds)s")
    let path = home.path("x.\(end)")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(
      outcome.lines.count == 1 && outcome.lines[0].hasPrefix("recorded \(path), 0:0")
        && !outcome.lines[0].contains("gap"), "\(outcome)")
    #expect(try Command.run("ffmpeg", ["-v", "error", "-i", path, "-f", "null", "-"]).errors.isEmpty)
    let format = AudioFormat(sampleRate: rate, channels: channels)
    let (own, other) = (
      try Sound(file: path), try Self.reference(server.url(codec), format: format, seconds: seconds)
    )
    #expect(own.format == format && own.frameCount > (seconds * rate * 9) / 10)
    let delay = own.alignment(to: other).frames
    let error = own.errorToSignal(against: other, delay: -delay)
    // Samples are the same bit for bit.
    #expect(
      ["l16", "pcmu", "pcma"].contains(codec) ? error == -.infinity : error <= -75, "\(error) dB, \(delay)")
    #expect(try home.run("recordings", "verify").status == 0)
  }

  @Test(
    "each codec plays, and sounds as ffmpeg decodes it",
    arguments: ["mp3", "aac", "opus", "l16", "pcmu", "pcma"])
  func played(codec: String) throws {
    let home = try Home()
    let server = try RTSPServer(try Self.pipelines(home))
    let url = server.url(codec)
    try home.script(
      """
      local speaker = require "speaker"
      local radio = require "stream".new "\(url)"
      speaker.play_stream(radio, { rooms = "Kitchen" })
      print(radio.format, radio.file_duration and math.floor(radio.file_duration + 0.5))
      require "task".sleep(2.5)
      radio:stop()
      """)
    let outcome = try home.run("run", "--output", "wav:out", "routine.lua")
    let format = ["l16", "pcmu", "pcma"].contains(codec) ? "l16" : codec
    let duration = ["mp3", "aac"].contains(codec) ? "nil" : "6"
    #expect(outcome.lines == ["\(format)\t\(duration)"], "\(outcome)")
    let rate = AudioFormat(sampleRate: 48_000, channels: 2)
    let other = try Self.reference(url, format: rate, seconds: 2, "-ar", "48000", "-ac", "2")
    let own = try Sound(file: home.path("out/Kitchen.wav"))
    #expect(other.alignment(to: own).correlation > 0.6, "\(other.alignment(to: own)) \(own) \(other)")
  }

  @Test("a presentation with a range is moved in, and what sounds is the sound from there on")
  func sought() throws {
    let home = try Home()
    let server = try RTSPServer(try Self.pipelines(home))
    try home.script(
      """
      local speaker = require "speaker"
      local radio = require "stream".new "\(server.url("l16"))"
      speaker.play_stream(radio, { rooms = "Kitchen" })
      print(radio.can_seek)
      radio:seek(2.5)
      radio:wait "file_complete"
      """)
    let outcome = try home.run("run", "--output", "wav:out", "routine.lua")
    #expect(outcome.status == 0 && outcome.lines == ["true"], "\(outcome)")
    let music = try Sound(file: home.path("music.wav"))
    let tail = music[3 * 48_000..<min(music.frameCount, 6 * 48_000)]
    let own = try Sound(file: home.path("out/Kitchen.wav"))
    #expect(tail.alignment(to: own).correlation > 0.6, "\(tail.alignment(to: own)) \(own)")
  }

  @Test("a user logs in by a digest, and TLS is verified")
  func secure() throws {
    let home = try Home()
    let closed = try RTSPServer(Self.live, user: ("me", "s3cret"))
    let address = closed.url("live").replacing("rtsp://", with: "rtsp://me:s3cret@")
    let login = try home.run("record", address, "-o", "login.{ext}", "--for", "1s")
    #expect(login.status == 0 && !login.output.contains("s3cret"), "\(login)")
    let refused = try home.run("record", closed.url("live"), "-o", "none.{ext}", "--for", "1s")
    #expect(
      refused.status == 1 && refused.errors.contains("wants a user and a password (stream.auth)"),
      "\(refused)")

    let server = try RTSPServer(Self.live, isSecure: true)
    let trusted = try home.run(
      "record", server.url("live"), "-o", "tls.{ext}", "--for", "1s", "--ca-file", server.certificate)
    #expect(trusted.status == 0, "\(trusted)")
    let unknown = try home.run("record", server.url("live"), "-o", "none.{ext}", "--for", "1s")
    #expect(unknown.status == 1 && unknown.errors.contains("--ca-file"), "\(unknown)")
    #expect(
      fileNames(in: home.path("")).filter { $0.hasSuffix(".wav") }.sorted() == ["login.wav", "tls.wav"])
  }

  @Test(
    "packets that a relay loses end in a gap that is noted, and in a whole file",
    arguments: ["mp3", "aac", "pcmu"])
  func lost(codec: String) throws {
    let home = try Home()
    let server = try RTSPServer(try Self.pipelines(home), losing: 5..<10)
    let outcome = try home.run("record", server.url(codec), "-o", "x.{ext}", "--for", "2s")
    #expect(outcome.status == 0 && outcome.lines.last?.contains("gaps: 1 (") == true, "\(outcome)")
    #expect(try home.run("recordings", "verify").status == 0)
  }

  @Test("doctor listens to a station by RTSP, and a simulation has it without a server")
  func stations() throws {
    let (home, server) = (try Home(), try RTSPServer(Self.live))
    try home.write(
      Array(
        "stations { nursery = '\(server.url("live"))', gone = '\(server.url("gone"))' }".utf8),
      to: "config.lua")
    let doctor = try home.run("doctor", "--config", "config.lua")
    #expect(
      doctor.output.contains("station nursery") && doctor.output.contains("PCM, 8 kHz, mono"), "\(doctor)")
    #expect(
      doctor.output.contains("answers DESCRIBE with RTSP 404 Not Found (stream.not_found)"), "\(doctor)")
    try home.write(
      Array("station('rtsp://192.0.2.9/audio', { name = 'Nursery', file = 'music.mp3' })".utf8),
      to: "stations.lua")
    try home.music()
    try home.script("require 'speaker'.play_stream('rtsp://192.0.2.9/audio', { rooms = 'Kitchen' })")
    let week = try home.run("simulate", "--for", "1m", "--stations", "stations.lua", "routine.lua")
    #expect(week.status == 0 && week.output.contains("Nursery"), "\(week)")
  }

  @Test("a line that is cut ends in a gap that is noted, and in a whole file")
  func cut() throws {
    let home = try Home()
    let server = try RTSPServer(Self.live)
    let proxy = try CuttingProxy(to: server.port)
    let recorder = try home.start(
      ["record", "rtsp://127.0.0.1:\(proxy.port)/live", "-o", "x.{ext}", "--for", "12s"])
    // Until some sound is on the disk.
    for _ in 0..<3000 where !fileNames(in: home.path("")).contains("x.wav.part") { usleep(10_000) }
    usleep(2_000_000)
    proxy.cut()
    usleep(2_000_000)
    proxy.mend()
    let outcome = try recorder.finish()
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.lines.last?.contains("gaps: 1 (") == true, "\(outcome)")
    #expect(try home.run("recordings", "verify").status == 0)
    let sound = try Sound(file: home.path("x.wav"))
    #expect(sound.frameCount > 5 * 8000 && sound.frameCount < 12 * 8000)
    #expect(sound.levels(blockSeconds: 0.1).dropLast().allSatisfy { $0 > -20 }, "a tone throughout")
  }
}
