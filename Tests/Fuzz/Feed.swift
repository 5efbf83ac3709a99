import EventLoop
@testable import Reception
@testable import StreamCore

private let names = FeedNames(event: "fuzzend", fields: [])
private let now = WallTime(seconds: 1_773_151_200)
/// A clock that is put back by an hour half an hour from now.
private let clock = StationClock { $0 < 1_773_153_000 ? -14_400 : -18_000 }

/// libFuzzer's entry: an answer of a feed. The first byte selects the settings of AudioVault.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let input = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  checkEnd(input)
  var feed = AudioVaultFeed(clock: clock)
  feed.unit = AudioVaultFeed.Unit.allCases[Int(start[0]) % 3]
  feed.delay = .seconds(Int(Int8(bitPattern: start[0])) * 28)
  do throws(FeedFlaw) {
    let content = try feed.content(input, at: now)
    check(content, delay: feed.delay)
    require(try feed.content(input, at: now) == content, "a feed says the same twice")
  } catch { check(error) }
  do throws(FeedFlaw) {
    let content = try Live365Feed.content(input)
    require(content.entries.count <= 1, "one entry is played")
    check(content, delay: .zero)
  } catch { check(error) }
  return 0
}

/// Requires that a document is read to its end, whatever precedes it.
private func checkEnd(_ input: [UInt8]) {
  guard FeedText.document(input, names) != nil else { return }
  let mark = "<q>>\"'>-->]]>?><fuzzend>found</fuzzend>"
  guard !input.starts(with: [0xFF, 0xFE]), !input.starts(with: [0xFE, 0xFF]),
    let marked = FeedText.document(input + Array(mark.utf8), names)
  else { return }
  require(
    marked.elements(named: "fuzzend").contains { $0.text == "found" }, "what stands behind damage is found")
}

private func check(_ content: FeedContent, delay: Duration) {
  require(content.entries.count <= FeedContent.entryLimit, "entries are at most 1,000")
  var last: WallTime?
  for entry in content.entries {
    require(
      !entry.title.text.isEmpty && isClean(entry.title.text), "titles are texts without control characters")
    require(entry.title.text.count <= 2100, "titles are short")
    guard let start = entry.start else { continue }
    require(last.map { $0 <= start } ?? true, "entries are in the order of their starts")
    last = start
    let away = now.duration(to: start)
    require(away <= .seconds(45_100) && away >= .seconds(-45_100), "starts are the nearest of three days")
    if let end = entry.end {
      require(end > start && start.duration(to: end) <= .seconds(86_400), "lengths are of a day at most")
    }
  }
  var machine = FeedMachine()
  let moment = FeedMachine.Moment(steady: .start, wall: now)
  require(machine.start() == [.fetch], "a feed is asked at the start")
  require(machine.received(content, at: moment).count <= 1, "one title is told")
  let rest = machine.delay(at: moment) ?? .zero
  require(rest >= .seconds(1) && rest <= .seconds(3605), "a feed is left in peace, and not forgotten")
}

private func check(_ flaw: FeedFlaw) {
  require(
    !flaw.words.isEmpty && flaw.words.utf8.count < 2000 && isClean(flaw.words), "flaws are told in a line")
}
