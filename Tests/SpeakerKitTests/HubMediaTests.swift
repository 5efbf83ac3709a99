import AudioCore
import EventLoop
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

extension RealTimeTests {
  @Suite("The sound that a hub fetches", .tags(.hub))
  struct HubMediaTests {
    @Test(
      "the hub fetches a file as WAV, bit for bit, from a path that nobody can guess, and plays it to its end"
    )
    func plays() throws {
      try HubHarness.run { harness in
        let path = try harness.ramp(seconds: 1)
        try await harness.house.device("Bedroom").leave()
        try await harness.house.session.play(path)
        try await harness.wait { harness.hub.mediaURL != nil }
        let url = try #require(harness.hub.mediaURL)
        let name = try #require(url.split(separator: "/").dropFirst(2).first)
        #expect(url.hasPrefix("http://127.0.0.1:") && name.count == 32 && name.allSatisfy(\.isHexDigit))
        #expect(try await harness.house.session.finish(timeout: .seconds(20)) == .ended(.finished))
        #expect(try harness.fetched(0).channels == Sound(file: path).channels)
        let play = try #require(harness.hub.commands.first { $0.name.hasPrefix("play_web_media") })
        #expect(play.parameters["DeviceIDList"] == "101")
        // The path is void when the sound has ended.
        #expect(try HubMediaTests.status(of: url) == 404)
      }
    }

    /// Returns the status of the answer to a request; with the words of `range` behind the head where it is given.
    private static func status(of url: String, method: String = "GET", range: String? = nil) throws -> Int {
      let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", method]
      let result = try Command.run("curl", arguments + (range.map { ["-r", $0] } ?? []) + [url])
      return Int(String(decoding: result.output, as: UTF8.self)) ?? 0
    }

