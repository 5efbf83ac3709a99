public import EventLoop

/// A failure between a file and a loudspeaker. Matched by `kind` in Swift and by `code` in scripts.
public typealias AudioError = Failure<AudioErrorKind>

/// The kinds of failure between a file and a loudspeaker; the raw value is the stable code, as scripts see
/// it.
public enum AudioErrorKind: String, FailureKind {
  /// The file does not exist, is a folder, or may not be opened.
  case notFound = "audio.not_found"
  /// The bytes are not audio that can be decoded, or the medium failed while reading or writing.
  case unreadable = "audio.unreadable"
  /// The bytes are audio of a kind, or the call is one, that is not supported.
  case unsupported = "audio.unsupported"
  /// The output device is missing, or the target is not writable.
  case noOutput = "audio.no_output"
}

extension AudioError {
  /// The error of a file at `path` that can't be opened; `cause` gives the reason in words: "no such file or
  /// directory".
  public static func notFound(_ path: String, cause: String, hint: String? = nil) -> AudioError {
    AudioError(
      .notFound, "cannot open \(path): \(cause)", hint: hint,
      facts: [ErrorFact("path", .string(path)), ErrorFact("cause", .string(cause))])
  }

  /// The error of a `source` that holds something other than decodable audio.
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

  /// The error of a file at `path` whose file system has not answered.
  /// - Parameter action: the refused operation: "open", "read".
  public static func unanswered(_ path: String, to action: String = "open") -> AudioError {
    let (cause, hint) = FileDeadline.silence(of: path)
    return AudioError(
      .unreadable, "cannot \(action) \(path): \(cause)", hint: hint,
      facts: [ErrorFact("path", .string(path)), ErrorFact("cause", .string(cause))])
  }

  /// The error of a `target` that can't be written; `cause` gives the reason in words: "no space left on
  /// device".
  public static func noOutput(_ target: String, cause: String, hint: String? = nil) -> AudioError {
    AudioError(
      .noOutput, "cannot write audio to \(target): \(cause)", hint: hint,
      facts: [ErrorFact("path", .string(target)), ErrorFact("cause", .string(cause))])
  }
}
