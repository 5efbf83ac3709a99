internal import Reference
internal import Roomtone
internal import ScriptCheck
internal import LuaSyntax
internal import TestSupport

/// The reference of the repository's definitions.
let reference = StandardLibrary.reference(in: Fixtures.repository("stdlib"))

/// The demonstration house, and two stations.
let house = HouseNames(
  speakers: [
    "Living Room Left", "Living Room Right", "Kitchen", "Bedroom Left", "Bedroom Right", "Bathroom",
  ],
  groups: ["Living Room", "Kitchen", "Bathroom", "Bedroom"], stations: ["morning", "night"])

/// Modules by their names.
struct Modules: ModuleSource {
  var texts: [String: String] = [:]
  /// The files that scripts find; nil if they are not known.
  var files: Set<String>?

  func text(of module: String) -> [UInt8]? { texts[module].map { Array($0.utf8) } }
  func isInternal(_ module: String) -> Bool { StandardLibrary.hasModule(module) }
  func hasFile(_ path: String) -> Bool? { files.map { $0.contains(path) } }
  var names: [String] { texts.keys.sorted() }
}

/// Returns the mistakes in a script, each as `line:column: message (code)`.
func findings(_ script: String, name: String = "script.lua", modules: [String: String] = [:]) -> [String] {
  ScriptChecker(reference: reference, house: house, modules: Modules(texts: modules))
    .check(Array(script.utf8), name: name)
    .map { "\($0.position.line):\($0.position.column): \($0.message) (\($0.code.rawValue))" }
}
