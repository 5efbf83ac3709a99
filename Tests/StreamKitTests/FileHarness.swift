import AudioCore
import EventLoop
import HTTP
import TestSupport

@testable import Playback
@testable import StreamCore

/// A file that a test receives from a station, and listens to as fast as it comes. Used on the thread that calls `run`.
final class FileHarness {
  let loop = EventLoop()
  let station: Station
  let stream: Playback.Stream
  private(set) var reported: [String] = []
  private(set) var failure: StreamError?

  private init(
    _ station: Station, _ url: String, _ network: NetworkThread, _ options: StreamOptions
  ) throws {
    self.station = station
    stream = Playback.Stream(
      at: try StreamAddress(url), options: options, loop: loop, network: { network })
    stream.onEvent { [unowned self] event in
      if case .failed(let error) = event { failure = error }
      reported.append("\(event)".split(separator: "(").first.map(String.init) ?? "")
    }
  }

  static func run(
    _ station: Station, path: String = "/file", wait: Duration = .milliseconds(300),
    isFile: Bool? = nil,
    dataTimeout: Duration = .seconds(20), blocks: Int = 1200, pauseTimeout: Duration = .seconds(300),
    _ body: @escaping (FileHarness) async throws -> Void
  ) throws {
    let network = try NetworkThread()
    defer { network.close() }
    var options = StreamOptions()
    (options.bufferWaitFile, options.isFile, options.bufferBlocks) = (wait, isFile, blocks)
    (options.dataTimeout, options.pauseTimeout) = (dataTimeout, pauseTimeout)
    let harness = try FileHarness(station, station.url(path), network, options)
    try harness.loop.finish({ try await body(harness) }, last: { harness.stream.stop() })
  }

  /// Waits until it is so, a minute at most.
  func wait(until condition: () -> Bool) async throws {
    for _ in 0..<6_000 {
      if condition() { return }
      try await loop.sleep(for: .milliseconds(10))
    }
    throw TestFailure("it did not come: \(reported), \(stream.status), \(failure?.message ?? "")")
  }

  /// All sound from where it stands to the end, as fast as it comes.
  func rest(of playback: StreamPlayback) async throws -> Sound {
    let decoder = playback.makeLiveDecoder()
    var samples: [Float] = []
    var chunk = [Float](repeating: 0, count: 8192)
    for _ in 0..<60_000 {
      let channels = decoder.format.channels
      let count = try chunk.withUnsafeMutableBufferPointer {
        try decoder.read(into: UnsafeMutableBufferPointer(rebasing: $0[..<(8192 / channels * channels)]))
      }
      if count > 0 {
        samples += chunk[..<(count * decoder.format.channels)]
      } else if decoder.isWaiting {
        try await loop.sleep(for: .milliseconds(2))
      } else {
        return Sound(interleaved: samples, format: decoder.format)
      }
    }
    throw TestFailure("the sound has no end: \(reported) \(samples.count)")
  }

  func attach() throws -> StreamPlayback { try stream.attach(heard: { 0 }, moved: {}) }

  /// Returns the sound of a station's file, received to its end.
  static func sound(_ station: Station, blocks: Int = 1200) throws -> Sound {
    var sound: Sound?
    try FileHarness.run(station, blocks: blocks) { harness in
      try await harness.stream.start()
      sound = try await harness.rest(of: harness.attach())
    }
    guard let sound else { throw TestFailure("there is no sound") }
    return sound
  }

  /// Returns a WAV file of a rising saw, 16 bit, two channels.
  static func wave(seconds: Int) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 0xFF) } }
    let size = seconds * 44_100 * 4
    // Each byte of the ramp 256 times, over and over.
    let ramp = (0..<256).flatMap { [UInt8](repeating: UInt8($0), count: 256) }
    var samples: [UInt8] = []
    while samples.count < size { samples += ramp.prefix(size - samples.count) }
    return Array("RIFF".utf8) + little(36 + size, 4) + Array("WAVEfmt ".utf8) + little(16, 4) + little(1, 2)
      + little(2, 2) + little(44_100, 4) + little(176_400, 4) + little(4, 2) + little(16, 2)
      + Array("data".utf8) + little(size, 4) + samples
  }
}
