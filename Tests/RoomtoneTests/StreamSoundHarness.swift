import TestSupport

/// Scripts with the stream `radio` of a station of their own, which is in `url`.
struct StreamSoundHarness {
  let station: Station

  init() throws { station = try Station() }

  /// A station that plays a file over and over at the pace of hearing.
  static func live(_ file: String = "mp3-cbr128-44k.mp3", bytesPerSecond: Int = 16_000) throws -> Live {
    let bytes = try readBytes(Fixtures.path(file))
    var live = Live(.init(repeating: bytes, bytesPerSecond: bytesPerSecond))
    live.pace = .realTime(1)
    return live
  }

  private static let prelude =
    "local stream = require 'stream' local radio = stream.new(url, { buffer_wait = 0.5 }) "

  func printed(_ code: String, output: String? = nil) throws -> [String] {
    var harness = try EngineHarness(wall: true)
    if let output { harness.configuration = "house { output = 'wav:\(output)' }" }
    return try harness.printed("local url = '\(station.url("/live"))' " + Self.prelude + code)
  }
}
