/// The time line of the files, block by block, and which ramps may be under way in each of them.
struct MixModel {
  /// What reaches the mix with the next block.
  enum Command {
    case start(Int, DeckModel.Source, stands: Bool)
    case pause(Int)
    case resume(Int)
    case stop(Int)
    case member(speaker: Int, session: Int?)
    case level(Int)
    case gain(Int)
  }

  /// What of a speaker's gain moves on its own: its session begins or ends to sound, the speaker joins or leaves,
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
    /// By speaker.
    let ramps: [Ramps]
    /// By speaker: whether something may be heard from it.
    let heard: [Bool]
  }

  /// What was asked for between two blocks.
  private struct Changes {
    var speakers: [Ramps]
    var decks: [Int: Ramps] = [:]
    /// By speaker: the decks that it has rendered, for however short a time.
    var rendered: [Set<Int>]

    init(_ memberships: [Int?]) {
      speakers = memberships.map { _ in [] }
      rendered = memberships.map { Set($0.map { [$0] } ?? []) }
    }
  }

  private(set) var blocks: [Block] = []
  /// By speaker: the deck that it renders.
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

  /// What begins to sound begins a time line of blocks.
  mutating func begin(at now: Int64) {
    (begun, framesSinceBegun, nextBlock) = (now, 0, now)
  }

  /// Nothing sounds any more.
  mutating func rest() { nextBlock = nil }

  mutating func takeWaiting() -> [Command] {
    defer { waiting = [] }
    return waiting
  }

  /// All that a deck plays begins to move.
  mutating func note(_ ramps: Ramps, ofDeck deck: Int) { changes.decks[deck, default: []].insert(ramps) }

  mutating func noteLevel(of speaker: Int) { changes.speakers[speaker].insert(.level) }

  mutating func move(_ speaker: Int, to deck: Int?) {
    memberships[speaker] = deck
    changes.speakers[speaker].insert(.membership)
    if let deck { changes.rendered[speaker].insert(deck) }
  }

  /// What nobody hears changes at once.
  mutating func forgetRamps() { changes = Changes(memberships) }

  /// A ramp takes one block; what takes the place of something else falls in one block and rises in the next; and a
  /// block that the end of a source cuts short leaves the rest of its ramps to the next.
  mutating func rendered(frames: Int, heard: [Bool]) {
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
    blocks.append(Block(firstFrame: firstFrame, frames: frames, ramps: ramps, heard: heard))
    before = changes
    changes = Changes(memberships)
    isLastCut = frames < DeckModel.blockFrames
    framesSinceBegun += frames
    let length = Int64(framesSinceBegun) * 1_000_000_000 / Int64(DeckModel.sampleRate)
    nextBlock = begun + length
  }
}
