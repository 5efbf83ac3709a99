import LuaModules
import LuaRuntime
import Reference
import TestSupport
import Testing

@testable import Roomtone

/// Compares with the definitions in stdlib/meta what the host does in all tests: the codes that its functions raise, and
/// the fields of the events that it emits.
enum ReferenceCheck {
  static let reference = StandardLibrary.reference(in: Fixtures.repository("stdlib"))

  /// Codes by function.
  private static let codes = Dictionary(
    reference.functions.map { ($0.name, Set(reference.codes(of: $0.name).map(\.code))) },
    uniquingKeysWith: { first, _ in first })
  /// Codes that any function may raise: of wrong use, of the script's limits, and of a cancelled routine.
  private static let general = Set(
    (reference.topic("error")?.raises.map(\.code) ?? []) + ["argument", "task.cancelled", "script.exit"])

  /// Records an issue for each code and each field of a script that its description lacks, and for each field that an
  /// event lacks.
  static func watch(_ script: Script) {
    script.state.onRaise { _, definition, error in
      guard let function = definition else { return }
      let code = error.code
      if reference.function(function)?.raisesAny == true { return }
      guard let described = codes[function], !described.contains(code), !general.contains(code) else {
        return
      }
      Issue.record("\(function) raises \(code), which its description lacks")
    }
    script.onEvent = { function, event, fields in
      guard let listener = reference.function(function) else { return }
      guard let described = reference.events(of: listener.owner).first(where: { $0.name == event }) else {
        // The names of triggers and the filters of topics are the scripts' own.
        if !["mqtt", "trigger"].contains(listener.owner) {
          Issue.record("\(listener.owner) emits \(event), which is not described")
        }
        return
      }
      let (all, needed) = (
        described.fields.map(\.name), described.fields.filter { !$0.isOptional }.map(\.name)
      )
      if !Set(fields).isSubset(of: all) || !Set(needed).isSubset(of: fields) {
        Issue.record("\(listener.owner) emits \(event) with \(fields), its description has \(all)")
      }
    }
  }
}
