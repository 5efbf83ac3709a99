import Codecs
import EventLoop
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

@Suite("The cuts of a split recording, without files", .tags(.stream, .recording, .titles))
struct CutPlannerTests {
  private static let format = StreamFormat(codec: .mp3, sampleRate: 48_000, channels: 2)

  private func at(_ seconds: Double) -> StreamTime { StreamTime(seconds: seconds) }

  private func planner(offset: Double = 0, overlap: Double = 0) -> CutPlanner {
    var split = RecordingOptions.Split()
    (split.offset, split.overlap) = (.seconds(offset), .seconds(overlap))
    return CutPlanner(split)
  }

  /// The next cut whose file begins by a time.
  private func next(by seconds: Double, in planner: inout CutPlanner) throws -> CutPlanner.Cut {
    let cut = planner.next(by: at(seconds))
    return try #require(cut)
  }

  /// Remembers frames of a second each, the first of which begins at 0.
  private func remember(_ count: Int, in planner: inout CutPlanner) {
    for index in 0..<count {
      let frame = StreamFrame(
        offset: index, length: 1, hash: UInt64(index), format: Self.format, samples: 48_000)
      planner.remember(frame, [UInt8(index)], endingAt: at(Double(index + 1)))
    }
  }

  @Test("a file begins where its title came, and the one before ends there")
  func exact() throws {
    var planner = planner()
    #expect(planner.isEmpty)
    #expect(planner.add(StreamTitle("one"), at: at(10)) && !planner.isEmpty)
    #expect(planner.next(by: at(9.9)) == nil)
    let cut = try next(by: 10, in: &planner)
    #expect(cut.title.text == "one" && cut.begins == at(10) && cut.ends == at(10))
    #expect(planner.isEmpty && planner.next(by: at(99)) == nil)
  }

  @Test("the offset moves a cut, and an overlap makes both files longer, not before the beginning")
  func moved() throws {
    var planner = planner(offset: 3, overlap: 2)
    _ = planner.add(StreamTitle("one"), at: at(10))
    let cut = try next(by: 11, in: &planner)
    #expect(cut.position == at(13) && cut.begins == at(11) && cut.ends == at(15))
    var early = self.planner(offset: -30, overlap: 2)
    _ = early.add(StreamTitle("one"), at: at(10))
    #expect(try next(by: 0, in: &early).begins == .zero)
  }

  @Test("a negative overlap leaves sound between two files out")
  func gap() throws {
    var planner = planner(overlap: -2)
    _ = planner.add(StreamTitle("one"), at: at(10))
    let cut = try next(by: 12, in: &planner)
    #expect(cut.ends == at(8) && cut.begins == at(12))
  }

  @Test("titles in less than a second replace each other, and never bring a file sooner")
  func fast() throws {
    var planner = planner()
    _ = planner.add(StreamTitle("one"), at: at(10))
    _ = planner.add(StreamTitle("two"), at: at(10.5))
    let cut = try next(by: 10, in: &planner)
    #expect(cut.title.text == "two" && cut.position == at(10))
    _ = planner.add(StreamTitle("three"), at: at(10.7))
    #expect(planner.next(by: at(10.9)) == nil)
    #expect(try next(by: 11, in: &planner).position == at(11))
  }

  @Test("a recording that is not split has no cuts, and remembers nothing")
  func whole() {
    var planner = CutPlanner(nil)
    #expect(!planner.add(StreamTitle("one"), at: at(10)) && planner.isEmpty)
    remember(3, in: &planner)
    #expect(planner.frames(from: .zero).isEmpty)
  }

  @Test("frames are remembered as far back as a file may begin, and no further")
  func remembers() {
    var planner = planner(overlap: 3)
    remember(20, in: &planner)
    #expect(planner.frames(from: .zero).map(\.bytes) == (16..<20).map { [UInt8($0)] })
    #expect(planner.frames(from: at(18)).map(\.time) == [at(18), at(19)])
    var exact = self.planner()
    remember(20, in: &exact)
    #expect(exact.frames(from: .zero).isEmpty, "no file wants them")
    var late = self.planner(offset: 5, overlap: 2)
    remember(20, in: &late)
    #expect(late.frames(from: .zero).isEmpty, "a cut lies behind all that has come")
  }

  @Test("a new format drops the cuts, and its file has the title of the last of them")
  func resets() throws {
    var planner = planner(offset: 5, overlap: 6)
    _ = planner.add(StreamTitle("one"), at: at(10))
    _ = planner.add(StreamTitle("two"), at: at(20))
    remember(5, in: &planner)
    #expect(planner.reset()?.text == "two" && planner.isEmpty && planner.frames(from: .zero).isEmpty)
    #expect(planner.reset() == nil)
    _ = planner.add(StreamTitle("three"), at: at(20.1))
    #expect(
      try next(by: 99, in: &planner).position == at(26), "a second behind the one that was dropped")
  }
}

@Suite("The account of the sound of a recording", .tags(.stream, .recording)) struct GapLedgerTests {
  private func at(_ seconds: Double) -> StreamTime { StreamTime(seconds: seconds) }

  /// A batch of a second of sound, and what else is in it.
  private func batch(gap: Double? = nil, title: String? = nil) -> RecordingQueue.Batch {
    var batch = RecordingQueue.Batch()
    if let gap { batch.mark(.gap(seconds: gap)) }
    if let title { batch.mark(.title(StreamTitle(title))) }
    let format = StreamFormat(codec: .mp3, sampleRate: 48_000, channels: 2)
    let frame = StreamFrame(offset: 0, length: 1, hash: 0, format: format, samples: 48_000)
    [UInt8(0)].withUnsafeBytes { batch.append(frame, $0) }
    return batch
  }

  @Test("sound that was received and missing adds up")
  func total() {
    var ledger = GapLedger()
    ledger.receive(at(4))
    ledger.miss(at(2))
    ledger.write()
    #expect(ledger.total == at(6) && ledger.written == at(4) && ledger.lost == .zero)
  }

  @Test(
    "a disk that fails in the midst of batches has lost what was not written, and gaps that were not noted")
  func fails() {
    var ledger = GapLedger()
    ledger.receive(at(10))
    ledger.write()
    let before = ledger
    // Of three seconds with two gaps one was written, one was received, and one gap was noted.
    ledger.receive(at(1))
    ledger.write()
    ledger.miss(at(5))
    ledger.receive(at(1))
    ledger.fail([batch(), batch(gap: 5, title: "one"), batch(gap: 7)], since: before)
    #expect(ledger.lost == at(2 + 7) && ledger.written == at(11))
    ledger.dropUnwritten()
    #expect(ledger.time == at(11) && ledger.total == at(11 + 5 + 9))
    #expect(ledger.takeLostTitle()?.text == "one" && ledger.takeLostTitle() == nil)
  }

  @Test("sound that comes while there is no room is a gap in front of the next file, until that is written")
  func resumes() {
    var ledger = GapLedger()
    ledger.lose(batch(gap: 3))
    ledger.lose(batch(title: "one"))
    ledger.lose(batch())
    #expect(ledger.lost == at(6) && ledger.takeLostTitle()?.text == "one")
    ledger.resume()
    #expect(ledger.lost == .zero && ledger.gapBefore == at(6))
    ledger.lose(batch())
    ledger.resume()
    #expect(ledger.gapBefore == at(7), "the disk was full again before a file began")
    ledger.receive(at(1))
    ledger.write()
    #expect(ledger.gapBefore == .zero)
  }
}
