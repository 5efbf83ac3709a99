import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

/// The extent of the proofs: complete in a plain run, smaller under a sanitizer, which makes everything slow.
/// `ROOMTONE_PROOF_SEEDS` sets the number of seeds for each case.
enum Proof {
  static let seeds: Int = {
    if let wanted = getenv("ROOMTONE_PROOF_SEEDS").flatMap({ Int(String(cString: $0)) }) {
      return max(1, wanted)
    }
    return isSanitized ? 4 : 100
  }()

  /// `true` if a sanitizer is active.
  static let isSanitized = ["__tsan_init", "__asan_init"].contains { (name: String) in dlsym(nil, name) != nil
  }

  /// Returns a programme of 90 s, with half a second of silence every four seconds or none.
  static func programme(_ kind: FrameProgramme.Kind, silent: Bool = false) throws -> FrameProgramme {
    guard let programme = try programmes.get()["\(kind) \(silent)"] else { throw TestFailure("no \(kind)") }
    return programme
  }

  private static let programmes = Result {
    let silence = stride(from: 2.0, to: 120, by: 4).map { $0..<($0 + 0.5) }
    var all: [String: FrameProgramme] = [:]
    for kind in FrameProgramme.Kind.promised {
      all["\(kind) false"] = try FrameProgramme(kind, seconds: 90, seed: 5)
      all["\(kind) true"] = try FrameProgramme(kind, seconds: 90, silence: silence, seed: 6)
    }
    return all
  }
}

@Suite("Streams over HTTP whose connection is lost", .waiting, .tags(.stream, .reconnection, .stitching))
struct JoinTests {
  /// Runs all seeds: each listens, loses the connection, is refused and comes back.
  /// - Returns: the faults, by seed.
  private func faults(
    _ programme: FrameProgramme, outage: Double,
    seat: (inout Audience.Seat, inout SeededRandom) -> Void = { _, _ in }
  ) throws -> [String] {
    var faults: [String] = []
    for batch in stride(from: 0, to: Proof.seeds, by: 50) {
      let audience = try Audience()
      for seed in batch..<min(Proof.seeds, batch + 50) {
        var random = SeededRandom(seed: UInt64(seed))
        var listener = Audience.Seat(start: Double.random(in: 18...40, using: &random))
        let piece = Int.random(in: 300...9000, using: &random)
        listener.changes = [{ $0.inPieces(piece) }]
        listener.metaints = [[8_192, 16_000, 4_000, nil].randomElement(using: &random) ?? nil]
        listener.bitRate = seed % 2 == 0 ? 128 : nil
        seat(&listener, &random)
        try audience.add(programme, listener)
      }
      try audience.pass(1.5)
      try audience.cut(outage: outage)
      try audience.pass(1.2)
      let visits = audience.station.visits
      for (index, member) in audience.members.enumerated() {
        if let fault = member.fault(visits) { faults.append("\(batch + index): \(fault)") }
        if member.joins != ["reconnected stitched"] { faults.append("\(batch + index): \(member.joins)") }
      }
    }
    return faults
  }

  @Test(
    "after a reset and refusals for less than the burst every frame is there once",
    arguments: [FrameProgramme.Kind.mp3, .aac], [0, 0.5, 2, 3])
  func exact(kind: FrameProgramme.Kind, outage: Double) throws {
    let faults = try faults(Proof.programme(kind), outage: outage)
    #expect(faults.isEmpty, "\(faults.count) of \(Proof.seeds): \(faults.prefix(5))")
  }

  @Test(
    "a loss or a burst that begins in silence shorter than the overlap changes nothing",
    arguments: [FrameProgramme.Kind.mp3, .aac], [0, 0.5, 2, 3])
  func silence(kind: FrameProgramme.Kind, outage: Double) throws {
    let programme = try Proof.programme(kind, silent: true)
    let burst = 65_535 / Double(programme.bytes.count) * programme.seconds
    let faults = try faults(programme, outage: outage) { seat, random in
      // The programme is silent for half a second from 2, 6, 10 s … on; the connection is lost at 1.5.
      let inSilence =
        22 + 4 * Double.random(in: 0..<4, using: &random).rounded(.down)
        + Double.random(in: 0.05...0.5, using: &random)
      let isLoss = Bool.random(using: &random)
      seat.start = (isLoss ? inSilence : inSilence + burst - outage) - 1.5
    }
    #expect(faults.isEmpty, "\(faults.count) of \(Proof.seeds): \(faults.prefix(5))")
  }

