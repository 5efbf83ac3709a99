import EventLoop
import TestTraits
import Testing

@testable import LineEditor

@Suite("Rows of a line on the screen", .tags(.prompt)) struct LineImageTests {
  private func image(_ buffer: EditBuffer, columns: Int = 10, height: Int = 24) -> LineImage {
    LineImage(buffer, prompts: ("> ", ">> "), columns: columns, height: height)
  }

  private func expect(
    _ buffer: EditBuffer, columns: Int = 10, height: Int = 24, _ rows: [String], _ row: Int, _ column: Int,
    at place: SourceLocation = #_sourceLocation
  ) {
    let image = image(buffer, columns: columns, height: height)
    #expect(image.rows == rows, sourceLocation: place)
    #expect(image.cursor == (row, column), sourceLocation: place)
  }

  @Test("prompts stand before the first line and the further ones")
  func prompts() {
    expect(EditBuffer(""), ["> "], 0, 2)
    expect(EditBuffer("do\n x\n"), ["> do", ">>  x", ">> "], 2, 3)
    expect(EditBuffer("do\nx", cursor: 2), ["> do", ">> x"], 0, 4)
    expect(EditBuffer("do\nx", cursor: 3), ["> do", ">> x"], 1, 3)
  }

  @Test("a line that fills a row leaves the cursor at the start of the next")
  func wraps() {
    expect(EditBuffer("1234567"), ["> 1234567"], 0, 9)
    expect(EditBuffer("12345678"), ["> 12345678", ""], 1, 0)
    expect(EditBuffer("123456789"), ["> 12345678", "9"], 1, 1)
    expect(EditBuffer("123456789", cursor: 8), ["> 12345678", "9"], 1, 0)
    expect(EditBuffer("12345678\n9", cursor: 8), ["> 12345678", "", ">> 9"], 1, 0)
    expect(EditBuffer("12345678\n9"), ["> 12345678", ">> 9"], 1, 4)
  }

  @Test(
    "wide characters are not divided, marks take no column, and right-to-left text counts as it is stored")
  func widths() {
    expect(EditBuffer("1234567中"), ["> 1234567", "中"], 1, 2)
    expect(EditBuffer("中中", cursor: 1), ["> 中中"], 0, 4)
    expect(EditBuffer("e\u{301}x"), ["> e\u{301}x"], 0, 4)
    expect(EditBuffer("מטבח"), ["> מטבח"], 0, 6)
    expect(EditBuffer("a\u{202E}\u{7}"), ["> a\u{FFFD}^G"], 0, 6)
  }

  @Test("a block higher than the terminal is cut around the cursor")
  func high() {
    expect(EditBuffer("1\n2\n3\n4\n5"), height: 3, [">> 3", ">> 4", ">> 5"], 2, 4)
    expect(EditBuffer("1\n2\n3\n4\n5", cursor: 0), height: 3, ["> 1", ">> 2", ">> 3"], 0, 2)
  }

  @Test("erasing counts the rows that a narrower terminal makes of the old ones")
  func erasing() {
    let image = image(EditBuffer("12345678abcdefgh\nx"))
    #expect(image.rows == ["> 12345678", "abcdefgh", ">> x"])
    #expect(image.erasing(columns: 10) == "\r\u{1B}[2A\u{1B}[J")
    #expect(image.erasing(columns: 5) == "\r\u{1B}[4A\u{1B}[J")
    #expect(image.drawing == "> 12345678\r\nabcdefgh\r\n>> x\r\u{1B}[4C")
  }

  @Test("candidates are listed in columns that fit, and cut with a count")
  func list() {
    #expect(LineEditor.list(["alpha", "be", "gamma", "d"], (20, 24)) == "alpha  gamma\nbe     d")
    #expect(LineEditor.list((1...200).map { "speaker \($0)" }, (40, 10)).split(separator: "\n").count == 6)
    #expect(LineEditor.list((1...200).map { "speaker \($0)" }, (40, 10)).hasSuffix("… 185 more"))
    #expect(LineEditor.list(["中中中中中中", "b"], (12, 10)) == "中中中中…\nb")
  }
}
