import AudioCore
import TestSupport
import TestTraits
import Testing

@Suite("Meter", .tags(.taps)) struct MeterTests {
  @Test("a full sine has -3.01 dBFS rms and 0 dBFS peak; each side is measured for itself")
  func sine() {
    var meter = Meter()
    let frames = 48_000
    let full = Signal.sine(1000, amplitude: 1, frames: frames, sampleRate: 48_000)
    let tenth = Signal.sine(1000, amplitude: 0.1, frames: frames, sampleRate: 48_000)
    let block = stereo(full, tenth)
    meter.add(block.view)
    let reading = meter.read()
    #expect(reading.frames == frames)
    #expect(abs(reading.left.rmsDBFS + 3.0103) < 0.0001)
    #expect(abs(reading.left.peakDBFS) < 0.0001)
    #expect(abs(reading.right.rmsDBFS + 23.0103) < 0.0001)
    #expect(abs(reading.right.peakDBFS + 20) < 0.0001)
  }

  @Test("silence is minus infinity, and taking a reading starts over") func startsOver() {
    var meter = Meter()
    let (square, silence) = (stereo([1, -1], [0.5, 0.5]), stereo([0, 0], [0, 0]))
    meter.add(square.view)
    #expect(meter.read().left.rmsDBFS == 0)
    meter.add(silence.view)
    let reading = meter.read()
    #expect(reading.left.rmsDBFS == -.infinity && reading.right.peakDBFS == -.infinity)
    #expect(meter.read().frames == 0)
  }

  @Test("mono counts on both sides") func mono() {
    var meter = Meter()
    let mono = block([0.5, -0.25])
    meter.add(mono.view)
    let reading = meter.read()
    #expect(reading.left == reading.right)
    #expect(reading.left.peak == 0.5)
  }
}
