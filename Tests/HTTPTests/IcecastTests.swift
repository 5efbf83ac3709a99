import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("A real Icecast", .waiting, .tags(.http, .reconnection))
struct IcecastTests {
  @Test("a new listener gets the burst from a 1,400-byte border on, as the station of the tests has it")
  func burst() throws {
    let icecast = try Icecast()
    let source = try icecast.source("/live.mp3")
    let programme = Programme.noise(seed: 1)
    try source.send(programme.bytes(0..<200_200))  // 143 blocks

    let network = try NetworkThread()
    let first = Recording()
    _ = network.start(try HTTPRequest(icecast.url("/live.mp3")), on: first)
    try first.wait("a burst") { $0.body.count >= 60_000 }
    let head = try #require(first.heads.first)
    #expect(head.status == 200)
    #expect(head.contentType?.name == "audio/mpeg")
    #expect(head.headers["icy-name"] == "Test station")
    #expect(head.contentLength == nil)

    // Icecast may not have read all sent bytes when the listener arrived, so the start is found from the
    // burst itself.
    let body = first.body
    let start = try #require(
      (0..<143).map { $0 * 1_400 }.first { programme.bytes($0..<$0 + 64) == Array(body.prefix(64)) })
    #expect(body == programme.bytes(start..<start + body.count))

    // Further bytes follow without a gap, and reach a second listener too.
    try source.send(programme.bytes(200_200..<400_400))
    let sum = 400_400 - start
    try first.wait("the rest") { $0.body.count >= sum }
    #expect(first.body == programme.bytes(start..<400_400))
    let second = Recording()
    _ = network.start(try HTTPRequest(icecast.url("/live.mp3")), on: second)
    try second.wait("a burst") { $0.body.count >= 60_000 }
    let again = second.body
    let live = Live(programme)
    let from = live.start(edge: 400_400)
    #expect(from % 1_400 == 0)
    #expect(again == programme.bytes(from..<from + again.count))
    #expect(400_400 - from <= 65_535)
  }

  @Test("titles come at the metaint, and the drop of the source is an end")
  func titles() throws {
    let icecast = try Icecast()
    var source: Icecast.Source? = try icecast.source("/live.mp3")
    let programme = Programme.noise(seed: 2)
    try source?.send(programme.bytes(0..<70_000))
    try icecast.setTitle("Morning", of: "/live.mp3")
    let network = try NetworkThread()
    let recording = Recording()
    var request = try HTTPRequest(icecast.url("/live.mp3"))
    (request.wantsICY, request.wakeTime) = (true, .milliseconds(250))
    _ = network.start(request, on: recording)
    try recording.wait("a head") { !$0.heads.isEmpty }
    let metaint = try #require(recording.heads.first?.headers["icy-metaint"].flatMap { Int($0) })
    try source?.send(programme.bytes(70_000..<140_000))
    try recording.wait("a title") {
      String(decoding: $0.body, as: UTF8.self).contains("StreamTitle='Morning';")
    }
    #expect(recording.body.count > metaint)
    source = nil
    _ = try recording.waitForEnd()
  }

  @Test("a mount that is not there is 404")
  func missing() throws {
    let icecast = try Icecast()
    let network = try NetworkThread()
    #expect(try network.get(icecast.url("/none")).heads.map(\.status) == [404])
  }
}
