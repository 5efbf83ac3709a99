internal import EventLoop
internal import Glibc
internal import Home
internal import LineEditor
internal import Roomtone

/// The terminal of a prompt: the line editor while a block is typed, a plain terminal while a routine is in
/// the foreground, and the output of both. Confined to the loop.
final class PromptScreen: PromptInput, LineScreen, LiveScreen {
  private unowned let prompt: Prompt
  private let loop: EventLoop
  private var editor: LineEditor?
  private var watch: FDWatch?
  private var sizes: SignalWatch?
  private var stops: SignalWatch?
  /// The keys and rows of `live()`; nil while it is not shown.
  private var live: (onKey: () -> Void, watch: FDWatch, rows: [String], lines: (Int, Int) -> [String])?
  /// Output of the script without a line end yet, while a block is typed.
  private var unfinished: [UInt8] = []
  /// The lines of input that were read when output without a line end was written last, while no block was typed; nil
  /// at the start of a row. A person who types a line ends that row.
  private var openRow: Int?

  /// The screen for `prompt` on standard input and output.
  /// - Returns: nil when the system has no editor for this terminal.
  /// - Throws: the failure to load the editor.
  init?(_ prompt: Prompt, loop: EventLoop, history: History) throws(LibraryError) {
    (self.prompt, self.loop) = (prompt, loop)
    guard let editor = try LineEditor(terminal: STDIN_FILENO, screen: self, history: history) else {
      return nil
    }
    self.editor = editor
    editor.isUnfinished = { [unowned prompt] in prompt.isUnfinished($0) }
    editor.joins = { [unowned prompt] in prompt.joins($0, $1) }
    editor.complete = { [unowned prompt] text, cursor in
      prompt.complete(text, cursor: cursor).map { LineCompletion(start: $0.start, candidates: $0.candidates) }
    }
    prompt.redirectOutput { [unowned self] in write($0) }
    sizes = try? loop.onSignal([SIGWINCH]) { [unowned self] _ in
      if live == nil { editor.resize() } else { drawLive() }
    }
    watchStops()
  }

  /// Restores the terminal at once; may be called on any thread.
  var restoration: @Sendable () -> Void {
    let settings = editor?.settings
    return { settings?.restore() }
  }

  // MARK: Input

  func read() {
    guard let editor, !editor.isActive else { return }
    endRow()
    do {
      watch = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in receive() }
    } catch {
      return prompt.endInput()
    }
    // Keys that were typed early may submit a block at once.
    editor.begin()
  }

  func receive(block text: String) {
    rest()
    prompt.receive(PromptBlock(text: text))
  }

  func inputHasEnded() {
    rest()
    prompt.endInput()
  }

  func warn(_ message: String) { Terminal.log(.warn, message, []) }

  func interrupt() { if editor?.isActive == true { editor?.interrupt() } else { read() } }

  func frontIsCancelled() {
    // The terminal has shown `^C`.
    Terminal.draw("\n", keeping: nil)
    openRow = nil
  }

  func close() {
    sizes?.cancel()
    stops?.cancel()
    endKeys()
    editor?.rest()
    rest()
  }

  private func rest() {
    watch?.cancel()
    watch = nil
    guard !unfinished.isEmpty else { return }
    Terminal.write(String(decoding: unfinished, as: UTF8.self))
    unfinished = []
    openRow = prompt.linesRead
  }

  private func receive() {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
    editor?.receive(Array(bytes[..<max(0, count)]))
  }

  private func watchStops() { stops = try? loop.onSignal([SIGTSTP]) { [unowned self] _ in stop() } }

  /// Stops the process as Ctrl-Z does, with the terminal's own settings; returns when it is continued, or at once where
  /// no shell could continue it.
  private func stop() {
    if live != nil { editor?.setKeys(false) }
    editor?.suspend()
    // Without the watch, the signal has its usual action; a parent may have had it blocked.
    stops?.cancel()
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    kill(0, SIGTSTP)
    watchStops()
    editor?.resume()
    guard live != nil else { return }
    live?.rows = []
    editor?.setKeys(true)
    drawLive()
  }

  // MARK: The live view

  func beginKeys(_ onKey: @escaping () -> Void) -> Bool {
    guard let editor, !editor.isActive, live == nil else { return false }
    let watch = try? loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
      if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
      self.editor?.receiveBehindKey(Array(bytes[..<max(0, count)]))
      live?.onKey()
    }
    guard let watch else { return false }
    editor.setKeys(true)
    live = (onKey, watch, [], { _, _ in [] })
    return true
  }

  func endKeys() {
    guard let live else { return }
    self.live = nil
    live.watch.cancel()
    Terminal.draw(live.rows.isEmpty ? "" : "\r\n", keeping: nil)
    editor?.setKeys(false)
  }

  func show(_ lines: @escaping (_ columns: Int, _ rows: Int) -> [String]) {
    live?.lines = lines
    drawLive()
  }

  private func drawLive() {
    guard let live else { return }
    let size = Terminal.size
    let rows = live.lines(size.columns - 1, size.rows - 1)
    let erase = { (rows: [String]) -> String in
      // A terminal that has become narrower has wrapped rows.
      let above = rows.reduce(0) { $0 + max(1, ($1.columns + size.columns - 1) / size.columns) } - 1
      return "\r" + (above > 0 ? "\u{1B}[\(above)A" : "") + "\u{1B}[J"
    }
    let text = rows.joined(separator: "\r\n")
    self.live?.rows = rows
    Terminal.draw(
      (live.rows.isEmpty ? "" : erase(live.rows)) + text,
      keeping: Terminal.Drawn(erase: erase(rows), draw: text))
  }

  // MARK: Output

  var size: (columns: Int, rows: Int) { Terminal.size }

  func write(_ sequence: String, keeping frame: (erase: String, draw: String)?) {
    Terminal.draw(sequence, keeping: frame.map { Terminal.Drawn(erase: $0.erase, draw: $0.draw) })
  }

  func print(_ lines: String) { Terminal.print(lines) }

  /// Writes output of the script: unchanged while a routine is in the foreground, else in whole lines above
  /// the block.
  private func write(_ bytes: [UInt8]) {
    guard editor?.isActive == true else {
      if let last = bytes.last { openRow = last == UInt8(ascii: "\n") ? nil : prompt.linesRead }
      return Terminal.write(String(decoding: bytes, as: UTF8.self))
    }
    unfinished += bytes
    guard let end = unfinished.lastIndex(of: UInt8(ascii: "\n")) else { return }
    Terminal.write(String(decoding: unfinished[...end], as: UTF8.self))
    unfinished.removeFirst(end + 1)
  }

  /// Shows a line that the script printed.
  func printLine(_ line: String) {
    let start = String(decoding: unfinished, as: UTF8.self)
    unfinished = []
    openRow = nil
    Terminal.print(start + line)
  }

  /// Ends a row that output has left open, before whole lines follow.
  func endRow() {
    if openRow == prompt.linesRead, editor?.isActive != true { Terminal.draw("\n", keeping: nil) }
    openRow = nil
  }
}
