public import EventLoop
internal import Glibc

/// The ways to complete a word.
public struct LineCompletion: Equatable, Sendable {
  /// The offset in scalars at which the word begins that a candidate replaces; the word ends at the cursor.
  public var start: Int
  /// The words, with the text to insert after them.
  public var candidates: [String]

  /// Candidates for the word from `start` to the cursor.
  public init(start: Int, candidates: [String]) { (self.start, self.candidates) = (start, candidates) }
}

/// The screen on which a line is edited, which receives the blocks.
public protocol LineScreen: AnyObject {
  /// The size of the terminal.
  var size: (columns: Int, rows: Int) { get }
  /// Writes a sequence. All other output from then on is written after `erase` and before `draw`; nil when
  /// there are no rows to keep.
  func write(_ sequence: String, keeping frame: (erase: String, draw: String)?)
  /// Writes lines above the kept rows.
  func print(_ lines: String)
  /// Receives a block. The editor rests from then on.
  func receive(block text: String)
  /// Called at the end of the input, or when it was asked for with Ctrl-D. The editor rests from then on.
  func inputHasEnded()
  /// Receives the failure to keep the history, once.
  func warn(_ message: String)
}

/// Edits blocks of text on a terminal: receives keys as bytes, emits blocks. Confined to the loop, which it
/// never stops.
public final class LineEditor {
  /// The prompts for a first line and for a continued one.
  public var prompts = (first: "> ", more: ">> ")
  /// Returns `true` if a block needs another line.
  public var isUnfinished: (String) -> Bool = { _ in false }
  /// Returns `true` if lines that came together with a whole block, as in a paste, belong to the block.
  public var joins: (_ text: String, _ rest: String) -> Bool = { _, _ in false }
  /// Returns the ways to complete the word at the cursor, which is at an offset in scalars.
  public var complete: (_ text: String, _ cursor: Int) -> LineCompletion? = { _, _ in nil }

  private let line: EditLine
  /// The settings that the terminal had; to be restored by code that ends the process at once.
  public let settings: TerminalSettings
  private unowned let screen: any LineScreen
  private let history: History
  private var machine = EditMachine()
  private var decoder = KeyDecoder()
  /// The rows on the screen; nil while the editor rests.
  private var image: LineImage?
  /// Keys that were read and not handled yet: those after the end of a block wait for the next block.
  private var pending: ArraySlice<Key> = []
  /// `true` inside of `handlePending`: a block that begins there is handled by the same loop.
  private var isHandling = false
  private var hasWarned = false

  /// An editor for the terminal at a descriptor.
  /// - Returns: nil when the descriptor is not a terminal.
  /// - Throws: the failure to load libedit.
  public init?(terminal: Int32, screen: any LineScreen, history: History) throws(LibraryError) {
    guard let settings = TerminalSettings(of: terminal), let line = try EditLine(terminal: terminal) else {
      return nil
    }
    (self.line, self.settings, self.screen, self.history) = (line, settings, screen, history)
  }

  /// `true` while a block is edited.
  public var isActive: Bool { image != nil }

  /// Begins a new block.
  public func begin() {
    guard !isActive else { return }
    machine.reset()
    decoder.reset()
    activate()
    line.buffer = EditBuffer()
    draw(behind: Self.startsPaste)
    handlePending()
  }

  /// Rests: the terminal collects and echoes lines again. The block that was typed is dropped.
  public func rest() {
    guard isActive else { return }
    leave(showing: nil)
  }

  /// Handles bytes that the terminal delivered; an empty array is the end of the input.
  public func receive(_ bytes: [UInt8]) {
    guard isActive else { return }
    guard !bytes.isEmpty else {
      leave(showing: "")
      return screen.inputHasEnded()
    }
    pending += decoder.receive(bytes)
    handlePending()
  }

  /// Receives bytes while single keys are delivered: the first key is the caller's, the next block begins
  /// with the keys after it.
  public func receiveBehindKey(_ bytes: [UInt8]) {
    let keys = decoder.receive(bytes)
    if keys.isEmpty { decoder.reset() }
    pending += keys.dropFirst()
  }

