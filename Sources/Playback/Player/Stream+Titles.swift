internal import EventLoop
internal import Reception
internal import StreamCore

extension Stream {
  func beginFeed() {
    tee?.acceptTitles(feed == nil)
    guard let feed, receiver != nil, let network = source.feedThread else { return }
    feed.begin(network, userAgent: options.userAgent) { [unowned self] title in
      tee?.mark(title)
      receive(title, from: buffer?.range.end ?? .zero)
    }
  }

  /// Receives a title, for the sound from `time` on.
  func receive(_ title: StreamTitle, from time: StreamTime) {
    emit(.metadata(title, isRealtime: true))
    guard buffer != nil else { return }
    titles.add(title, from: time)
    followTitles()
  }

  /// Reports the title that is heard, and waits for the next one.
  func followTitles() {
    timers.title?.cancel()
    guard machine.hasPosition else { return }
    let now = position
    if let title = titles.advance(to: now, from: buffer?.range.start) {
      emit(.metadata(title, isRealtime: false))
    }
    guard machine.isPlaying, let next = titles.next(after: now) else { return }
    let wait = max(0.02, (next - now).seconds)
    timers.title = loop.after(Duration(inSeconds: wait), keepsAlive: false) { [weak self] in
      self?.followTitles()
    }
  }
}

/// The titles of the sound in a buffer, in the order of their times, and the one that is heard.
struct TitleQueue {
  private var titles: [(time: StreamTime, title: StreamTitle)] = []
  /// The title that was heard last.
  private(set) var heard: StreamTitle?

  /// Adds a title of the sound from `time` on.
  mutating func add(_ title: StreamTitle, from time: StreamTime) {
    // A station sends its title to a new listener some seconds late: it applies to the sound before, too.
    let start = titles.isEmpty && heard == nil ? .zero : max(time, titles.last?.time ?? .zero)
    // While no sound comes, the last title is that of the next sound.
    if titles.last?.time == start { titles.removeLast() }
    titles.append((start, title))
  }

  /// Inserts a title of sound before the sound received so far.
  mutating func insert(_ title: StreamTitle, from time: StreamTime) {
    let index = titles.firstIndex { $0.time > time } ?? titles.endIndex
    titles.insert((time, title), at: index)
  }

  /// Forgets all titles but the current one: those of other sound follow.
  mutating func restart() { titles = [] }

  /// Moves to a position, and forgets the titles of sound before `start`.
  /// - Returns: the title that is heard there; nil if it was heard before.
  mutating func advance(
    to position: StreamTime, from start: @autoclosure () -> StreamTime?
  ) -> StreamTitle? {
    if titles.count > 1, let start = start() {
      while titles.count > 1, titles[1].time <= start { titles.removeFirst() }
    }
    guard let title = titles.last(where: { $0.time <= position })?.title, title != heard else { return nil }
    heard = title
    return title
  }

  /// Returns the time of the first title after a position; nil if there is no later title.
  func next(after position: StreamTime) -> StreamTime? { titles.first { $0.time > position }?.time }
}
