import EventLoop
import Glibc
import TestSupport

@testable import RecordingKit
@testable import StreamCore

/// A folder with a catalogue, and recordings as a process leaves them that ends at any moment.
struct LibraryFolder {
  let folder: TemporaryFolder
  let catalogue: Catalogue
  let library: RecordingLibrary
  let programme: FrameProgramme
  let now = WallTime(seconds: 1_000_000)
  let tag: [UInt8]

  init(_ kind: FrameProgramme.Kind = .mp3) throws {
    folder = try TemporaryFolder()
    catalogue = try Catalogue(path: folder.file("catalogue.db"))
    library = RecordingLibrary(catalogue: catalogue)
    programme = try FrameProgramme(kind, seconds: 4)
    tag = try RecordingTag(title: "Song", start: LocalTime(WallTime(seconds: 0))).make()
  }

  func path(_ name: String) -> String { folder.file(name) }

  /// Returns some frames of the programme, as bytes.
  func bytes(_ frames: Range<Int>) -> [UInt8] {
    let list = programme.frames[frames]
    guard let first = list.first, let last = list.last else { return [] }
    return Array(programme.bytes[first.offset..<(last.offset + last.length)])
  }

  func samples(_ frames: Range<Int>) -> Int { programme.frames[frames].reduce(0) { $0 + $1.samples } }

  /// Returns the row of a recording of these frames, an hour old.
  func entry(_ name: String, _ frames: Range<Int> = 0..<0, state: RecordingEntry.State = .recording)
    -> RecordingEntry
  {
    let format = programme.frames[0].format
    return RecordingEntry(
      path: path(name), part: state == .finished ? nil : path(name) + ".part", station: "Radio",
      url: "http://radio/",
      start: WallTime(seconds: now.seconds - 3600), codec: "\(format.codec)", sampleRate: format.sampleRate,
      channels: format.channels, samples: samples(frames), bytes: bytes(frames).count, state: state)
  }

  /// Creates a finished recording.
  @discardableResult
  func finished(_ name: String, _ frames: Range<Int>) throws -> RecordingEntry {
    var row = entry(name, frames, state: .finished)
    try catalogue.insert(&row)
    _ = try folder.write(tag + bytes(frames), to: name)
    return row
  }

  /// Creates a recording whose process ended, with the given contents of its row and its part.
  @discardableResult
  func left(
    _ name: String, row: Range<Int>, part: [UInt8]?, _ change: (inout RecordingEntry) -> Void = { _ in }
  ) throws -> RecordingEntry {
    var row = entry(name, row)
    change(&row)
    try catalogue.insert(&row)
    if let part { _ = try folder.write(part, to: name + ".part") }
    return row
  }

  /// Returns the names of the files in the folder, without the catalogue.
  func names() throws -> [String] {
    try Command.succeed("ls", [folder.path]).text.split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("catalogue") }
  }

  /// Returns `true` if a recording is whole and agrees with its row.
  func isGood(_ name: String) throws -> Bool {
    let verdict = try library.verify(path(name))
    return verdict.isGood && verdict.agrees == true
  }
}
