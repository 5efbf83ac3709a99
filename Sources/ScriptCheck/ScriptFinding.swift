public import LuaSyntax

/// A mistake in a script.
public struct ScriptFinding: Sendable, Equatable {
  /// The kinds of mistakes; the raw value is the stable code.
  public enum Code: String, Sendable, CaseIterable {
    /// A text that is not Lua.
    case syntax = "check.syntax"
    /// A text that is too large or too complex to be checked.
    case limit = "check.limit"
    /// A global variable that nothing defines.
    case global = "check.global"
    /// A module that does not exist.
    case module = "check.module"
    /// A function, field, method, option or event that does not exist.
    case name = "check.name"
    /// A method called with a dot, or a function called with a colon.
    case call = "check.call"
    /// Too few or too many arguments.
    case arguments = "check.arguments"
    /// A value of a wrong type, or one outside of its range.
    case value = "check.value"
    /// A result that may be nil and is used without a test.
    case missing = "check.nil"
    /// A second job with the same name.
    case job = "check.job"
    /// A file that is not there.
    case file = "check.file"
    /// An invalid time, duration, line of cron, day or time zone.
    case time = "check.time"
    /// A speaker, a group, a station or a preset that does not exist.
    case house = "check.house"
    /// An assignment to a name that scripts can't assign.
    case assignment = "check.assignment"
    /// A look-up whose result is dropped.
    case unused = "check.unused"
    /// A call that suspends in a function that can't, or an endless loop without such a call.
    case suspension = "check.suspension"
    /// Statements that are never reached.
    case unreachable = "check.unreachable"
  }

  /// The position of the mistake.
  public let position: LuaPosition
  /// The kind of mistake.
  public let code: Code
  /// The complaint in one line without a full stop at its end, with the suggestion.
  public let message: String
}
