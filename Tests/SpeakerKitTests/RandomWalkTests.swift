import AudioCore
import EventLoop
import Glibc
import Scheduling
import SpeakerKit
import TestSupport
import TestTraits
import Testing

/// Random walks of a thousand steps. `ROOMTONE_FUZZ_SECONDS` continues with other seeds for that time;
/// `ROOMTONE_FUZZ_SEED` replays the seed that a failure named.
@Suite("A thousand random steps through a house", .tags(.speaker, .groups, .sessions)) struct RandomWalkTests
{
  enum Source: String { case sine, constant }

  static let amplitude: Float = 0.9
  static let steps = 1_000
  /// Words of the events and codes that each fixed seed must reach.
  static let wanted: Set = [
    "joined", "left", "available", "unavailable", "playing", "role", "balance", "renamed", "regrouped",
    "volume",
    "muted,", "paused", "stopped", "time", "finished", "replaced", "failed", "no_devices", "suspending",
    "suspended", "resumed", "speaker.renamed_while_playing", "speaker.outranked", "speaker.not_paused",
    "speaker.no_active_device", "speaker.no_seek", "speaker.range", "speaker.unavailable", "speaker.closed",
  ]

  @Test(
    "no step clicks, and every event and error is the one that the contract predicts",
    arguments: [(Source.sine, 1), (.constant, 2), (.sine, 3), (.constant, 4)] as [(Source, UInt64)])
  func walks(source: Source, seed: UInt64) throws {
    let first = Self.number("ROOMTONE_FUZZ_SEED").map { UInt64($0) } ?? seed
    guard let seconds = Self.number("ROOMTONE_FUZZ_SECONDS") else {
      let seen = try walk(source, seed: first)
      if first == seed { #expect(Self.wanted.subtracting(seen).isEmpty) }
      return
    }
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    var other = UInt64(getpid()) &* 1_000_000 &+ seed &* 100_000
    var count = 0
    repeat {
      try walk(source, seed: other)
      other += 1
      count += Self.steps
    } while clock.now < end
    print("\(count) random steps from seed \(other - UInt64(count / Self.steps)) on")
  }

  private static func number(_ variable: String) -> Int? {
    getenv(variable).flatMap { Int(String(cString: $0)) }.flatMap { $0 < 0 ? nil : $0 }
  }

  /// Runs a random walk and checks its files.
  /// - Returns: words of the events, and codes that were raised.
  @discardableResult
  private func walk(_ source: Source, seed: UInt64) throws -> Set<String> {
    var blocks: [MixModel.Block] = []
    var seen: Set<String> = []
    var largestStep: Float = 0
    let limits = Self.limits(seed)
    let harness = try HouseHarness.run(
      speakers: RandomWalk.speakers, limits: try Self.configuration(limits)
    ) { harness in
      var paths: [String: String] = [:]
      for (title, frames) in WalkStep.lengths {
        let signal = Self.signal(source, frames: frames)
        largestStep = max(largestStep, Self.largestStep(of: signal))
        // The other channel is quieter, so that roles differ, but has the same sign: no mix of the two is
        // larger.
        paths[title] = try harness.source("\(title).wav", signal, signal.map { $0 / 2 })
      }
      let walk = try RandomWalk(harness, seed: seed, paths: paths, limits: limits)
      try await walk.run(steps: Self.steps)
      (blocks, seen) = (walk.model.mix.blocks, walk.seen)
    }
    for (index, speaker) in RandomWalk.speakers.enumerated() {
      let path = harness.folder.file("out/\(speaker.name).wav")
      if let problem = try Self.problem(
        in: path, speaker: index, blocks: blocks, largestStep: largestStep, ceiling: limits[index])
      {
        throw TestFailure("seed \(seed), \(source.rawValue): speaker \(speaker.name) \(problem)")
      }
    }
    return seen
  }

  /// Returns the limits of a walk by the time of the loop, whose clock begins at 22:13:20; every fourth walk has none.
  private static func limits(_ seed: UInt64) -> [HouseModel.Limit?] {
    func at(_ time: String) -> Int64 {
      let parts = time.split(separator: ":").compactMap { Int64($0) }
      return ((parts[0] * 60 + parts[1]) * 60 - (22 * 60 + 13) * 60 - 20) * 1_000_000_000
    }
    switch seed % 4 {
    case 0: return [.init(maximum: 30), nil, .init(maximum: 50, quiet: (at("22:14"), at("22:15"), 12)), nil]
    case 1:
      return [
        .init(maximum: 40, quiet: (at("20:00"), at("22:14"), 20)), .init(maximum: 45),
        .init(maximum: 35, quiet: (at("22:14"), at("22:16"), 0)), .init(maximum: 0),
      ]
    case 2: return [nil, .init(maximum: 48, quiet: (at("22:14"), at("22:15"), 47)), nil, .init(maximum: 20)]
    default: return [nil, nil, nil, nil]
    }
  }

  /// Returns limits as a house is configured with them.
  private static func configuration(_ limits: [HouseModel.Limit?]) throws -> [String: SpeakerLimit] {
    func time(_ instant: Int64) throws -> TimeOfDay {
      let minutes = (instant / 1_000_000_000 + 22 * 3600 + 13 * 60 + 20) / 60
      return try TimeOfDay(parsing: "\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)")
    }
    var found: [String: SpeakerLimit] = [:]
    for (speaker, limit) in zip(RandomWalk.speakers, limits) {
      guard let limit else { continue }
      let quiet = try limit.quiet.flatMap {
        try QuietHours(from: time($0.from), to: time($0.to), maximum: $0.maximum)
      }
      found[speaker.name] = SpeakerLimit(maximum: limit.maximum, quiet: quiet)
    }
    return found
  }

  /// Returns a signal that rises over its first block and falls over its last, so that it may be played from
  /// its beginning and to its end. The sine has one period per block: its slope is a few times that of a
  /// ramp, and hides no click.
  private static func signal(_ source: Source, frames: Int) -> [Float] {
    let block = DeckModel.blockFrames
    return (0..<frames).map { frame in
      let edge = Float(min(frame + 1, frames - frame, block)) / Float(block)
      switch source {
      case .constant: return amplitude * edge
      case .sine: return amplitude * edge * Float(sin(2 * .pi * Double(frame) / Double(block)))
      }
    }
  }

  private static func largestStep(of signal: [Float]) -> Float {
    var (largest, last): (Float, Float) = (0, 0)
    for sample in signal {
      largest = max(largest, abs(sample - last))
      last = sample
    }
    return max(largest, abs(last))
  }

  /// Returns the first fault of a speaker's file; nil for none.
  ///
  /// A sample is the source's times four factors: whether its session sounds, the session's gain, the
  /// speaker's level, role and balance, and whether it is a member. None is above 1 here, and each moves in a
  /// straight line over one block at the steepest, so with n of them moving, neighbours differ by no more
  /// than the source's own largest step and n times amplitude/960. (The product of straight lines is steepest
  /// at an end, where the others are 1.) Which of them may move in a block follows from the requests before
  /// it; in most blocks none does. Rounding the source and the result to 16 bits adds one step each.
  private static func problem(
    in path: String, speaker: Int, blocks: [MixModel.Block], largestStep: Float, ceiling: HouseModel.Limit?
  ) throws -> String? {
    let bytes = try readBytes(path)
    let frames = (bytes.count - 44) / 4
    let expected = blocks.last.map { $0.firstFrame + $0.frames } ?? 0
    guard frames == expected else { return "has \(frames) frames instead of \(expected)" }
    return bytes.withUnsafeBytes { bytes in
      var (left, right) = (0, 0)
      var wasHeard = false
      for block in blocks {
        let ramps = Float(block.ramps[speaker].count) * amplitude / Float(DeckModel.blockFrames)
        let limit = Int((largestStep + ramps) * 32_768) + 2
        let isHeard = block.heard[speaker] || wasHeard
        wasHeard = block.heard[speaker]
        let loudest = ceiling.map { VolumeLaw.gain(at: $0.maximum(at: block.time, early: 0)) } ?? 1
        let most = Int((amplitude * loudest * 32_768).rounded(.up)) + 2
        var offset = 44 + block.firstFrame * 4
        let end = offset + block.frames * 4
        while offset < end {
          let newLeft = Int(bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))
          let newRight = Int(bytes.loadUnaligned(fromByteOffset: offset + 2, as: Int16.self))
          if abs(newLeft - left) > limit || abs(newRight - right) > limit {
            return """
              clicks at frame \((offset - 44) / 4): from \(left), \(right) to \(newLeft), \(newRight), which may \
              be \(limit) apart, with \(block.ramps[speaker])
              """
          }
          if !isHeard, newLeft != 0 || newRight != 0 {
            return "sounds at frame \((offset - 44) / 4), where it is in no session that does"
          }
          if max(abs(newLeft), abs(newRight)) > most {
            return """
              exceeds its limit at frame \((offset - 44) / 4): \(newLeft), \(newRight), where \(most) is allowed
              """
          }
          (left, right) = (newLeft, newRight)
          offset += 4
        }
      }
      return nil
    }
  }
}
