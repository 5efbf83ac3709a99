import TestTraits
import Testing

@testable import StreamCore

@Suite("Tags that would keep the parser busy", .waiting, .tags(.stream, .hostile, .titles))
struct TagScanTests {
  private static let many = (0..<80_000).map { "a\($0)" }

  @Test(
    "are not read, whatever the attributes look like",
    arguments: [
      "<playlist \(many.joined(separator: "=\"\" "))>", "<asx \(many.joined(separator: " "))>",
      "<asx \(many.joined(separator: "/"))>", "<asx \(many.prefix(70_000).joined(separator: "='>' "))>",
      "<playlist \(many.prefix(70_000).joined(separator: "=\"<>\""))=\"\">",
      "<playlist \(many.prefix(70_000).joined(separator: " = '>' "))>",
    ])
  func crowded(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(bytes.count <= 1 << 20)
    for isLoose in [false, true] { #expect(XMLDocument(bytes, isLoose: isLoose) == nil) }
  }

  @Test(
    "are distinguished from tags with few attributes, long values, and text",
    arguments: [
      "<a b=\"1>2\" c='\"'>text a b c</a>", "<a b = \"\(String(repeating: "x ", count: 30_000))\"/>",
      "<a>\(String(repeating: "word ", count: 2_000))</a>", "<a><!-- it's --><b c=\"d\"/></a>",
      "<a>\(String(repeating: "<b c='d' e='f'/>", count: 2_000))</a>",
    ])
  func usual(_ text: String) {
    #expect(!TagScan.isCrowded(Array(text.utf8)))
    #expect(XMLDocument(Array(text.utf8))?.root.name == "a")
  }
}