    @Test("pause stops the sound, resume and seek have the hub fetch it from there")
    func repositions() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 20))
        try await harness.wait { session.position > 9_600 }
        session.pause()
        let position = session.position
        try await harness.wait(0.3)
        #expect(session.position == position && harness.hub.mediaURL == nil && session.state == .paused)
        try session.resume()
        try await harness.wait { session.position > position + 4_800 }
        try session.seek(toSeconds: 15)
        try await harness.wait { harness.hub.media.count == 3 && harness.hub.media[2].count > 1_000 }
        try await harness.wait { session.position > 15 * 48_000 }
        for (number, frame) in [(1, position), (2, 15 * 48_000)] {
          let first = try #require(try harness.fetched(number).channels.first?.first)
          #expect(first == Float(frame / 48) / 32_768, "medium \(number) begins at \(first * 32_768) ms")
        }
        session.stop()
        try await harness.wait { harness.hub.mediaURL == nil }
        #expect(harness.hub.orders.filter { $0 == "stop_play" }.count == 2)
      }
    }

    @Test("a sound that the hub stops before its end has failed")
    func failures() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 20))
        try await harness.wait { session.position > 9_600 }
        harness.hub.stopPlaying()
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.failed))
        #expect(harness.reported.contains("error speaker.lost"))
      }
    }

    @Test("a sound whose end is sought has finished; a list that is refused is asked for again")
    func edges() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 5))
        try session.seek(toSeconds: 5)
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.finished))
        harness.hub.fault("device_list", .page("{\"Result\":\"false\"}"))
        try await harness.wait { !harness.logged.isEmpty }
        try await harness.wait(0.2)
        #expect(harness.logged == ["the hub refuses device_list"])
        harness.hub.fault("device_list", nil)
        harness.hub.change { $0[0].volume = "9" }
        try await harness.wait { harness.reported.contains("*101 9") }
        #expect(harness.house.devices.allSatisfy { $0.isAvailable })
      }
    }

    @Test("a queue is one sound without a gap; its files are announced when they are heard")
    func queues() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        let entries = try (1...3).map { number in
          let path = harness.folder.file("\(number).wav")
          let samples = Signal.constant(Float(number) / 8, frames: 12_000)
          try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
          return QueueEntry(path: path)
        }
        var tracks: [Int] = []
        harness.house.events.on(.track) { if case .track(_, _, let index, _) = $0 { tracks.append(index) } }
        let clock = ContinuousClock()
        let start = clock.now
        try await session.play(try #require(FileQueue(entries, loops: false, seed: nil)))
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.finished))
        #expect(start.duration(to: clock.now) < .seconds(9))
        let heard = try harness.fetched(0).channels[0]
        let expected = (1...3).flatMap { Signal.constant(Float($0) / 8, frames: 12_000) }
        #expect(heard == expected && tracks == [1, 2, 3], "\(heard.count) frames, \(tracks)")
      }
    }

    @Test("a looped file is endless, and the hub receives no more than ten seconds ahead")
    func loops() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        let start = ContinuousClock.now
        try await session.play(try harness.ramp(seconds: 0.25), loops: true)
        try await harness.wait { harness.hub.media.first.map { $0.count > 192_000 * 9 } ?? false }
        try await harness.wait { session.position < 6_000 && start.duration(to: .now) > .milliseconds(600) }
        let received = Double(try #require(harness.hub.media.first).count) / 192_000
        #expect(received < start.duration(to: .now) / .seconds(1) + 10.5, "\(received) s")
        let heard = try #require(harness.hub.media.first)[44..<44 + 192_000]
        #expect(heard.prefix(48_000).elementsEqual(heard.dropFirst(48_000).prefix(48_000)))
        #expect(session.duration == 12_000 && session.state == .playing)
      }
    }

    @Test("a live source is an endless WAV as it arrives, and goes on after a pause without a gap")
    func live() throws {
      try HubHarness.run { harness in
        let tone = LiveTone(frames: 48_000)
        let session = harness.house.session
        try await session.play(tone, as: SourceInfo(path: "tone", title: "tone"))
        try await harness.wait { harness.hub.media.first?.count == 44 + 192_000 }
        try await harness.wait { session.position > 9_600 }
        session.pause()
        let position = session.position
        try session.resume()
        try await harness.wait { harness.hub.media.count == 2 && harness.hub.media[1].count > 44 }
        tone.receive(24_000, isLast: true)
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.finished))
        let rest = try harness.fetched(1)
        #expect(rest.frameCount == 72_000 - position && tone.decodersMade == 1)
        #expect(
          rest.channels[0][0] == SampleConversion.float(SampleConversion.int16(LiveTone.sample(position))))
      }
    }

    @Test("a medium plays at the priority of its session")
    func priority() throws {
      try HubHarness.run { harness in
        let path = try harness.ramp(seconds: 5)
        let session = harness.house.session
        try await session.play(path)
        try await session.play(path, priority: 250)
        await #expect(throws: AudioError.self) { try await session.play(path + ".none", priority: 7) }
        try session.seek(toSeconds: 1)
        try await harness.wait { harness.hub.orders.count { $0 == "play_web_media_selected_speakers" } >= 3 }
        let priorities = harness.hub.commands.compactMap { $0.parameters["Priority"] }
        #expect(priorities == ["100", "250", "250"])
      }
    }

    @Test("the endpoint answers GET and HEAD of what plays, in ranges too, and nothing else")
    func endpoint() throws {
      let folder = try TemporaryFolder()
      let path = folder.file("a.wav")
      let samples = Signal.noise(seed: 3, amplitude: 0.5, frames: 4_800)
      try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
      let server = try MediaServer(address: "127.0.0.1", port: 0)
      let format = AudioFormat.session
      let source = try MediaSource.open(SourceRequest(path: path), format: format)
      let media = Media(source, from: 0, format: format)
      let url = server.url(try server.publish(media))
      let whole = try Command.run("curl", ["-s", url]).output
      #expect(whole.count == 44 + 19_200 && media.progress.withLock { $0.isComplete })
      for (first, last) in [(0, 1), (40, 60), (45, 46), (1_000, 9_999), (19_000, 19_243)] {
        let part = try Command.run("curl", ["-s", "-r", "\(first)-\(last)", url]).output
        #expect(Array(part) == Array(whole[first...last]), "\(first)-\(last)")
      }
      #expect(try Self.status(of: url, range: "0-1") == 206)
      #expect(try Self.status(of: url, range: "99999-") == 416)
      #expect(try Self.status(of: url, method: "POST") == 405)
      #expect(try Self.status(of: server.url("/")) == 404)
      #expect(try Self.status(of: server.url("/../etc/passwd")) == 404)
      let other = #expect(throws: SpeakerError.self) {
        try MediaServer(address: "127.0.0.1", port: server.port)
      }
      #expect(other?.message.contains("port \(server.port)") == true && other?.hint != nil)
      server.stop()
      #expect(try Self.status(of: url) == 0)
    }

    @Test("the endpoint ends without holding up the loop while a file system does not answer")
    func closesBesideAHungMount() throws {
      let loop = EventLoop()
      let sound = SilentSound(frames: 4_800)
      let server = try MediaServer(address: "127.0.0.1", port: 0)
      let source = try MediaSource.open(SourceRequest(sound, name: "sound"), format: .session)
      let media = Media(source, from: 0, format: .session)
      let url = server.url(try server.publish(media))
      let fetching = try TestThread { _ = try? Command.run("curl", ["-s", "-m", "60", url]) }
      defer { fetching.join() }
      var turns = 0
      try loop.finish(
        {
          while media.progress.withLock({ $0.begun }) == nil { try await loop.sleep(for: .milliseconds(10)) }
          // The connection is in its next read by then, which does not return.
          try await loop.sleep(for: .milliseconds(200))
          loop.after(.milliseconds(100)) { turns += 1 }
          let release = try TestThread {
            usleep(1_000_000)
            sound.isReleased.store(true, ordering: .relaxed)
          }
          defer { release.join() }
          await server.close(on: loop)
          #expect(turns == 1 && sound.isReleased.load(ordering: .relaxed))
        }, last: {})
    }
  }
}
