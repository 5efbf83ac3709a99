import AudioCore
import EventLoop
import TestSupport

/// A request to a house. Speakers and sessions are numbered, closed ones included; session 0 exists during the whole walk.
enum WalkStep {
  enum Target {
    case house
    case session(Int)
    case speaker(Int)
  }

  /// Arguments of `play`; `first` is the frame with which it begins.
  struct Play {
    let title: String
    let first: Int
    let loops: Bool
    let priority: Int?
    /// The speakers that the session wants from now on; nil for those that it wants already.
    var rooms: [Int]?
  }

  struct Interruption {
    let name: String
    let speakers: [Int]
    let priority: Int
    let volume: Int?
    let restores: Bool
    /// Length in nanoseconds.
    let length: Int64
  }

  case join(Int, session: Int)
  case leave(Int)
  case play(Int, Play)
  case pause(Int)
  case resume(Int)
  case stop(Int)
  case seek(Int, frame: Int)
  case volume(Target, Int)
  case mute(Target, Bool)
  case role(Int, ChannelRole)
  case balance(Int, Int)
  case gain(Int, Double)
  case plug(Int, Bool)
  case interrupt(Interruption)
  case close(Int)
  case rename(Int, String)
  case regroup(Int, String)
  /// Loss of power of all speakers, for a while.
  case powerCut
  /// An action of a person.
  case person(Person)
  /// The next version of the script with a session: it finds that session.
  case reload(Int)
  /// The end of the script with a session, and its next start, with a new session.
  case restart(Int)

  /// Actions of a person, in the whole house for nil.
  enum Person {
    case stop(Place?)
    case pause(Place?)
    case resume(Place?)
    case step(Place?, Int)
  }

  /// A room, or a speaker.
  enum Place {
    case room(String)
    case speaker(Int)
  }
}

extension WalkStep {
  static let speakerCount = 4
  /// Names of the scripts with own sessions.
  static let scripts = ["low", "high"]
  /// Lengths of the sources in frames, by title. One ends with a whole second, the others in the middle of a
  /// block.
  static let lengths = ["long": 400_333, "short": 96_000, "bell": 30_011]

  /// Returns a random step, more often one that starts playback than one that ends it.
  /// - Parameters:
  ///   - number: number of the step.
  ///   - known: number of sessions so far.
  ///   - own: sessions of scripts, and the first one.
  ///   - mayInterrupt: `true` if one more interruption may begin.
  static func random(
    _ number: Int, known: Int, own: [Int], mayInterrupt: Bool, using random: inout SeededRandom
  ) -> WalkStep {
    let speaker = Int.random(in: 0..<speakerCount, using: &random)
    let isOfInterruption = known > own.count && Int.random(in: 0..<10, using: &random) == 0
    let session =
      isOfInterruption
      ? Int.random(in: max(own.count, known - 2)..<known, using: &random)
      : own.randomElement(using: &random) ?? 0
    let target: Target =
      switch Int.random(in: 0..<6, using: &random) {
      case 0: .house
      case 1, 2: .session(session)
      default: .speaker(speaker)
      }
    switch Int.random(in: 0..<134, using: &random) {
    case 0..<14: return .join(speaker, session: session)
    case 16..<21: return .leave(speaker)
    case 21..<41: return .play(session, randomPlay(using: &random))
    case 41..<48: return .pause(session)
    case 48..<57: return .resume(session)
    case 57..<60: return .stop(session)
    case 60..<69: return .seek(session, frame: randomFrame(using: &random))
    case 69..<79: return .volume(target, Int.random(in: -1...56, using: &random))
    case 79..<87: return .mute(target, Bool.random(using: &random))
    case 87..<91: return .role(speaker, ChannelRole.allCases.randomElement(using: &random) ?? .mono)
    case 91..<95: return .balance(speaker, Int.random(in: -7...7, using: &random))
    case 95..<101: return .gain(session, [0, 0, -3, -12.5, -60, 12.5].randomElement(using: &random) ?? 0)
    case 101..<105: return .plug(speaker, false)
    case 105..<112: return .plug(speaker, true)
    case 112..<116:
      return mayInterrupt ? .interrupt(randomInterruption(number, using: &random)) : .leave(speaker)
    case 116: return own.contains(known - 1) ? .leave(speaker) : .close(known - 1)
    case 14, 117: return .rename(speaker, "Speaker \(Int.random(in: 0..<6, using: &random))")
    case 15, 118:
      return .regroup(speaker, ["harman", "Room", "Hall"].randomElement(using: &random) ?? "harman")
    case 119..<130: return .person(randomPerson(using: &random))
    case 130, 131: return .reload(own[Int.random(in: 1..<own.count, using: &random)])
    case 132: return .restart(own[Int.random(in: 1..<own.count, using: &random)])
    default: return Int.random(in: 0..<3, using: &random) == 0 ? .powerCut : .leave(speaker)
    }
  }