  /// Drops the block that is typed, and begins a new one.
  public func interrupt() {
    pending = []
    guard isActive else { return }
    let erase = image?.erasing(columns: screen.size.columns) ?? ""
    let last = LineImage(
      EditBuffer(line.buffer.text + "^C"), prompts: shownPrompts, columns: screen.size.columns,
      height: screen.size.rows)
    screen.write(erase + last.drawing + last.leaving, keeping: nil)
    machine.reset()
    decoder.reset()
    line.buffer = EditBuffer()
    image = nil
    draw(behind: "")
  }

  /// Draws the block again after a change of the terminal's size.
  public func resize() { if isActive { draw(behind: "") } }

  /// Restores the terminal before the process is stopped; the block is kept. `resume` continues it.
  public func suspend() {
    guard let image else { return }
    screen.write(image.leaving + Self.endsPaste, keeping: nil)
    kept = line.buffer
    self.image = nil
    deactivate()
  }

  /// Continues after `suspend`; does nothing without it.
  public func resume() {
    guard let kept else { return }
    self.kept = nil
    activate()
    line.buffer = kept
    draw(behind: Self.startsPaste)
  }
  /// The block of a stopped process.
  private var kept: EditBuffer?

  /// Makes the terminal deliver single keys to its reader while the editor rests; or ends that.
  public func setKeys(_ single: Bool) {
    guard !isActive else { return }
    if single { activate() } else { deactivate() }
  }

  // MARK: Keys

  /// Handles keys until the block is submitted; if the next block begins at once, its keys too.
  private func handlePending() {
    guard !isHandling else { return }
    isHandling = true
    defer { isHandling = false }
    var isStale = false
    while isActive, let key = pending.popFirst() {
      let before = line.buffer
      let isNewRecall = machine.phase == .typing || machine.search?.query.isEmpty == true
      for action in machine.receive(key, before, history: recalled(isNewRecall)) {
        isStale = perform(action, before) == .redraw
        guard isStale else { break }
      }
    }
    if isStale, isActive { draw(behind: "") }
  }

  /// Returns the entries of the history; for a new recall including new entries of other prompts.
  private func recalled(_ isNew: Bool) -> [String] {
    if isNew { do throws(SystemError) { try history.load() } catch { warn(error) } }
    return history.entries
  }

  private func warn(_ error: SystemError) {
    if !hasWarned { screen.warn("the history of the prompt is not kept: \(error.text)") }
    hasWarned = true
  }

  private enum Step { case redraw, done }

  private func perform(_ action: EditMachine.Action, _ before: EditBuffer) -> Step {
    switch action {
    case .edit(let key): edit(key)
    case .show(let buffer): line.buffer = buffer
    case .insert(let text): line.insert(text)
    case .enter:
      let text = line.buffer.text
      guard text.contains(where: { !$0.isWhitespace }), isUnfinished(text) else {
        let rest = arrived
        guard rest.keys > 0, joins(text, rest.text) else {
          submit(text)
          return .done
        }
        pending.removeFirst(rest.keys)
        submit("\(text)\n\(rest.text)")
        return .done
      }
      line.insert("\n")
    case .complete: completeWord()
    case .clearScreen: draw(behind: "\u{1B}[H\u{1B}[2J", onEmptyScreen: true)
    case .leave:
      leave(showing: "")
      screen.inputHasEnded()
      return .done
    case .beep: screen.write("\u{7}", keeping: frame)
    case .redraw: break
    }
    return .redraw
  }

  /// The lines that have come already after the key that is handled, up to the last line with an end, and the
  /// number of their keys. Stops at the first key that is not text, a tab or Enter.
  private var arrived: (text: String, keys: Int) {
    var text = ""
    var lines = (text: "", keys: 0)
    for (index, key) in pending.enumerated() {
      switch key {
      case .text(let scalar): text.unicodeScalars.append(scalar)
      case .tab: text += "\t"
      case .enter:
        lines = (text, index + 1)
        text += "\n"
      default: return lines
      }
    }
    return lines
  }

  private func edit(_ key: Key) {
    let before = line.buffer
    line.run(key)
    // A cursor inside of a character moves to an edge of the character.
    let after = line.buffer
    var offset = 0
    for character in after.text {
      let end = offset + character.unicodeScalars.count
      if offset < after.cursor && after.cursor < end && after.text == before.text {
        line.buffer = EditBuffer(after.text, cursor: after.cursor < before.cursor ? offset : end)
      }
      offset = end
      if offset >= after.cursor { break }
    }
  }

