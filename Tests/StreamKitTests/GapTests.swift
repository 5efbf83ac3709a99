import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import StreamCore

/// Outages longer than the audio that the server still holds.
@Suite("Streams over HTTP with a gap", .waiting, .tags(.stream, .reconnection, .stitching)) struct GapTests {
  @Test(
    "the bit reservoir is used to the full by what is tested with", arguments: [RealSound.mp3At320, .mp3At64])
  func reservoir(kind: RealSound) throws {
    let begins = try kind.programme().frames.map(\.mainDataBegin)
    #expect(begins.count { $0 > 440 } > 20, "\(begins.max() ?? 0) at most")
  }

  @Test(
    "the gap is reported to a tenth of a second, and the sound around it is right or silent",
    arguments: RealSound.allCases, Proof.isSanitized ? [6] : [6, 13, 20])
  func gap(kind: RealSound, outage: Double) throws {
    let programme = try kind.programme()
    let burst = 65_535 / Double(programme.bytes.count) * programme.seconds
    let audience = try Audience()
    for index in 0..<(Proof.isSanitized ? 1 : 2) {
      var seat = Audience.Seat(start: 12 + Double(index) * 1.37)
      seat.bitRate = index == 0 ? 128 : nil
      try audience.add(programme, seat, blocks: 600)
    }
    try audience.pass(1.5, step: 0.05)
    try audience.cut(outage: outage, step: 0.05)
    // The intervals between attempts are long by then.
    while audience.members.contains(where: { $0.joins.isEmpty }), audience.now < 60 {
      try audience.pass(0.5, step: 0.05)
    }
    try audience.pass(1, step: 0.05)
    for member in audience.members {
      if outage < burst, member.joins == ["reconnected stitched"] {
        // Connected before the server dropped the overlap.
        #expect(member.fault(audience.station.visits) == nil)
      } else {
        try check(member, kind)
      }
    }
  }

  @Test("a buffer that gets full in the middle of a join accepts what fits, whole and in order")
  func fullInJoin() throws {
    let programme = try Proof.programme(.mp3)
    let audience = try Audience()
    // Room for the first burst, the sound of 1.5 s, and a part of the second burst.
    let member = try audience.add(programme, Audience.Seat(start: 18), blocks: 22)
    try audience.pass(1.5)
    try audience.cut(outage: 12)
    while !member.receiver.events.contains("full"), audience.now < 60 { try audience.pass(0.5) }
    #expect(member.receiver.events.last == "full" && member.receiver.gaps.count == 1)
    let frames = member.receiver.frames()
    let indices = try indices(of: frames, in: programme)
    let joins = zip(indices, indices.dropFirst()).filter { $1 != $0 + 1 }
    #expect(joins.count == 1 && joins.allSatisfy { $0 < $1 })
    #expect((90_000...(22 * 5_120)).contains(frames.reduce(0) { $0 + $1.count }))
  }

  private func check(_ member: Audience.Member, _ kind: RealSound) throws {
    let (programme, whole) = (try kind.programme(), try kind.sound())
    let frames = member.receiver.frames()
    let indices = try indices(of: frames, in: programme)
    let join =
      try #require(zip(indices, indices.dropFirst()).enumerated().first { $1.1 != $1.0 + 1 }?.offset) + 1
    // No frame comes twice, no other frame is missing, and none is foreign to the programme.
    #expect(Array(indices[..<join]) == Array(indices[0]..<(indices[0] + join)))
    #expect(Array(indices[join...]) == Array(indices[join]..<(indices[join] + indices.count - join)))
    #expect(indices[join] > indices[join - 1] && lastIndices(of: member).contains(indices.last ?? 0))
    let missing = programme.ends[indices[join] - 1] - programme.ends[indices[join - 1]]
    let gaps = member.receiver.gaps
    #expect(
      gaps.count == 1 && (gaps[0] - missing).magnitude <= 0.1,
      "told \(gaps) of \(missing), icy-br \(member.seat.bitRate ?? 0)")

    // The player hears each part as if it were alone.
    let buffer = member.receiver.buffer
    _ = buffer.move(to: .zero)
    let heard = try Sound(decoding: StreamDecoder(buffer, map: PlayMap()))
    let parts = [Array(indices[..<join]), Array(indices[join...])].map { playable($0, in: programme) }
    #expect(indices.count - parts[0].count - parts[1].count <= 8)
    let codec = programme.frames[0].codec
    let (before, after) = (
      try ListedFrames.decode(parts[0], codec), try ListedFrames.decode(parts[1], codec)
    )
    #expect(heard.frameCount == before.frameCount + after.frameCount)
    #expect(heard.commonStart(with: before) == before.frameCount)
    #expect(heard.reversed.commonStart(with: after.reversed) == after.frameCount)
    #expect(heard.peak > 0.1 && heard.peak <= whole.peak * 1.001)

    // All but eight frames also equal an uninterrupted decode. Band replication makes up noise, so that no
    // two decoders agree.
    guard kind != .heAAC, let last = indices.last else { return }
    let length = Int((Double(whole.frameCount) / Double(programme.frames.count)).rounded())
    let offset = programme.frames.count * length - whole.frameCount
    let truth = whole[0..<((last + 1) * length - offset)]
    let alike = heard.reversed.commonStart(with: truth.reversed)
    #expect(alike >= (indices.count - join - 8) * length, "\(alike / length) of \(indices.count - join)")
  }

  /// Returns the frames of a part that need no frame before it.
  private func playable(_ indices: [Int], in programme: FrameProgramme) -> [[UInt8]] {
    // The bytes of main data within reach of a layer III frame.
    var reach = 0
    return indices.map { programme.frames[$0] }.filter { frame in
      defer { reach += frame.mainDataLength }
      return frame.codec != .mp3 || frame.mainDataBegin <= reach
    }.map { Array(programme.bytes[$0.range]) }
  }

  /// Returns the range of the last frame that may have been read.
  private func lastIndices(of member: Audience.Member) -> ClosedRange<Int> {
    let (programme, edge) = (member.model.programme, member.edge)
    return programme.frames(before: edge - member.seat.unread) - 1...programme.frames(before: edge) - 1
  }

  /// Returns the positions of frames in the programme, each as close behind the one before as possible.
  private func indices(of frames: [[UInt8]], in programme: FrameProgramme) throws -> [Int] {
    let hashes = frames.map { $0.withUnsafeBytes(FrameHash.of) }
    // The first position is found by three frames, and so is one behind a gap, as some frames repeat.
    var indices: [Int] = []
    for (index, hash) in hashes.enumerated() {
      if let last = indices.last, last + 1 < programme.frames.count, programme.frames[last + 1].hash == hash {
        indices.append(last + 1)
        continue
      }
      let next = Array(hashes[index...].prefix(6))
      let from = (indices.last ?? -1) + 1
      guard
        let index = (from..<programme.frames.count).first(where: {
          programme.frames[$0...].prefix(next.count).map(\.hash) == next
        })
      else { throw TestFailure("frame \(index) is none of the programme") }
      indices.append(index)
    }
    return indices
  }
}
