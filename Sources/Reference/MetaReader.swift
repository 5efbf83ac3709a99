/// Reads the definitions of `stdlib/meta` line by line: LuaCATS, and the module's text in the header of a file.
struct MetaReader {
  private(set) var modules: [ReferenceModule] = []
  private(set) var topics: [ReferenceModule] = []
  private(set) var functions: [ReferenceFunction] = []
  private(set) var aliases: [ReferenceAlias] = []
  private(set) var values: [ReferenceValue] = []
  private(set) var problems: [ReferenceProblem] = []
  private var drafts: [ClassDraft] = []

  private struct ClassDraft {
    let name: String
    let parent: String?
    let text: [ReferenceBlock]
    let location: String
    var fields: [ReferenceField] = []
    var isObject = false
  }

  /// Classes of objects and tables, without the tables of the modules.
  var classes: [ReferenceClass] {
    drafts.filter { !moduleTables.contains($0.name) }.map {
      ReferenceClass(
        name: $0.name, parent: $0.parent, text: $0.text, fields: $0.fields, isObject: $0.isObject,
        location: $0.location)
    }
  }
  /// Names of the classes that stand for modules: `speakerlib`, by the module's name.
  private(set) var moduleTables: Set<String> = []

  // The file that is read.
  private var file = ""
  private var number = 0
  private var module: String?
  private var topic: String?
  private var words: [String] = []
  private var owners: [Substring: String] = [:]
  // The comment that is read.
  private var text: [Substring] = []
  private var parameters: [ReferenceParameter] = []
  private var returns: [ReferenceReturn] = []
  private var overloads: [ReferenceSignature] = []
  private var (suspends, deprecated): (Bool, String?) = (false, nil)
  private var valueType: ReferenceType?
  private var last = Tag.none

  /// The tag to which further lines of a comment belong.
  private enum Tag { case none, table(Int), alias, other }

  private var location: String { "\(file):\(number)" }