  private func submit(_ text: String) {
    leave(showing: text)
    do throws(SystemError) {
      try history.add(text)
    } catch {
      warn(error)
    }
    screen.receive(block: text)
  }

  // MARK: Completion

  private func completeWord() {
    let buffer = line.buffer
    guard let completion = complete(buffer.text, buffer.cursor), let first = completion.candidates.first
    else {
      return screen.write("\u{7}", keeping: frame)
    }
    let head = Array(buffer.head.unicodeScalars)
    let start = min(max(0, completion.start), head.count)
    let word = String(String.UnicodeScalarView(head[start...]))
    let common = completion.candidates.dropFirst().reduce(first) { Self.commonStart($0, $1) }
    if completion.candidates.count == 1 || common.count > word.count {
      let kept = String(String.UnicodeScalarView(head[..<start])) + common
      // A quotation mark that follows already is not inserted again.
      var tail = buffer.tail
      if let mark = common.last, mark == "\"" || mark == "'", tail.first == mark { tail = tail.dropFirst() }
      line.buffer = EditBuffer(kept + tail, cursor: kept.unicodeScalars.count)
    } else {
      screen.print(Self.list(completion.candidates, screen.size))
    }
  }

  private static func commonStart(_ one: String, _ other: String) -> String {
    String(zip(one, other).prefix { $0 == $1 }.map(\.0))
  }

  /// Returns the candidates in columns, cut to half the height of the terminal, with a count of the others.
  static func list(_ candidates: [String], _ size: (columns: Int, rows: Int)) -> String {
    let room = max(8, size.columns - 1)
    let labels = candidates.map { $0.onOneLine.cut(toColumns: room - 2) }
    let width = (labels.map(\.columns).max() ?? 0) + 2
    let across = max(1, room / width)
    let rows = (labels.count + across - 1) / across
    let shown = min(rows, max(3, size.rows / 2))
    var lines = (0..<shown).map { row -> String in
      let cells = stride(from: row, to: labels.count, by: rows).map { labels[$0] }
      return cells.dropLast().map { $0.padded(toColumns: width) }.joined() + (cells.last ?? "")
    }
    let hidden = (shown..<rows).reduce(0) {
      $0 + stride(from: $1, to: labels.count, by: rows).underestimatedCount
    }
    if hidden > 0 { lines.append("… \(hidden) more") }
    return lines.joined(separator: "\n")
  }

  // MARK: The screen

  private static let startsPaste = "\u{1B}[?2004h"
  private static let endsPaste = "\u{1B}[?2004l"

  private var shownPrompts: (first: String, more: String) {
    guard let search = machine.search else { return prompts }
    return ("(\(search.hasFailed ? "nothing with" : "search") '\(search.query.onOneLine)') ", prompts.more)
  }

  private var frame: (erase: String, draw: String)? {
    image.map { ($0.erasing(columns: screen.size.columns), $0.drawing) }
  }

  /// Draws the block.
  /// - Parameters:
  ///   - sequence: written before the block.
  ///   - onEmptyScreen: `true` if `sequence` clears the screen, with the rows that were drawn.
  private func draw(behind sequence: String, onEmptyScreen: Bool = false) {
    let size = screen.size
    let next = LineImage(line.buffer, prompts: shownPrompts, columns: size.columns, height: size.rows)
    let erase = onEmptyScreen ? "" : image?.erasing(columns: size.columns) ?? ""
    image = next
    screen.write(sequence + erase + next.drawing, keeping: frame)
  }

  /// Rests, with the cursor below the text that stays on the screen; nil removes the block from the screen.
  private func leave(showing text: String?) {
    let size = screen.size
    var sequence = image?.erasing(columns: size.columns) ?? ""
    if let text {
      let last = LineImage(EditBuffer(text), prompts: prompts, columns: size.columns, height: .max)
      sequence += last.drawing + last.leaving
    }
    image = nil
    screen.write(sequence + Self.endsPaste, keeping: nil)
    deactivate()
  }

  private func activate() {
    line.isActive = true
    settings.noteChange()
  }

  private func deactivate() {
    line.isActive = false
    settings.restore()
  }
}
