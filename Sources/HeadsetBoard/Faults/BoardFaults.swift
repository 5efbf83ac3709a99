public import EventLoop
internal import HeadsetLink

/// Faults that are injected into a board.
public struct BoardFaults: Sendable, Equatable {
  /// The seed of the random source.
  var seed: UInt64 = 1

  // Probabilities, from 0 to 1, for each frame in either direction.
  var drop = 0.0
  var duplicate = 0.0
  /// A bit of the frame is flipped.
  var corrupt = 0.0
  /// The frame is late, and all frames after it.
  var delay = 0.0
  var delayTime = Duration.milliseconds(300)
  /// The frame arrives in pieces.
  var split = 0.0
  /// The frame arrives together with the next one.
  var merge = 0.0
  /// The link ends after the frame.
  var disconnect = 0.0

  /// The link ends once, at this byte of both directions together, counted from 1.
  var disconnectAt: Int?
  /// The number of requests to start the bootloader that the board ignores.
  var stays = 0
  /// The number of bytes of a challenge.
  var challengeLength = LinkHandshake.length
  /// The board sends the frequencies of one band fewer than it has.
  var hidesBand = false
  /// The answers to requests of a session are unreadable: they end in the middle of their status.
  var garblesAnswers = false
  /// The most bytes of a request's payload, as the board reports it.
  var longestPayload = LinkFrame.longestPayload
  /// The step at which the power is lost.
  var death = SteppedStore.Death()

  /// Creates a set without faults.
  public init() {}

  /// `true` if a fault concerns frames of the link.
  var touchLink: Bool {
    [drop, duplicate, corrupt, delay, split, merge, disconnect].contains { $0 > 0 } || disconnectAt != nil
  }
}

extension BoardFaults {
  /// The forms of faults, for help.
  public static let forms = [
    "drop=P", "duplicate=P", "corrupt=P", "delay=P[:TIME]", "split=P", "merge=P", "disconnect=P",
    "disconnect-at=BYTE", "stay=N", "challenge=BYTES", "wrong-bands", "garble-answer", "max-payload=N",
    "die=STEP", "die-journal=ENTRY", "seed=N",
  ]

  /// Adds faults from text: `drop=0.05,delay=0.2:300ms,seed=7`.
  /// - Throws: `fault`, whose message has the nearest fault or the expected form.
  public mutating func add(_ text: String) throws(BoardError) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      try add(words[0], words.count > 1 ? words[1] : nil)
    }
  }

  private mutating func add(_ name: String, _ value: String?) throws(BoardError) {
    guard let form = Self.forms.first(where: { Self.name($0) == name }) else {
      throw .unknown(.fault, "fault", name, among: Self.forms.map(Self.name))
    }
    guard set(name, value) else {
      let written = value.map { "\"\(name)=\($0.prefix(40).description.onOneLine)\"" } ?? "\"\(name)\""
      throw BoardError(
        .fault, "\(written) is not a fault of the board: \(form) expected", hint: Self.meaning(name))
    }
  }

  /// Sets a fault; returns `false` for a value that this fault can't have.
  private mutating func set(_ name: String, _ value: String?) -> Bool {
    switch name {
    case "drop": Self.read(value, into: &drop)
    case "duplicate": Self.read(value, into: &duplicate)
    case "corrupt": Self.read(value, into: &corrupt)
    case "split": Self.read(value, into: &split)
    case "merge": Self.read(value, into: &merge)
    case "disconnect": Self.read(value, into: &disconnect)
    case "delay": setDelay(value)
    case "disconnect-at": Self.read(value, 1...Int.max, into: &disconnectAt)
    case "die": Self.read(value, 1...Int.max, into: &death.step)
    case "die-journal": Self.read(value, 1...Int.max, into: &death.journalEntry)
    case "stay": Self.read(value, 0...1_000, into: &stays)
    case "challenge": Self.read(value, 0...255, into: &challengeLength)
    case "max-payload": Self.read(value, 0...LinkFrame.longestPayload, into: &longestPayload)
    case "garble-answer": Self.set(&garblesAnswers, value)
    case "seed": Self.read(value, into: &seed)
    default: Self.set(&hidesBand, value)
    }
  }

  private mutating func setDelay(_ value: String?) -> Bool {
    let words = value?.split(separator: ":", maxSplits: 1).map(String.init) ?? []
    guard Self.read(words.first, into: &delay) else { return false }
    guard words.count > 1 else { return true }
    guard let time = Self.time(words[1]) else { return false }
    delayTime = time
    return true
  }

  private static func set(_ flag: inout Bool, _ value: String?) -> Bool {
    if value == nil { flag = true }
    return value == nil
  }

  private static func read(_ text: String?, into number: inout Double) -> Bool {
    guard let text, let value = Double(text), (0...1).contains(value) else { return false }
    number = value
    return true
  }

  private static func read(_ text: String?, _ range: ClosedRange<Int>, into number: inout Int?) -> Bool {
    guard let value = text.flatMap({ Int($0) }), range.contains(value) else { return false }
    number = value
    return true
  }

  private static func read(_ text: String?, _ range: ClosedRange<Int>, into number: inout Int) -> Bool {
    var value: Int?
    guard read(text, range, into: &value), let value else { return false }
    number = value
    return true
  }

  private static func read(_ text: String?, into number: inout UInt64) -> Bool {
    guard let value = text.flatMap({ UInt64($0) }) else { return false }
    number = value
    return true
  }

  /// `300ms` or `2s`, up to a minute.
  private static func time(_ text: String) -> Duration? {
    let isShort = text.hasSuffix("ms")
    guard isShort || text.hasSuffix("s"), let number = Int(text.dropLast(isShort ? 2 : 1)),
      (0...60_000).contains(number)
    else { return nil }
    return min(isShort ? .milliseconds(number) : .seconds(number), .seconds(60))
  }

  private static func name(_ form: String) -> String { String(form.prefix { $0 != "=" }) }

  /// The meaning of a fault's value, for messages.
  private static func meaning(_ name: String) -> String {
    switch name {
    case "delay": "P is a probability from 0 to 1, TIME like 300ms or 2s"
    case "stay": "N is how often the board stays in its application"
    case "challenge": "BYTES is the length of the challenge, 0 to 255; 16 is right"
    case "max-payload": "N is the largest size of a request in bytes, 0 to \(LinkFrame.longestPayload)"
    case "disconnect-at": "BYTE is counted from 1, over both directions"
    case "die": "STEP is counted from 1, over all changes of the board's state"
    case "die-journal": "ENTRY is counted from 1"
    case "seed": "N is a whole number"
    case "wrong-bands", "garble-answer": "it has no value"
    default: "P is a probability from 0 to 1"
    }
  }
}
