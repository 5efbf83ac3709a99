public import EventLoop

/// What goes wrong between a file and a loudspeaker.
///
/// Matched by `reason` in Swift and by `code` in scripts.
public struct AudioError: CodedError, Equatable {
  /// The kinds of failure; the raw value is the code that scripts see.
  public enum Reason: String, Sendable {
    /// There is no such file, it is a folder, or it may not be opened.
    case notFound = "audio.not_found"
    /// The bytes are not audio that can be decoded, or the medium failed while reading or writing.
    case unreadable = "audio.unreadable"
    /// The bytes are audio of a kind, or the call is one, that is not supported.
    case unsupported = "audio.unsupported"
    /// There is nothing to play through, or nowhere to write to.
    case noOutput = "audio.no_output"
  }

  /// The kind of failure.
  public let reason: Reason
  /// What failed and where.
  public let message: String
  /// What to do about it.
  public let hint: String?
  /// For programs.
  public let facts: [ErrorFact]

  /// The reason as scripts see it.
  public var code: String { reason.rawValue }

  /// An error of `reason`.
  /// - Parameters:
  ///   - message: one line without a full stop at its end.
  ///   - hint: what to do about it.
  ///   - facts: for programs, in the order in which they are shown.
  public init(_ reason: Reason, _ message: String, hint: String? = nil, facts: [ErrorFact] = []) {
    self.reason = reason
    self.message = message
    self.hint = hint
    self.facts = facts
  }
}

extension AudioError {
  /// The file at `path` can't be opened; `cause` says why, in words: "no such file or directory".
  public static func notFound(_ path: String, cause: String, hint: String? = nil) -> AudioError {
    AudioError(
      .notFound, "cannot open \(path): \(cause)", hint: hint,
      facts: [ErrorFact("path", .string(path)), ErrorFact("cause", .string(cause))])
  }

  /// `source` holds something else than decodable audio.
  /// - Parameters:
  ///   - found: what stands there, in words: "text", "a damaged WAV header".
  ///   - byte: where, counted from the start of the source.
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

  /// Nothing can be written to `target`; `cause` says why, in words: "no space left on device".
  public static func noOutput(_ target: String, cause: String, hint: String? = nil) -> AudioError {
    AudioError(
      .noOutput, "cannot write audio to \(target): \(cause)", hint: hint,
      facts: [ErrorFact("path", .string(target)), ErrorFact("cause", .string(cause))])
  }
}
