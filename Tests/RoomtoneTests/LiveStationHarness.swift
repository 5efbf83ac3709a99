import TestSupport

/// Scripts that listen to a station of their own.
struct LiveStationHarness {
  let station: Station

  init() throws { station = try Station() }

  /// A programme of `file`, 128 kbit/s, over and over at the pace of hearing.
  static func live(_ file: String = "mp3-cbr128-44k.mp3", titles: [Programme.Title] = []) throws -> Live {
    var live = Live(
      .init(repeating: try readBytes(Fixtures.path(file)), bytesPerSecond: 16_000, titles: titles))
    live.pace = .realTime(1)
    live.metaint = 8_192
    return live
  }

  /// Returns the lines that `code` printed, with the station's `/live` in `url` and its root in `root`. `quick` are
  /// options that let a stream play soon; `follow(radio)` prints each of its events with what is in `...`.
  func printed(_ code: String, output: String? = nil) throws -> [String] {
    var harness = try EngineHarness(wall: true)
    if let output { harness.configuration = "house { output = 'wav:\(output)' }" }
    return try harness.printed(
      """
      local stream = require 'stream' local url, root = '\(station.url("/live"))', '\(station.url(""))' \
      local quick = { buffer_wait = 0.5 } \
      local events = { 'connecting', 'buffering', 'started', 'paused', 'stopped', 'no_network', 'bad_content', \
        'missing_content', 'http_error', 'url_not_found', 'timeout', 'queue_exhausted', 'suspending', 'suspended', \
        'resumed', 'reconnected' } \
      local function follow(radio) for _, name in ipairs(events) do \
        radio:on(name, function(event) print(name, event.code, event.status) end) end end\u{20}
      """ + code)
  }

  /// Returns the events and the error of a script that only starts a stream at `url`, a Lua expression, and its last state.
  func failure(of url: String, options: String = "{}") throws -> [String] {
    try printed(
      """
      local radio = stream.new(\(url), \(options))
      follow(radio)
      local err = failure(radio.start, radio)
      task.sleep(0.05)
      print("raised", err.code, err.status, radio.status)
      """
    ).map { line in line.split(separator: "\t").filter { $0 != "nil" }.joined(separator: " ") }
  }
}
