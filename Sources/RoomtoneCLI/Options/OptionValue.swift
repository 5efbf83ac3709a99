internal import EventLoop
internal import Scheduling
internal import SpeakerKit

/// A checked value of an option.
enum OptionValue: Sendable, Equatable {
  case flag
  case text(String)
  case duration(Duration)
  case dateTime(LocalDateTime)
  case number(UInt64)
  case output(Output)
}

extension OptionSpec {
  /// Parses the text of this option's value.
  /// - Returns: the value, or the fault of the text, to be printed after the option's name.
  func read(_ text: String) -> Result<OptionValue, UnreadableValue> {
    if text.isEmpty && kind != .code { return .failure("needs a value that is not empty") }
    do {
      switch kind {
      case .flag: return .failure("takes no value")
      case .text, .code, .file, .folder, .timeZone: return .success(.text(text))
      case .duration: return .success(.duration(try DurationText.parse(text)))
      case .dateTime: return .success(.dateTime(try Self.dateTime(text)))
      case .moment:
        if text.utf8.prefix(5).last == UInt8(ascii: "-") {
          _ = try LocalDateTime(parsing: text)
        } else {
          _ = try TimeOfDay(parsing: text)
        }
        return .success(.text(text))
      case .output: return .success(.output(try Output(parsing: text)))
      case .number(let range):
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPlain, let number = UInt64(text), range.contains(number) else {
          return .failure(
            "\(quoted(text)) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return .success(.number(number))
      case .choice(let words):
        if words.contains(text) { return .success(.text(text)) }
        if let meant = probable(text, among: words) {
          return .failure("\(quoted(text)) is not known; did you mean '\(meant)'?")
        }
        return .failure("\(quoted(text)) is not known; known: \(words.joined(separator: ", "))")
      }
    } catch let error as any CodedError {
      return .failure(UnreadableValue(reason: error.message + (error.hint.map { "; \($0)" } ?? "")))
    } catch {
      return .failure(UnreadableValue(reason: "\(quoted(text)) cannot be read: \(error)"))
    }
  }
}

extension OptionSpec {
  /// Parses a date and time, a date alone, which means its first moment, or `now`.
  private static func dateTime(_ text: String) throws(ScheduleError) -> LocalDateTime {
    if text == "now" { return ProcessZone().local(Timestamp.now) }
    let isDate = text.utf8.count == 10 && text.utf8.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) }
    return try LocalDateTime(parsing: isDate ? text + "T00:00" : text, shownAs: text)
  }
}

/// The fault of a text that is not a value of the option.
struct UnreadableValue: Error, ExpressibleByStringInterpolation {
  let reason: String

  init(reason: String) { self.reason = reason }
  init(stringLiteral reason: String) { self.reason = reason }
}
