import EventLoop
import TestSupport
import TestTraits
import Testing

@Suite("The machines of HLS", .tags(.stream, .hls)) struct HLSMachineTests {
  @Test("keep their promises whatever comes in any order", arguments: 0..<5) func anything(machine: Int) {
    var random = SeededRandom(seed: UInt64(21 + machine))
    for round in 0..<1_000 {
      let events = random.bytes(Int.random(in: 1...400, using: &random))
      let broken = HLSMachineRun.broken(by: [UInt8(machine)] + events)
      #expect(broken.isEmpty, "round \(round): \(broken.prefix(3))")
      if !broken.isEmpty { return }
    }
  }
}