  /// Reads a file.
  mutating func read(_ content: String, file: String) {
    (self.file, number, module, topic, owners, words) = (file, 0, nil, nil, [:], [])
    var header: [Substring] = []
    var isHeader = true
    for bytes in content.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let line = Substring(bytes)
      number += 1
      if line.begins(with: "---@meta") {
        let name = line.dropFirst(8).trimmed
        if name != "_" { module = String(name) }
      } else if line.begins(with: "---@topic") {
        topic = String(line.dropFirst(9).trimmed)
      } else if line.begins(with: "---@search") {
        words += line.dropFirst(10).split(separator: " ").map { $0.lowercased() }
      } else if line.begins(with: "---") {
        isHeader = false
        comment(line.dropFirst(3))
      } else if line.begins(with: "--") {
        if isHeader { header.append(line.dropFirst(line.begins(with: "-- ") ? 3 : 2)) }
      } else {
        if !line.trimmed.isEmpty { isHeader = false }
        code(line)
        clear()
      }
    }
    let blocks = Self.blocks(header.filter { !$0.hasPrefix("luacheck:") }, indent: 2)
    guard let name = topic ?? module else { return }
    let page = ReferenceModule(
      name: name, summary: Self.firstSentence(blocks.lazy.compactMap(\.paragraph).first ?? ""), text: blocks,
      words: words,
      raises: Self.raises(blocks, "Every function raises").flatMap(\.codes),
      raisesAs: Self.raises(blocks, "Every function raises").flatMap(\.functions),
      raisesOnWait: Self.raises(blocks, "Every function that waits").flatMap(\.codes), location: "\(file):1")
    if topic == nil { modules.append(page) } else { topics.append(page) }
  }

  // MARK: Comments

  private mutating func comment(_ line: Substring) {
    guard line.begins(with: "@") || line.begins(with: "|") else {
      // A further line of a field begins with a space; any other text describes the next declaration.
      if case .table(let index) = last, line.begins(with: " "), !line.begins(with: "    "),
        let field = drafts[index].fields.popLast()
      {
        drafts[index].fields.append(
          ReferenceField(
            name: field.name, type: field.type, isOptional: field.isOptional,
            text: field.text + " " + String(line.trimmed)))
        return
      }
      if case .none = last {} else { clear() }
      text.append(line)
      return
    }
    let (tag, rest) = line.firstWord
    switch tag {
    case "@class": table(rest)
    case "@field": field(rest)
    case "@alias":
      let (name, type) = rest.firstWord
      aliases.append(
        ReferenceAlias(
          name: String(name), type: ReferenceType(type), text: Self.blocks(text, indent: 4),
          values: ReferenceType(type).literals.map { ($0, "") }, location: location))
      text = []
      last = .alias
    case "|": alternative(rest)
    case "@param":
      let (name, type) = rest.firstWord
      let (read, described) = ReferenceType.read(type)
      let isOptional = name.hasSuffix("?")
      parameters.append(
        ReferenceParameter(
          name: String(isOptional ? name.dropLast() : name), type: read,
          isOptional: isOptional || read.isOptional, text: String(described)))
      last = .other
    case "@return":
      let (type, rest) = ReferenceType.read(rest)
      let (name, described) = rest.firstWord
      returns.append(ReferenceReturn(type: type, name: String(name), text: String(described)))
      last = .other
    case "@overload":
      if let signature = ReferenceType(rest).signature {
        overloads.append(signature)
      } else {
        problem("@overload is not a function type")
      }
      last = .other
    case "@async":
      suspends = true
      last = .other
    case "@deprecated":
      deprecated = String(rest)
      last = .other
    case "@type":
      valueType = ReferenceType.read(rest).type
      last = .other
    case "@generic", "@operator": last = .other
    default: problem("unknown tag \(tag)")
    }
  }

  private mutating func table(_ rest: Substring) {
    let (name, described) = rest.firstWord
    let isChild = name.hasSuffix(":")
    drafts.append(
      ClassDraft(
        name: String(isChild ? name.dropLast() : name),
        parent: isChild || described.begins(with: ": ")
          ? String(described.drop { $0 == ":" || $0 == " " }) : nil,
        text: Self.blocks(text, indent: 4), location: location))
    text = []
    last = .table(drafts.count - 1)
  }

  private mutating func field(_ rest: Substring) {
    guard case .table(let index) = last else { return problem("@field without @class") }
    let (name, type) = rest.firstWord
    let (read, described) = ReferenceType.read(type)
    let isOptional = name.hasSuffix("?")
    drafts[index].fields.append(
      ReferenceField(
        name: String(isOptional ? name.dropLast() : name), type: read,
        isOptional: isOptional || read.isOptional, text: String(described)))
  }

  /// A value of an alias: `| "mono" # mean of both channels.`
  private mutating func alternative(_ rest: Substring) {
    guard case .alias = last, let alias = aliases.popLast() else { return problem("| without @alias") }
    let (type, described) = ReferenceType.read(rest)
    let meaning = described.begins(with: "#") ? described.dropFirst().trimmed : described
    aliases.append(
      ReferenceAlias(
        name: alias.name,
        type: ReferenceType(alias.type.text.isEmpty ? type.text : alias.type.text + "|" + type.text),
        text: alias.text, values: alias.values + type.literals.map { ($0, String(meaning)) },
        location: alias.location))
  }

  // MARK: Code

  private mutating func code(_ line: Substring) {
    if line.begins(with: "function ") {
      function(line.dropFirst(9))
    } else if line.begins(with: "local ") {
      guard case .table(let index) = last else { return }
      let name = line.dropFirst(6).firstWord.word
      if String(name) == module, drafts[index].name == "\(name)lib" {
        owners[name] = String(name)
        moduleTables.insert(drafts[index].name)
      } else {
        owners[name] = drafts[index].name
        drafts[index].isObject = true
      }
    } else if !text.isEmpty {
      guard let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) else {
        return problem("a description of nothing: \(text[0])")
      }
      let name = line[..<equals].trimmed
      values.append(
        ReferenceValue(
          name: String(name), owner: Self.owner(name), text: Self.blocks(text, indent: 4),
          value: String(line[line.utf8.index(after: equals)...].trimmed), type: valueType,
          location: location))
    }
  }

  private mutating func function(_ line: Substring) {
    guard let open = line.utf8.firstIndex(of: UInt8(ascii: "(")) else { return problem("no parameters") }
    var name = String(line[..<open])
    let isMethod = name.utf8.contains(UInt8(ascii: ":"))
    if let mark = name.utf8.firstIndex(where: { $0 == UInt8(ascii: ":") }),
      let owner = owners[name[..<mark]]
    {
      name = owner + name[mark...]
    }
    let inside = line.utf8[line.utf8.index(after: open)...].prefix { $0 != UInt8(ascii: ")") }
    let head = inside.split(separator: UInt8(ascii: ",")).map { String(Substring($0).trimmed) }
    if head != parameters.map(\.name) {
      problem("\(name) has the parameters \(head), its description \(parameters.map(\.name))")
    }
    if text.isEmpty { problem("\(name) has no description") }
    var (described, sentence): ([ReferenceBlock], String) = ([], "")
    for block in Self.blocks(text, indent: 4) {
      guard case .paragraph(let paragraph) = block, let start = RaisesSentence.start(in: paragraph) else {
        described.append(block)
        continue
      }
      let before = paragraph[..<start].trimmed
      if !before.isEmpty { described.append(.paragraph(String(before))) }
      sentence += (sentence.isEmpty ? "" : " ") + paragraph[start...]
    }
    let raises = RaisesSentence(sentence)
    functions.append(
      ReferenceFunction(
        name: name, owner: Self.owner(name[...]), isMethod: isMethod, text: described, parameters: parameters,
        returns: returns, overloads: overloads, suspends: suspends, raisesText: sentence,
        raises: raises.codes,
        raisesAs: raises.functions, deprecated: deprecated, isOfPrompt: topic == "prompt", location: location)
    )
  }

  private mutating func clear() {
    (text, parameters, returns, overloads, suspends, deprecated) = ([], [], [], [], false, nil)
    valueType = nil
    last = .none
  }

  private mutating func problem(_ message: String) {
    problems.append(ReferenceProblem(location: location, message: message))
  }

  // MARK: Texts

  /// The part of a name before its last mark.
  private static func owner(_ name: Substring) -> String {
    let mark = name.utf8.lastIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }
    return mark.map { String(name[..<$0]) } ?? ""
  }

  /// Returns paragraphs and lines of code; the latter begin with `indent` spaces.
  private static func blocks(_ lines: [Substring], indent: Int) -> [ReferenceBlock] {
    let space = String(repeating: " ", count: indent)
    var blocks: [ReferenceBlock] = []
    var isOpen = false
    for line in lines {
      if line.trimmed.isEmpty {
        isOpen = false
      } else if line.begins(with: space) {
        let code = String(line.dropFirst(indent))
        if case .code(let lines) = blocks.last {
          blocks[blocks.count - 1] = .code(lines + (isOpen ? [] : [""]) + [code])
        } else {
          blocks.append(.code([code]))
        }
        isOpen = true
      } else if isOpen, case .paragraph(let begun) = blocks.last {
        blocks[blocks.count - 1] = .paragraph(begun + " " + line.trimmed)
      } else {
        blocks.append(.paragraph(String(line.trimmed)))
        isOpen = true
      }
    }
    return blocks
  }

  /// The text up to the first full stop before a space, or the end.
  static func firstSentence(_ text: String) -> String {
    let bytes = Array(text.utf8)
    for index in bytes.indices.dropLast()
    where bytes[index] == UInt8(ascii: ".") && bytes[index + 1] == UInt8(ascii: " ") {
      return String(decoding: bytes[...index], as: UTF8.self)
    }
    return text
  }

  /// The codes in the paragraphs of a header that begin with `beginning`.
  private static func raises(_ blocks: [ReferenceBlock], _ beginning: String) -> [RaisesSentence] {
    blocks.compactMap(\.paragraph).filter { $0.hasPrefix(beginning) }.map { RaisesSentence($0) }
  }
}
