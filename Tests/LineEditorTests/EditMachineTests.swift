import TestTraits
import Testing

@testable import LineEditor

@Suite("The state of a typed line", .tags(.prompt)) struct EditMachineTests {
  private let history = [
    "speaker.devices()", "kitchen = speaker.device 'Kitchen'", "for i = 1, 2 do\n  print(i)\nend",
  ]

  @Test("the arrow up brings back entries, the newest first, as whole blocks; down returns to what was typed")
  func recall() {
    var machine = EditMachine()
    let draft = EditBuffer("1 +")
    #expect(machine.receive(.escape("[A"), draft, history: history) == [.show(EditBuffer(history[2]))])
    // At the block's last line, the arrow moves inside of it.
    #expect(
      machine.receive(.escape("[A"), EditBuffer(history[2]), history: history)
        == [.show(EditBuffer(history[2], cursor: 19))])
    let atTop = EditBuffer(history[2], cursor: 3)
    #expect(machine.receive(.escape("OA"), atTop, history: history) == [.show(EditBuffer(history[1]))])
    #expect(
      machine.receive(.control(16), EditBuffer(history[1]), history: history) == [
        .show(EditBuffer(history[0]))
      ])
    #expect(machine.receive(.control(16), EditBuffer(history[0]), history: history) == [.beep])
    #expect(
      machine.receive(.control(14), EditBuffer(history[0]), history: history) == [
        .show(EditBuffer(history[1]))
      ])
    #expect(
      machine.receive(.escape("[B"), EditBuffer(history[1]), history: history) == [
        .show(EditBuffer(history[2]))
      ])
    #expect(machine.receive(.escape("[B"), EditBuffer(history[2]), history: history) == [.show(draft)])
    #expect(machine.phase == .typing)
    #expect(machine.receive(.escape("[B"), draft, history: history) == [.beep])
  }

  @Test("Ctrl-R finds older entries by a part, and the next key takes the one that is shown")
  func search() {
    var machine = EditMachine()
    let draft = EditBuffer("x")
    _ = machine.receive(.control(18), draft, history: history)
    #expect(
      machine.receive(.text("s"), draft, history: history) == [.show(EditBuffer(history[1], cursor: 10))])
    #expect(
      machine.receive(.control(18), EditBuffer(history[1]), history: history)
        == [.show(EditBuffer(history[0], cursor: 0))])
    #expect(machine.receive(.control(18), EditBuffer(history[0]), history: history) == [.redraw, .beep])
    #expect(machine.search?.hasFailed == true)
    #expect(
      machine.receive(.control(19), EditBuffer(history[0]), history: history)
        == [.show(EditBuffer(history[1], cursor: 10))])
    #expect(machine.receive(.enter, EditBuffer(history[1]), history: history) == [.redraw, .enter])
    #expect(machine.phase == .recalling(index: 1, draft: draft))
  }

  @Test("Ctrl-G leaves a search with what was typed before, and erasing the whole text shows it too")
  func searchEnds() {
    var machine = EditMachine()
    let draft = EditBuffer("x")
    _ = machine.receive(.control(18), draft, history: history)
    _ = machine.receive(.text("k"), draft, history: history)
    #expect(machine.receive(.backspace, EditBuffer(history[1]), history: history) == [.show(draft)])
    _ = machine.receive(.text("k"), draft, history: history)
    #expect(machine.receive(.control(7), EditBuffer(history[1]), history: history) == [.show(draft)])
    #expect(machine.search == nil)
  }

  @Test("Tab completes behind text, indents at the start of a further line, and lists at an empty prompt")
  func tab() {
    var machine = EditMachine()
    #expect(machine.receive(.tab, EditBuffer("spe"), history: []) == [.complete])
    #expect(machine.receive(.tab, EditBuffer("do\n"), history: []) == [.insert("  ")])
    #expect(machine.receive(.tab, EditBuffer(""), history: []) == [.complete])
  }

  @Test("Ctrl-D leaves an empty line, and is a command of the line otherwise")
  func end() {
    var machine = EditMachine()
    #expect(machine.receive(.control(4), EditBuffer(""), history: []) == [.leave])
    #expect(machine.receive(.control(4), EditBuffer("x", cursor: 0), history: []) == [.edit(.control(4))])
  }

  @Test("a pasted block is inserted as one; Alt-Enter begins a new line in any case")
  func insert() {
    var machine = EditMachine()
    #expect(
      machine.receive(.paste("a = 1\nb = 2\n"), EditBuffer(), history: []) == [.insert("a = 1\nb = 2\n")])
    #expect(machine.receive(.escape("\n"), EditBuffer("x"), history: []) == [.insert("\n")])
  }

  @Test("the cursor moves by whole characters, and to the ends of a line of the block")
  func cursor() {
    let accented = EditBuffer("e\u{301}x")
    #expect(EditMachine.moved(.escape("[D"), EditBuffer("e\u{301}")) == EditBuffer("e\u{301}", cursor: 0))
    #expect(EditMachine.moved(.escape("[C"), EditBuffer("e\u{301}x", cursor: 0))?.cursor == 2)
    #expect(
      EditMachine.moved(.escape("[3~"), EditBuffer("e\u{301}x", cursor: 0)) == EditBuffer("x", cursor: 0))
    #expect(EditMachine.moved(.escape("[D"), accented)?.cursor == 2)
    let block = EditBuffer("ab\ncd\nef", cursor: 4)
    #expect(EditMachine.moved(.control(1), block)?.cursor == 3)
    #expect(EditMachine.moved(.escape("[F"), block)?.cursor == 5)
    #expect(EditMachine.moved(.escape("b"), EditBuffer("one two_2 "))?.cursor == 4)
    #expect(EditMachine.moved(.escape("f"), EditBuffer("one two", cursor: 3))?.cursor == 7)
  }
}

@Suite("Keys of a terminal", .tags(.prompt)) struct KeyDecoderTests {
  @Test("bytes become keys, however they are divided", arguments: [1, 2, 3, 100])
  func divided(size: Int) {
    let bytes = Array("aé中\u{1B}[A\u{1B}b\u{1B}OH\r\u{8}\u{1B}[1;5C\u{1B}[200~x\r\u{1B}y\tz\u{1B}[201~!".utf8)
    var decoder = KeyDecoder()
    let keys = stride(from: 0, to: bytes.count, by: size).flatMap {
      decoder.receive(bytes[$0..<min($0 + size, bytes.count)])
    }
    #expect(
      keys == [
        .text("a"), .text("é"), .text("中"), .escape("[A"), .escape("b"), .escape("OH"), .enter, .backspace,
        .escape("[1;5C"), .paste("x\ny\tz"), .text("!"),
      ])
  }

  @Test("line ends of a paste count once, in every form")
  func lineEnds() {
    var decoder = KeyDecoder()
    for text in ["a\rb\rc", "a\nb\nc", "a\r\nb\r\nc", "a\n\rb\n\rc"] {
      #expect(
        decoder.receive(Array("\u{1B}[200~\(text)\u{1B}[201~".utf8)) == [.paste("a\nb\nc")],
        "\(text.debugDescription)")
    }
    #expect(decoder.receive(Array("\u{1B}[200~a\r\rb\u{1B}[201~".utf8)) == [.paste("a\n\nb")])
  }

  @Test("bytes that are no UTF-8 become the replacement character, and a new key begins")
  func invalid() {
    var decoder = KeyDecoder()
    #expect(decoder.receive([0xE4, 0xB8, 0x41, 0xFF]) == [.text("\u{FFFD}"), .text("A"), .text("\u{FFFD}")])
  }
}
