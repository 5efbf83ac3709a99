/// Model of the output files, block by block, with the ramps that may be moving in each block.
struct MixModel {
  /// A command that reaches the mix with the next block.
  enum Command {
    case start(Int, DeckModel.Source, stands: Bool)
    case pause(Int)
    case resume(Int)
    case stop(Int)
    case member(speaker: Int, session: Int?)
    case level(Int)
    case gain(Int)
  }

  /// Independent ramps of a speaker's gain: its session begins or ends to sound, the speaker joins or leaves,
  /// its level, role or balance change, its session's gain changes.
  struct Ramps: OptionSet {
    let rawValue: Int
    static let playing = Ramps(rawValue: 1)
    static let membership = Ramps(rawValue: 2)
    static let level = Ramps(rawValue: 4)
    static let gain = Ramps(rawValue: 8)

    var count: Int { rawValue.nonzeroBitCount }
  }

  struct Block {
    let firstFrame: Int
    let frames: Int
    /// Time at which its first frame is heard.
    let time: Int64
    /// Ramps by speaker.
    let ramps: [Ramps]
    /// `true` for each speaker that may be heard.
    let heard: [Bool]
  }

  /// Requests between two blocks.
  private struct Changes {
    var speakers: [Ramps]
    var decks: [Int: Ramps] = [:]
    /// Decks that each speaker has rendered, for however short a time.
    var rendered: [Set<Int>]

    init(_ memberships: [Int?]) {
      speakers = memberships.map { _ in [] }
      rendered = memberships.map { Set($0.map { [$0] } ?? []) }
    }
  }

  private(set) var blocks: [Block] = []
  /// Deck that each speaker renders now; nil for none.
  private var memberships: [Int?]
  var waiting: [Command] = []
  private(set) var nextBlock: Int64?
  private var begun: Int64 = 0
  private var framesSinceBegun = 0
  private var changes: Changes
  private var before: Changes
  private var isLastCut = false

  init(memberships: [Int?]) {
    self.memberships = memberships
    changes = Changes(memberships)
    before = changes
  }

  func deck(of speaker: Int) -> Int? { memberships[speaker] }

  /// Starts the time line of blocks, with the first sound.
  mutating func begin(at now: Int64) {
    (begun, framesSinceBegun, nextBlock) = (now, 0, now)
  }

  /// Stops the time line: no deck sounds.
  mutating func rest() { nextBlock = nil }

  mutating func drainWaiting() -> [Command] {
    defer { waiting = [] }
    return waiting
  }

  /// Starts ramps of a deck.
  mutating func note(_ ramps: Ramps, ofDeck deck: Int) { changes.decks[deck, default: []].insert(ramps) }

  mutating func noteLevel(of speaker: Int) { changes.speakers[speaker].insert(.level) }

  mutating func move(_ speaker: Int, to deck: Int?) {
    memberships[speaker] = deck
    changes.speakers[speaker].insert(.membership)
    if let deck { changes.rendered[speaker].insert(deck) }
  }

  /// Drops ramps of an inaudible mix, which changes at once.
  mutating func forgetRamps() { changes = Changes(memberships) }

  /// Records a rendered block with its ramps.
  ///
  /// A ramp takes one block; a replacement fades out in one block and in during the next; and a block that
  /// the end of a source cuts short leaves the rest of its ramps to the next.
  mutating func rendered(frames: Int, heard: [Bool], at now: Int64) {
    let firstFrame = blocks.last.map { $0.firstFrame + $0.frames } ?? 0
    let ramps = memberships.indices.map { speaker in
      var ramps = changes.speakers[speaker].union(before.speakers[speaker])
      for deck in changes.rendered[speaker].union(before.rendered[speaker]) {
        ramps.formUnion(changes.decks[deck] ?? [])
        ramps.formUnion(before.decks[deck] ?? [])
      }
      if isLastCut, let last = blocks.last { ramps.formUnion(last.ramps[speaker]) }
      return ramps
    }
    blocks.append(Block(firstFrame: firstFrame, frames: frames, time: now, ramps: ramps, heard: heard))
    before = changes
    changes = Changes(memberships)
    isLastCut = frames < DeckModel.blockFrames
    framesSinceBegun += frames
    let length = Int64(framesSinceBegun) * 1_000_000_000 / Int64(DeckModel.sampleRate)
    nextBlock = begun + length
  }
}
