/// Why bytes are not the payload they should be, or a payload can't be written.
enum PayloadError: Error, Equatable {
  /// There are fewer bytes than the fields need.
  case short(needed: Int, left: Int)
  /// There are bytes behind the last field.
  case leftover(Int)
  /// A field or the payload is longer than its length can tell.
  case long(Int, limit: Int)
  /// A field has a value that means nothing.
  case value(Int)
  /// A text is not UTF-8.
  case text

  /// In words, for messages.
  var meaning: String {
    switch self {
    case .short(let needed, let left): "\(needed) bytes are needed and \(left) are left"
    case .leftover(let count): "\(count) bytes are left over"
    case .long(let count, let limit): "\(count) bytes are more than \(limit)"
    case .value(let value): "the value \(value) means nothing"
    case .text: "a text is not UTF-8"
    }
  }
}
