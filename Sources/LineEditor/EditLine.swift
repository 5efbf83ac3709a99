internal import CEdit
public import EventLoop

/// A block of text that is being typed.
public struct EditBuffer: Equatable, Sendable {
  /// The text; its lines are separated by `\n`.
  public var text: String
  /// The offset of the cursor, in scalars.
  public var cursor: Int

  /// A text with the cursor at an offset, by default at its end.
  public init(_ text: String = "", cursor: Int? = nil) {
    self.text = text
    self.cursor = cursor ?? text.unicodeScalars.count
  }

  /// The text before the cursor.
  public var head: Substring { text[..<cursorIndex] }
  /// The text after the cursor.
  public var tail: Substring { text[cursorIndex...] }

  private var cursorIndex: String.Index {
    text.unicodeScalars.index(text.startIndex, offsetBy: cursor, limitedBy: text.endIndex) ?? text.endIndex
  }
}

/// The commands of libedit for a text that is being typed: characters, words, cut text, and the bindings of
/// the user. Confined to one thread.
final class EditLine {
  private static let library = SharedLibrary<edit_library>(
    "libedit.so.2", package: "libedit2", names: edit_names())

  /// The failure to load libedit; nil when it is loaded.
  fileprivate static var libraryFailure: LibraryError? { library.failure }

  private let edit: edit_library
  private let line: OpaquePointer
  private var pending: ArraySlice<Unicode.Scalar> = []

  /// An editor whose terminal is at the descriptor `terminal`.
  /// - Returns: nil when the descriptor is not a terminal.
  /// - Throws: the failure to load libedit.
  init?(terminal: Int32) throws(LibraryError) {
    edit = try Self.library.functions
    let read: edit_reader = { line, character in
      guard let line, let edit = try? EditLine.library.functions, let context = edit_context(edit, line)
      else { return 0 }
      let editor = Unmanaged<EditLine>.fromOpaque(context).takeUnretainedValue()
      guard let scalar = editor.pending.popFirst() else { return 0 }
      character?.pointee = wchar_t(bitPattern: scalar.value)
      return 1
    }
    guard let line = edit_open(edit, terminal, read) else { return nil }
    self.line = line
    // Not retained: the line is closed before this object ends.
    edit_set_context(edit, line, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { edit_close(edit, line) }

  /// `true` while the terminal delivers single keys; setting it to `true` empties the text.
  var isActive = false {
    didSet { if isActive != oldValue { edit_set_active(edit, line, isActive ? 1 : 0) } }
  }

  /// The text and the cursor.
  var buffer: EditBuffer {
    get {
      guard let info = edit.el_wline(line)?.pointee, let start = info.buffer else { return EditBuffer() }
      var text = String.UnicodeScalarView()
      for offset in 0..<(info.lastchar - start) {
        text.append(Unicode.Scalar(UInt32(bitPattern: start[offset])) ?? "\u{FFFD}")
      }
      return EditBuffer(String(text), cursor: info.cursor - start)
    }
    set {
      _ = edit.el_cursor(line, Int32.max >> 1)
      let length = buffer.text.unicodeScalars.count
      if length > 0 { edit.el_deletestr(line, Int32(clamping: length)) }
      insert(newValue.text)
      _ = edit.el_cursor(line, Int32(clamping: newValue.cursor - newValue.text.unicodeScalars.count))
    }
  }

  /// Runs the command of a key.
  func run(_ key: Key) {
    pending = key.scalars[...]
    while !pending.isEmpty {
      var count: Int32 = 0
      _ = edit.el_wgets(line, &count)
    }
  }

  /// Inserts text at the cursor.
  func insert(_ text: String) {
    // Inserted in parts, as the line grows by one part at a time.
    for part in Array(text.unicodeScalars).map({ wchar_t(bitPattern: $0.value) }).chunks(of: 512) {
      _ = edit.el_winsertstr(line, part + [0])
    }
  }
}

extension Array {
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}

/// The library that edits lines.
public enum EditLibrary {
  /// The failure to load libedit; nil when it is loaded.
  public static var failure: LibraryError? { EditLine.libraryFailure }
}