  private static func randomPerson(using random: inout SeededRandom) -> Person {
    let place: Place? =
      switch Int.random(in: 0..<6, using: &random) {
      case 0: nil
      case 1: .room("Room")
      case 2: .room("Hall")
      default: .speaker(Int.random(in: 0..<speakerCount, using: &random))
      }
    return switch Int.random(in: 0..<8, using: &random) {
    case 0: .stop(place)
    case 1: .pause(place)
    case 2, 3: .resume(place)
    default: .step(place, [-20, -5, -1, 1, 5, 20].randomElement(using: &random) ?? 1)
    }
  }

  private static func randomPlay(using random: inout SeededRandom) -> Play {
    let title = ["long", "long", "short", "bell"].randomElement(using: &random) ?? "long"
    let first = Bool.random(using: &random) ? 0 : randomFrame(using: &random)
    return Play(
      title: title, first: first, loops: Int.random(in: 0..<4, using: &random) == 0,
      priority: Int.random(in: 0..<5, using: &random) == 0
        ? [50, 100, 150].randomElement(using: &random) : nil,
      rooms: Int.random(in: 0..<3, using: &random) == 0 ? randomSpeakers(using: &random) : nil)
  }

  /// Returns a random frame, now and then exactly at an end, or past it.
  private static func randomFrame(using random: inout SeededRandom) -> Int {
    switch Int.random(in: 0..<12, using: &random) {
    case 0: Array(lengths.values.sorted())[Int.random(in: 0..<3, using: &random)]
    case 1: 500_000
    case 2: Int.random(in: 0...8, using: &random) * 48_000 - 30
    case 3..<6: Int.random(in: 0..<60_000, using: &random)
    default: Int.random(in: 0..<400_000, using: &random)
    }
  }

  /// Returns one speaker or several, in any order.
  private static func randomSpeakers(using random: inout SeededRandom) -> [Int] {
    let count = Int.random(in: 1...speakerCount, using: &random)
    return Array((0..<speakerCount).shuffled(using: &random).prefix(count))
  }

  private static func randomInterruption(
    _ number: Int, using random: inout SeededRandom
  ) -> Interruption {
    Interruption(
      name: "call \(number)", speakers: randomSpeakers(using: &random),
      priority: [100, 150, 150, 200].randomElement(using: &random) ?? 150,
      volume: Bool.random(using: &random) ? Int.random(in: 20...50, using: &random) : nil,
      restores: Int.random(in: 0..<5, using: &random) > 0,
      length: Int64.random(in: 1_000_000...3_000_000_000, using: &random))
  }

  /// Returns a random time until the next request, in nanoseconds: next to nothing, less than a block, some
  /// blocks, seconds. Requests at exactly the time of a block are left out, since they may come before or
  /// after it.
  func randomWait(using random: inout SeededRandom) -> Int64 {
    let longest: Int64 =
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<15: 1
      case 15..<55: 20_000_000
      case 55..<88: 120_000_000
      case 88..<99: 500_000_000
      default: 4_000_000_000
      }
    if case .powerCut = self { return Int64.random(in: 20_000_000_000...45_000_000_000, using: &random) }
    // The name is in effect when the call returns, and the next step sees it.
    if case .rename = self { return Int64.random(in: 1_000...20_000_000, using: &random) }
    if case .regroup = self { return Int64.random(in: 1_000...20_000_000, using: &random) }
    if case .person(.step) = self { return Int64.random(in: 1_000...20_000_000, using: &random) }
    return Int64.random(in: 1...longest, using: &random)
  }
}
