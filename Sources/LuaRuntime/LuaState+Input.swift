internal import CLuaShim

extension LuaState {
  /// Replaces what reads standard input in Lua's `io`, the methods of its file too. Both are called with formats;
  /// `lines` returns an iterator.
  public func replaceInput(read: LuaFunction, lines: LuaFunction) {
    shim_replace_input(main.L, box(read), box(lines))
  }

  /// Replaces `io.open` and `io.lines` where the path is that of a FIFO, a socket or a device, which may block. After
  /// `replaceInput`.
  public func replaceFiles(open: LuaFunction, lines: LuaFunction) {
    shim_replace_files(main.L, box(open), box(lines))
  }

  /// Has what scripts write to standard output through Lua's `io` come as lines, as what they print does.
  public func replaceOutput() {
    let write = LuaFunction("write") { call in
      call.state.write(try call.bytes(1))
      return .none
    }
    shim_replace_output(main.L, box(write))
  }

  /// A line that does not end is handed over at this length.
  private static let longestLine = 65_536

  private func write(_ bytes: [UInt8]) {
    unfinishedLine += bytes
    guard unfinishedLine.count > Self.longestLine || bytes.contains(UInt8(ascii: "\n")) else { return }
    var lines = unfinishedLine.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    unfinishedLine = Array(lines.removeLast())
    for line in lines { onPrint(String(decoding: line, as: UTF8.self)) }
    if unfinishedLine.count > Self.longestLine { finishLine() }
  }

  /// Hands over what was written without a line end.
  public func finishLine() {
    if !unfinishedLine.isEmpty { printLine("") }
  }

  /// Hands over a line that was printed, behind what was written without a line end.
  func printLine(_ text: String) {
    let start = String(decoding: unfinishedLine, as: UTF8.self)
    unfinishedLine = []
    onPrint(start + text)
  }
}