  @Test(
    "a pre-roll of up to two seconds in front of each burst is left out",
    arguments: [FrameProgramme.Kind.mp3, .aac], [0, 0.5, 2, 3])
  func preRoll(kind: FrameProgramme.Kind, outage: Double) throws {
    let advertisement = try FrameProgramme(kind == .mp3 ? .mp3 : .aac, seconds: 2, seed: 99)
    let faults = try faults(Proof.programme(kind), outage: outage) { seat, random in
      let count = Int.random(in: 1...advertisement.bytes.count, using: &random)
      seat.preRolls = [[], Array(advertisement.bytes.prefix(count))]
    }
    #expect(faults.isEmpty, "\(faults.count) of \(Proof.seeds): \(faults.prefix(5))")
  }

  @Test(
    "a connection that stays open in silence is replaced by a second one in time to find all again",
    arguments: [FrameProgramme.Kind.mp3, .aac])
  func stall(kind: FrameProgramme.Kind) throws {
    let (audience, programme) = (try Audience(), try Proof.programme(kind))
    for seed in 0..<20 {
      var random = SeededRandom(seed: UInt64(seed))
      var seat = Audience.Seat(start: Double.random(in: 18...40, using: &random))
      // The stall comes after the pace has held for ten seconds.
      let rate = Double(programme.bytes.count) / programme.seconds
      let position = 65_535 + Int(rate * Double.random(in: 11.5...13.5, using: &random))
      seat.changes = [{ $0.stalling(at: position) }, { $0 }]
      try audience.add(programme, seat)
    }
    try audience.pass(18)
    let visits = audience.station.visits
    for (seed, member) in audience.members.enumerated() {
      #expect(!member.receiver.events.contains { $0.hasPrefix("failed") }, "seed \(seed)")
      #expect(member.joins == ["reconnected stitched"], "seed \(seed): \(member.receiver.events)")
      #expect(member.fault(visits) == nil, "seed \(seed)")
    }
  }

  @Test(
    "a second connection that does not join is held until the silent one counts as dead, then heard whole")
  func held() throws {
    let (audience, programme) = (try Audience(), try Proof.programme(.mp3))
    for seed in 0..<5 {
      var random = SeededRandom(seed: UInt64(seed))
      var seat = Audience.Seat(start: Double.random(in: 18...22, using: &random))
      let rate = Double(programme.bytes.count) / programme.seconds
      let position = 65_535 + Int(rate * Double.random(in: 11.5...13.5, using: &random))
      seat.changes = [{ $0.stalling(at: position) }, { $0 }]
      seat.bursts = [65_535, 0]
      try audience.add(programme, seat)
    }
    try audience.pass(30)
    #expect(audience.members.allSatisfy { $0.joins.isEmpty })
    #expect(audience.station.visits.count == 10, "two connections, no more")
    try audience.pass(10)
    for (seed, member) in audience.members.enumerated() {
      let receiver = member.receiver
      #expect(!receiver.events.contains { $0.hasPrefix("failed") }, "seed \(seed)")
      #expect(receiver.gaps.count == 1 && (1.2...2.2).contains(receiver.gaps.first ?? 0), "\(receiver.gaps)")
      // The ten seconds and more that were held are complete.
      let visits = audience.station.visits.filter { $0.target == member.path }
      let sent = visits.reduce(0) { $0 + $1.end - $1.start }
      let received = receiver.frames().reduce(0) { $0 + $1.count }
      #expect(sent - received < 6000, "seed \(seed): \(received) of \(sent) bytes")
    }
  }

  @Test(
    "titles at other distances, bursts of other lengths and refusals in between change nothing",
    arguments: [FrameProgramme.Kind.mp3, .aac])
  func changes(kind: FrameProgramme.Kind) throws {
    let audience = try Audience()
    for seed in 0..<10 {
      var random = SeededRandom(seed: UInt64(seed))
      var seat = Audience.Seat(start: Double.random(in: 18...40, using: &random))
      seat.metaints = ([8_192, nil, 977, 16_000, 255] as [Int?]).shuffled(using: &random)
      seat.bursts = [65_535, 20_000, 131_072, 300_000, 30_000].shuffled(using: &random)
      try audience.add(try Proof.programme(kind), seat)
    }
    for ending in [Answer.Ending.reset, .finish, .reset, .finish] {
      try audience.pass(1.5)
      try audience.cut(by: ending, outage: ending == .reset ? 0.3 : 0)
    }
    try audience.pass(1)
    let visits = audience.station.visits
    for (seed, member) in audience.members.enumerated() {
      #expect(
        member.joins.count == 4 && Set(member.joins) == ["reconnected stitched"],
        "seed \(seed): \(member.joins)")
      #expect(member.fault(visits) == nil, "seed \(seed)")
    }
  }
}
