internal import EventLoop

extension Stream {
  func beginFeed() {
    outlet?.takeTitles(feed == nil)
    guard let feed, receiver != nil, let network = source.feedThread else { return }
    feed.begin(network, userAgent: options.userAgent) { [unowned self] title in
      outlet?.mark(title)
      take(title, from: buffer?.range.end ?? .zero)
    }
  }

  /// A title has come, for the sound from `time` on.
  func take(_ new: StreamTitle, from time: StreamTime) {
    onEvent(.metadata(new, isRealtime: true))
    guard buffer != nil else { return }
    // A station tells a new listener its title some seconds late: what came before had it too.
    let start = titles.isEmpty && title == nil ? .zero : max(time, titles.last?.time ?? .zero)
    // While no sound comes the last title is the one that it comes with.
    if titles.last?.time == start { titles.removeLast() }
    titles.append((start, new))
    followTitles()
  }

  /// Tells the title that is heard, and waits for the next one.
  func followTitles() {
    titleTimer?.cancel()
    guard hasPosition else { return }
    let now = position
    if let start = buffer?.range.start {
      while titles.count > 1, titles[1].time <= start { titles.removeFirst() }
    }
    let current = titles.last { $0.time <= now }?.title
    if let current, current != title {
      title = current
      onEvent(.metadata(current, isRealtime: false))
    }
    guard !isPaused, let next = titles.first(where: { $0.time > now }) else { return }
    let wait = max(0.02, (next.time - now).seconds)
    titleTimer = loop.after(.nanoseconds(Int64(wait * 1e9)), keepsAlive: false) { [weak self] in
      self?.followTitles()
    }
  }
}
