internal import EventLoop

/// The state of the line that is being typed: a machine that turns keys into actions, without a terminal.
struct EditMachine {
  /// The steps for the editor to perform, in order.
  enum Action: Equatable {
    /// Runs libedit's command of the key.
    case edit(Key)
    /// Replaces the text.
    case show(EditBuffer)
    /// Inserts text at the cursor.
    case insert(String)
    /// Submits the block when it is whole; else continues it on a new line.
    case enter
    /// Completes the word at the cursor, or lists the candidates.
    case complete
    /// Clears the screen.
    case clearScreen
    /// Ends the input.
    case leave
    /// Redraws.
    case redraw
    /// Sounds the bell: the key has no effect here.
    case beep
  }

  /// A search back through the history for entries that contain a text.
  struct Search: Equatable {
    var query = ""
    /// The index of the entry that is shown; nil before the first match.
    var index: Int?
    /// `true` if no entry matches.
    var hasFailed = false
    /// The text from before the search.
    let original: EditBuffer
  }

  enum Phase: Equatable {
    /// A new block is typed.
    case typing
    /// The entry of the history with this index is shown, and may have been changed; the new block is kept.
    case recalling(index: Int, draft: EditBuffer)
    case searching(Search)
  }

  private(set) var phase = Phase.typing

  /// The search that is under way, if any.
  var search: Search? {
    guard case .searching(let search) = phase else { return nil }
    return search
  }

  /// Begins a new block.
  mutating func reset() { phase = .typing }

  /// Handles a key.
  /// - Parameters:
  ///   - buffer: the text and the cursor now.
  ///   - history: entries, the oldest first; called by keys that show one.
  mutating func receive(
    _ key: Key, _ buffer: EditBuffer, history: @autoclosure () -> [String]
  ) -> [Action] {
    if case .searching(let search) = phase { return receive(key, in: search, buffer, history()) }
    switch key {
    case .enter: return [.enter]
    case .escape("\n"), .escape("\r"): return [.insert("\n")]
    case .paste(let text): return [.insert(text)]
    case .tab:
      let line = buffer.head.split(separator: "\n", omittingEmptySubsequences: false).last ?? ""
      return line.allSatisfy { $0 == " " || $0 == "\t" } && !buffer.text.isEmpty
        ? [.insert("  ")] : [.complete]
    case .control(4) where buffer.text.isEmpty: return [.leave]
    case .control(12): return [.clearScreen]
    case .control(18): return begin(Search(original: buffer))
    case .escape("[A"), .escape("OA"), .control(16): return up(buffer, history())
    case .escape("[B"), .escape("OB"), .control(14): return down(buffer, history())
    case .escape("[5~"): return recall(older: true, buffer, history())
    case .escape("[6~"): return recall(older: false, buffer, history())
    default:
      if let moved = Self.moved(key, buffer) { return [.show(moved)] }
      return [.edit(key)]
    }
  }

  // MARK: The cursor

