internal import CLuaShim

extension LuaState {
  /// Replaces the functions of Lua's `io` that read standard input, and the methods of its file. Both
  /// replacements are called with formats; `lines` returns an iterator.
  public func replaceInput(read: LuaFunction, lines: LuaFunction) {
    shim_replace_input(main.L, box(read), box(lines))
  }

  /// Replaces `io.open` and `io.lines` for paths of FIFOs, sockets and devices, which may block. To be called
  /// after `replaceInput`.
  public func replaceFiles(open: LuaFunction, lines: LuaFunction) {
    shim_replace_files(main.L, box(open), box(lines))
  }

  /// Makes functions that open a file by its path open another file.
  /// - Parameter resolve: called with the path and the mode of `io.open`, nil for `"r"`; returns the path to open, or the
  ///   results of a failure of `io.open`.
  public func layerFiles(_ resolve: LuaFunction) { shim_layer_files(main.L, box(resolve)) }

  /// Redirects standard output of Lua's `io`: line by line to `onPrint`, or unchanged to `receive`.
  public func replaceOutput(_ receive: (([UInt8]) -> Void)? = nil) {
    let write = LuaFunction("write") { call in
      let bytes = try call.bytes(1)
      if let receive { receive(bytes) } else { call.state.write(bytes) }
      return .none
    }
    shim_replace_output(main.L, box(write))
  }

  /// The length at which an unfinished line is emitted.
  private static let longestLine = 65_536

  private func write(_ bytes: [UInt8]) {
    unfinishedLine += bytes
    guard unfinishedLine.count > Self.longestLine || bytes.contains(UInt8(ascii: "\n")) else { return }
    var lines = unfinishedLine.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    unfinishedLine = Array(lines.removeLast())
    for line in lines { onPrint(String(decoding: line, as: UTF8.self)) }
    if unfinishedLine.count > Self.longestLine { finishLine() }
  }

  /// Emits output written without a line end.
  public func finishLine() {
    if !unfinishedLine.isEmpty { printLine("") }
  }

  /// Emits a printed line, after output that was written without a line end.
  func printLine(_ text: String) {
    let start = String(decoding: unfinishedLine, as: UTF8.self)
    unfinishedLine = []
    onPrint(start + text)
  }
}
