internal import EventLoop

/// Parses the text of a template.
struct TemplateReader {
  private let text: String
  private var rest: Substring

  /// The conversions of strftime(3) that produce one line of text.
  private static let conversions = "aAbBCdDeFgGhHIjklmMpPrRSTuUVwWyY%"

  init(_ text: String) {
    self.text = text
    rest = text[...]
  }

  mutating func read() throws(TemplateError) -> [RecordingTemplate.Part] {
    if let control = text.unicodeScalars.first(where: { $0.properties.generalCategory == .control }) {
      throw error("has a control character (\(String(control).onOneLine)) in it", hint: nil)
    }
    var (parts, plain): ([RecordingTemplate.Part], String) = ([], "")
    while let next = rest.popFirst() {
      if (next == "{" || next == "}"), rest.first == next {
        rest.removeFirst()
        plain.append(next)
      } else if next == "{" {
        if !plain.isEmpty { parts.append(.text(plain)) }
        plain = ""
        parts.append(try field())
      } else if next == "}" {
        throw error("has a } without a {", hint: "write }} for a brace")
      } else {
        plain.append(next)
      }
    }
    if !plain.isEmpty { parts.append(.text(plain)) }
    guard !parts.isEmpty else { throw error("is empty", hint: "write it as in \"{station} {start}.{ext}\"") }
    if case .text(let end) = parts.last, end.hasSuffix("/") {
      throw error("ends with a folder", hint: "write a name after it, as in \"{start}.{ext}\"")
    }
    return parts
  }

  private mutating func field() throws(TemplateError) -> RecordingTemplate.Part {
    guard let end = rest.firstIndex(of: "}") else {
      throw error("has a { without a }", hint: "write {{ for a brace")
    }
    let inside = rest[..<end]
    rest = rest[rest.index(after: end)...]
    let name = String(inside.prefix { $0 != ":" })
    guard let field = RecordingTemplate.Field(rawValue: name) else {
      let known = RecordingTemplate.Field.allCases.map(\.rawValue)
      let hint =
        nearest(name, among: known).map { "did you mean {\($0)}?" }
        ?? "known: \(known.map { "{\($0)}" }.joined(separator: ", "))"
      throw error("has an unknown field {\(name)}", hint: hint)
    }
    guard inside.count > name.count else { return .field(field) }
    let format = String(inside.dropFirst(name.count + 1))
    guard field == .start else {
      throw error("gives {\(name)} a format", hint: "only {start} has one, as in {start:%Y-%m-%d}")
    }
    try check(format)
    return .start(format: format)
  }

  private func check(_ format: String) throws(TemplateError) {
    let example = "write it as in {start:%Y-%m-%d %H.%M}"
    guard !format.isEmpty, format.utf8.count <= 200 else {
      throw error("has no usable time format", hint: example)
    }
    var rest = format[...]
    while let percent = rest.firstIndex(of: "%") {
      rest = rest[rest.index(after: percent)...]
      guard let conversion = rest.popFirst(), Self.conversions.contains(conversion) else {
        throw error("has a time format that strftime does not know: \(format)", hint: example)
      }
    }
  }

  private func error(_ what: String, hint: String?) -> TemplateError {
    TemplateError(.argument, "the template \"\(text.onOneLine)\" \(what)", hint: hint)
  }
}
