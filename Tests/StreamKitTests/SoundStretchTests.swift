import AudioCore
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite("Sound that is stretched", .tags(.stream, .reconnection)) struct SoundStretchTests {
  private static let format = AudioFormat(sampleRate: 44_100, channels: 2)

  /// Sound that has gone through the stage, and the input frame that each frame of it stands for.
  private struct Stretched {
    var sound = Sound(sampleRate: format.sampleRate, channels: [[], []])
    var positions: [Double] = []
    /// The frames of input that the stage received.
    var received = 0
  }

  private func sine(_ hertz: Double, at frame: Double) -> Float {
    Float(0.5 * sin(2 * .pi * hertz * frame / Double(Self.format.sampleRate)))
  }

  /// Stretches two sines, in pieces as decoders and readers have them.
  /// - Parameters:
  ///   - seconds: the length of the output, unless the stage is over before.
  ///   - end: the frame at which the input ends; nil for none.
  ///   - isWanted: called with the time of the output in seconds.
  private func stretch(
    _ hertz: (Double, Double), seconds: Double, end: Int? = nil, isWanted: (Double) -> Bool
  ) throws -> Stretched {
    let (stage, rate) = (try SoundStretch(Self.format), Double(Self.format.sampleRate))
    let piece = PCMBlock(format: Self.format, frames: 1152)
    let room = PCMBlock(format: Self.format, frames: 700)
    var result = Stretched()
    while Double(result.positions.count) < seconds * rate {
      let before = stage.position
      let count = try stage.read(
        into: room.view.buffer, isWanted: isWanted(Double(result.positions.count) / rate))
      if count == 0 {
        if stage.isOver { break }
        guard result.received != end else {
          stage.finish()
          continue
        }
        let length = min(1152, (end ?? .max) - result.received)
        for frame in 0..<length {
          piece.view.samples[2 * frame] = sine(hertz.0, at: Double(result.received + frame))
          piece.view.samples[2 * frame + 1] = sine(hertz.1, at: Double(result.received + frame))
        }
        stage.append(piece.view.prefix(length))
        result.received += length
        continue
      }
      let step = (stage.position - before) / Double(count)
      for frame in 0..<count {
        result.positions.append(before + step * Double(frame))
        for channel in 0..<2 { result.sound.channels[channel].append(room.view.samples[2 * frame + channel]) }
      }
    }
    return result
  }

  @Test("sounds at the position reported, without a click where it begins and ends to be stretched")
  func sines() throws {
    let tones = (220.0, 3_000.0)
    let result = try stretch(tones, seconds: 20) { $0 < 9 }
    let first = try #require(result.positions.indices.first { result.positions[$0] != Double($0) })
    #expect((1_024...3_000).contains(first), "the first frames pass as they are")
    for (channel, hertz) in [tones.0, tones.1].enumerated() {
      let samples = result.sound.channels[channel]
      let error = samples.indices.map { abs(samples[$0] - sine(hertz, at: result.positions[$0])) }.max() ?? 1
      #expect(20 * log10(error / 0.5) < -30, "channel \(channel)")
      // A sample of a sine follows from the two before it; the factor is that of the sine at half the stretch.
      let factor = Float(2 * cos(2 * .pi * hertz * 0.9975 / 44_100))
      let residual = (0..<samples.count - 2).map {
        abs(samples[$0 + 2] - factor * samples[$0 + 1] + samples[$0])
      }
      #expect(20 * log10((residual.max() ?? 1) / 0.5) < -50, "channel \(channel)")
    }
  }

  @Test("is bit for bit what it was where it is not stretched") func exact() throws {
    let result = try stretch((220, 3_000), seconds: 14) { $0 < 2 }
    let count = result.positions.count
    for (frame, position) in result.positions.enumerated()
    where frame < 1024 || frame > count - 100 {
      #expect(position == position.rounded())
      let samples = result.sound.channels.map { $0[frame] }
      guard samples == [sine(220, at: position), sine(3_000, at: position)] else {
        Issue.record("frame \(frame) of \(count)")
        return
      }
    }
  }

  @Test("lasts 0.5 % longer once the ratio is reached, which takes 3 s") func length() throws {
    let result = try stretch((220, 3_000), seconds: 23) { _ in true }
    func lag(_ seconds: Int) -> Double {
      Double(seconds) - result.positions[seconds * 44_100] / 44_100
    }
    #expect(abs(lag(3) - 0.0075) < 0.001 && abs(lag(13) - lag(3) - 0.05) < 0.0005)
    #expect(abs(lag(22) - lag(12) - 0.05) < 0.0005)
  }

  @Test("ends with the last frame of its input", arguments: [500, 2_000, 60_000, 300_000])
  func end(frames: Int) throws {
    let result = try stretch((220, 3_000), seconds: 60, end: frames) { $0 < 4 }
    let last = try #require(result.positions.last)
    #expect(abs(last - Double(frames - 1)) < 1)
    #expect(result.positions.count >= frames && result.positions.count < frames + 1_500)
  }
}