  /// Returns the buffer after a key that moves the cursor, or deletes text at it, by whole characters inside
  /// of a line; nil for any other key.
  static func moved(_ key: Key, _ buffer: EditBuffer) -> EditBuffer? {
    let (head, tail) = (buffer.head, buffer.tail)
    func at(_ cursor: Int) -> EditBuffer { EditBuffer(buffer.text, cursor: cursor) }
    switch key {
    case .escape("[D"), .escape("OD"), .control(2):
      return at(buffer.cursor - (head.last.map { $0.unicodeScalars.count } ?? 0))
    case .escape("[C"), .escape("OC"), .control(6):
      return at(buffer.cursor + (tail.first.map { $0.unicodeScalars.count } ?? 0))
    case .escape("[H"), .escape("OH"), .escape("[1~"), .escape("[7~"), .control(1):
      return at(
        buffer.cursor
          - Substring(head.split(separator: "\n", omittingEmptySubsequences: false).last ?? "").unicodeScalars
          .count)
    case .escape("[F"), .escape("OF"), .escape("[4~"), .escape("[8~"), .control(5):
      return at(buffer.cursor + tail.prefix { $0 != "\n" }.unicodeScalars.count)
    case .escape("[3~"):
      return EditBuffer(String(head) + String(tail.dropFirst()), cursor: buffer.cursor)
    case .escape("[1;5D"), .escape("[1;3D"), .escape("b"):
      let word = head.reversed().drop { !Self.isWord($0) }.drop(while: Self.isWord)
      return at(String(word.reversed()).unicodeScalars.count)
    case .escape("[1;5C"), .escape("[1;3C"), .escape("f"):
      let rest = tail.drop { !Self.isWord($0) }.drop(while: Self.isWord)
      return at(buffer.text.unicodeScalars.count - rest.unicodeScalars.count)
    default: return nil
    }
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  private mutating func up(_ buffer: EditBuffer, _ history: [String]) -> [Action] {
    guard let end = buffer.head.lastIndex(of: "\n") else { return recall(older: true, buffer, history) }
    let column = buffer.head[buffer.head.index(after: end)...].columns
    let above = buffer.head[..<end]
    let start = above.lastIndex(of: "\n").map { above.index(after: $0) } ?? above.startIndex
    let cursor = above[..<start].unicodeScalars.count + Self.offset(ofColumn: column, in: above[start...])
    return [.show(EditBuffer(buffer.text, cursor: cursor))]
  }

  private mutating func down(_ buffer: EditBuffer, _ history: [String]) -> [Action] {
    guard let end = buffer.tail.firstIndex(of: "\n") else { return recall(older: false, buffer, history) }
    let line =
      buffer.head.lastIndex(of: "\n").map { buffer.head[buffer.head.index(after: $0)...] } ?? buffer.head
    let below = buffer.tail[buffer.tail.index(after: end)...]
    let offset = Self.offset(ofColumn: line.columns, in: below.prefix { $0 != "\n" })
    let cursor = buffer.cursor + buffer.tail[...end].unicodeScalars.count + offset
    return [.show(EditBuffer(buffer.text, cursor: cursor))]
  }

  private static func offset(ofColumn column: Int, in line: Substring) -> Int {
    var (width, offset) = (0, 0)
    for character in line {
      width += String(character).columns
      guard width <= column else { break }
      offset += character.unicodeScalars.count
    }
    return offset
  }

  // MARK: The history

  private mutating func recall(older: Bool, _ buffer: EditBuffer, _ history: [String]) -> [Action] {
    let (index, draft): (Int, EditBuffer) =
      if case .recalling(let index, let draft) = phase { (index, draft) } else { (history.count, buffer) }
    let next = older ? index - 1 : index + 1
    guard next >= 0, next <= history.count, next != index else { return [.beep] }
    guard next < history.count else {
      phase = .typing
      return [.show(draft)]
    }
    phase = .recalling(index: next, draft: draft)
    return [.show(EditBuffer(history[next]))]
  }

  // MARK: The search

  private mutating func begin(_ search: Search) -> [Action] {
    phase = .searching(search)
    return [.redraw]
  }

  private mutating func receive(
    _ key: Key, in search: Search, _ buffer: EditBuffer, _ history: [String]
  ) -> [Action] {
    var search = search
    switch key {
    case .text(let scalar):
      search.query.unicodeScalars.append(scalar)
      return find(&search, before: (search.index ?? history.count - 1) + 1, history)
    case .paste(let text):
      search.query += text
      return find(&search, before: (search.index ?? history.count - 1) + 1, history)
    case .backspace, .control(8):
      guard !search.query.isEmpty else { return [.beep] }
      search.query.removeLast()
      search.index = nil
      guard !search.query.isEmpty else {
        search.hasFailed = false
        phase = .searching(search)
        return [.show(search.original)]
      }
      return find(&search, before: history.count, history)
    case .control(18):
      guard !search.query.isEmpty else { return [.beep] }
      return find(&search, before: search.index ?? history.count, history)
    case .control(19):
      guard let index = search.index,
        let newer = history.indices.first(where: { $0 > index && history[$0].contains(search.query) })
      else { return [.beep] }
      return found(&search, newer, history)
    case .control(7):
      phase = .typing
      return [.show(search.original)]
    default:
      // The found entry stays, and the key acts on it.
      phase = search.index.map { .recalling(index: $0, draft: search.original) } ?? .typing
      return [.redraw] + receive(key, buffer, history: history)
    }
  }

  private mutating func find(_ search: inout Search, before end: Int, _ history: [String]) -> [Action] {
    let older = history.indices.prefix(max(0, end)).last { history[$0].contains(search.query) }
    guard let older else {
      search.hasFailed = true
      phase = .searching(search)
      return [.redraw, .beep]
    }
    return found(&search, older, history)
  }

  private mutating func found(_ search: inout Search, _ index: Int, _ history: [String]) -> [Action] {
    search.index = index
    search.hasFailed = false
    phase = .searching(search)
    let entry = history[index]
    let match = entry.firstRange(of: search.query)?.lowerBound ?? entry.endIndex
    return [.show(EditBuffer(entry, cursor: entry[..<match].unicodeScalars.count))]
  }
}
