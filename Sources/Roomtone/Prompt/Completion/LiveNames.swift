internal import AudioCore
internal import EventLoop
internal import Glibc
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import Reference
internal import SpeakerKit

/// The names of a running prompt: of its script, its house and the folders.
struct LiveNames: CompletionNames {
  let engine: Engine
  let state: LuaState
  /// The most names of a folder.
  private static let mostFiles = 2_000

  var globals: [String] { Set(state.globalNames + PromptGlobals.modules).sorted() }
  func members(at path: [String]) -> LuaMembers? { state.members(at: path) }
  func members(ofClass name: String) -> LuaMembers? { state.members(ofClass: name) }

  /// The speakers of a house that no call has opened yet: those of the configuration.
  private var expected: (speakers: [String], groups: [String]) {
    HouseSpeakers.names(engine.options.configuration.house.speakers)
  }

  var speakers: [String] { engine.house.open?.devices.map(\.name) ?? expected.speakers }
  var groups: [String] { engine.house.open?.groups.map(\.name) ?? expected.groups }
  var stations: [String] { Array(engine.streams.named.addresses.keys) }
  var presets: [String] { EqualizerGains.presets.map(\.name) }
  var modules: [String] { PromptGlobals.modules }

  func files(_ start: String) -> [String] {
    let end = start.lastIndex(of: "/")
    let folder = end.map { String(start[...$0]) } ?? ""
    let prefix = end.map { String(start[start.index(after: $0)...]) } ?? start
    var place = folder.isEmpty ? "." : folder
    if place.hasPrefix("~/"), let home = getenv("HOME") { place = String(cString: home) + place.dropFirst(1) }
    return Self.names(in: place, prefix).map { folder + $0 }
  }

  /// Returns the names in a folder that continue `prefix`, those of folders with a slash at their ends.
  private static func names(in folder: String, _ prefix: String) -> [String] {
    guard let names = try? LinuxFiles.names(in: folder) else { return [] }
    return names.filter { $0.hasPrefix(prefix) && (prefix.hasPrefix(".") || !$0.hasPrefix(".")) }.sorted()
      .prefix(mostFiles).map { name in
        var status = stat()
        let isFolder = stat("\(folder)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        return name + (isFolder ? "/" : "")
      }
  }
}
