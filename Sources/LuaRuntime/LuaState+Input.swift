internal import CLuaShim

extension LuaState {
  /// Replaces what reads standard input in Lua's `io`, the methods of its file too. Both are called with formats;
  /// `lines` returns an iterator.
  public func replaceInput(read: LuaFunction, lines: LuaFunction) {
    shim_replace_input(main.L, box(read), box(lines))
  }
}