@Suite("The decoder of a live stream", .waiting, .tags(.stream, .reconnection)) struct StretchedDecoderTests {
  /// Decodes a file of frames.
  /// - Parameter isStretched: called with the frames that were decoded so far.
  private func decode(
    _ name: String, times: Int = 1, isStretched: (Int) -> Bool
  ) throws -> (samples: [Float], rate: Int, map: PlayMap, end: StreamTime) {
    let (buffer, map, pace) = (StreamBuffer(blocks: 1000, wait: .zero), PlayMap(), PlayPace())
    let bytes = try readBytes(Fixtures.path(name))
    for _ in 0..<times {
      var framer = StreamFramer()
      bytes.withUnsafeBytes { framer.feed($0) }
      framer.end()
      while let item = framer.next() {
        guard case .frame(let frame) = item else { continue }
        _ = framer.withBytes(of: frame) { buffer.append(frame, $0, nil) }
      }
    }
    _ = buffer.complete()
    let decoder = StreamDecoder(buffer, map: map, pace: pace)
    var (samples, chunk) = ([Float](), [Float](repeating: 0, count: 4096))
    while true {
      pace.isStretched = isStretched(samples.count / 2)
      let count = try chunk.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if count == 0 { break }
      #expect(decoder.format.channels == 2)
      samples += chunk[..<(count * 2)]
    }
    return (samples, decoder.format.sampleRate, map, buffer.range.end)
  }

  @Test("delivers sound bit for bit where it is not stretched, and knows the time that is heard")
  func map() throws {
    let plain = try decode("mp3-cbr128-44k.mp3", times: 4) { _ in false }
    let stretched = try decode("mp3-cbr128-44k.mp3", times: 4) { $0 > 44_100 && $0 < 5 * 44_100 }
    #expect(plain.samples.count > 2 * 15 * 44_100)
    #expect(stretched.samples[..<88_200] == plain.samples[..<88_200])
    let more = (stretched.samples.count - plain.samples.count) / 2
    // 3 s to the ratio, 1 s with it, 3 s back.
    #expect(abs(more - 4 * 44_100 * 5 / 1000) < 60, "\(more) frames")
    #expect(stretched.samples.suffix(88_200) == plain.samples.suffix(88_200))
    let heard = Double(stretched.samples.count / 2) / 44_100
    let time = try #require(stretched.map.time(heard: heard))
    #expect(abs((time - stretched.end).seconds) < 0.03)
    #expect(abs(try #require(stretched.map.time(heard: 0.5)).seconds - 0.5) < 0.03)
  }

  @Test("that is stretched to its end delivers all") func toTheEnd() throws {
    for name in ["aac-lc-44k.aac", "he-aac-v1-48k.aac"] {
      let plain = try decode(name) { _ in false }
      let stretched = try decode(name) { _ in true }
      let more = stretched.samples.count - plain.samples.count
      #expect(more > 0 && Double(more) < 0.005 * Double(plain.samples.count))
    }
  }
}

/// In virtual time, with a tap, so that the sound is decoded.
@Suite("The reserve of a live player", .tags(.stream, .reconnection)) struct ReserveTests {
  private func stations(_ change: (inout SimulatedStation) -> Void) throws -> SimulatedStations {
    var station = SimulatedStation(.programme(try StationSound(file: Fixtures.path("mp3-cbr128-44k.mp3"))))
    change(&station)
    return SimulatedStations([SimulationHarness.url: station])
  }

  /// Returns the sound that is kept at moments of a run.
  private func kept(
    at moments: [Double], _ options: StreamOptions = .init(), burst: Double = 0,
    drops: [SimulatedStation.Drop] = []
  ) throws -> (kept: [Double], reported: [String]) {
    var found: [Double] = []
    let stations = try stations { ($0.burst, $0.drops) = (.seconds(burst), drops) }
    let reported = try SimulationHarness.run(stations, options: options) { harness in
      let tap = harness.stream.tap(.blocks { $0.finish(changed: false) })
      try await harness.stream.start()
      for moment in moments {
        try await harness.sleep(moment - harness.now)
        found.append(harness.stream.figures.timeShift)
      }
      tap.remove()
    }
    return (found, reported)
  }

  @Test("grows from 0.7 s to 3 s, by 0.5 % of the time, and no further") func grows() throws {
    let (kept, _) = try kept(at: [10, 110, 210, 700, 1_700])
    #expect((0.5...1.2).contains(kept[0]))
    #expect(abs(kept[1] - kept[0] - 0.5) < 0.05 && abs(kept[2] - kept[1] - 0.5) < 0.05)
    // The station sends a second of sound at once.
    #expect((1.9...4.1).contains(kept[3]) && abs(kept[4] - kept[3]) < 0.05, "\(kept)")
  }

  @Test("is as large as the burst of the station, where that is more") func burst() throws {
    let (kept, _) = try kept(at: [10, 500], burst: 5)
    #expect(kept[0] > 3.9 && abs(kept[0] - kept[1]) < 0.01)
  }

  @Test("stays as it is where all is to be heard") func keep() throws {
    var options = StreamOptions()
    options.catchUp = .keep
    let (kept, _) = try kept(at: [10, 500], options)
    #expect(kept[0] < 1.2 && abs(kept[0] - kept[1]) < 0.01)
  }

  @Test("grows again when the player has run dry") func dry() throws {
    let (kept, reported) = try kept(
      at: [600, 640, 1_200], drops: [.init(at: .seconds(605), outage: .seconds(20))])
    #expect(reported.contains { $0.hasSuffix("queue exhausted") })
    #expect(kept[0] > 2.4 && kept[1] < 1.7 && (1.9...4.1).contains(kept[2]), "\(kept)")
  }
}
