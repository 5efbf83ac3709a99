public import EventLoop

/// A failure between a file and a loudspeaker.
///
/// Matched by `reason` in Swift and by `code` in scripts.
public struct AudioError: CodedError, Equatable {
  /// The kinds of failure; the raw value is the code that scripts see.
  public enum Reason: String, Sendable {
    /// The file does not exist, is a folder, or may not be opened.
    case notFound = "audio.not_found"
    /// The bytes are not audio that can be decoded, or the medium failed while reading or writing.
    case unreadable = "audio.unreadable"
    /// The bytes are audio of a kind, or the call is one, that is not supported.
    case unsupported = "audio.unsupported"
    /// The output device is missing, or the target is not writable.
    case noOutput = "audio.no_output"
  }

  /// The kind of failure.
  public let reason: Reason
  /// The failure and its location: one line without a full stop.
  public let message: String
  /// The advice to the user; nil when there is none.
  public let hint: String?
  /// Structured details for programs, in the order in which they are shown.
  public let facts: [ErrorFact]

  /// The reason as scripts see it.
  public var code: String { reason.rawValue }

  /// An error of `reason`.
  /// - Parameters:
  ///   - message: one line without a full stop at its end.
  ///   - hint: the advice to the user.
  ///   - facts: for programs, in the order in which they are shown.
  public init(_ reason: Reason, _ message: String, hint: String? = nil, facts: [ErrorFact] = []) {
    self.reason = reason
    self.message = message
    self.hint = hint
    self.facts = facts
  }
}

extension AudioError {
  /// The error of a file at `path` that can't be opened; `cause` gives the reason in words: "no such file or
  /// directory".
  public static func notFound(_ path: String, cause: String, hint: String? = nil) -> AudioError {
    AudioError(
      .notFound, "cannot open \(path): \(cause)", hint: hint,
      facts: [ErrorFact("path", .string(path)), ErrorFact("cause", .string(cause))])
  }

  /// The error of a `source` that holds something else than decodable audio.
  /// - Parameters:
  ///   - found: the content found there, in words: "text", "a damaged WAV header".
  ///   - byte: the offset of `found` from the start of the source.
  public static func unreadable(
    _ source: String, found: String, atByte byte: Int, hint: String? = nil
  ) -> AudioError {
    AudioError(
      .unreadable, "cannot decode \(source): found \(found) at byte \(byte)", hint: hint,
      facts: [
        ErrorFact("path", .string(source)), ErrorFact("found", .string(found)),
        ErrorFact("byte", .int(byte)),
      ])
  }

  /// The error of a `target` that can't be written; `cause` gives the reason in words: "no space left on
  /// device".
  public static func noOutput(_ target: String, cause: String, hint: String? = nil) -> AudioError {
    AudioError(
      .noOutput, "cannot write audio to \(target): \(cause)", hint: hint,
      facts: [ErrorFact("path", .string(target)), ErrorFact("cause", .string(cause))])
  }
}
