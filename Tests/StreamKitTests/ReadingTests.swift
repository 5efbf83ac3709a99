import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import StreamCore

@Suite("The pace at which a station is read", .tags(.stream, .reconnection)) struct ReadingTests {
  @Test(
    "in intervals while only a clock follows the sound, and as it comes from the moment a player reads it")
  func pace() throws {
    let (audience, programme) = (try Audience(), try Proof.programme(.mp3))
    let members = try (0..<2).map { try audience.add(programme, .init(start: 18 + Double($0))) }
    members[0].receiver.buffer.keepUnheard(false)
    try audience.pass(5)
    #expect(audience.paces == [nil, nil], "its pace is not known yet")
    try audience.pass(8)
    #expect(audience.paces == [.milliseconds(250), nil], "the other keeps what is not heard")
    members[0].receiver.buffer.onFrames {}
    try audience.pass(0.5)
    #expect(audience.paces == [nil, nil])
    members[0].receiver.buffer.forgetReader()
    try audience.pass(0.5)
    #expect(audience.paces == [.milliseconds(250), nil])
  }
}
