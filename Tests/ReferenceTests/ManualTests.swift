import Reference
import TestSupport
import TestTraits
import Testing

@Suite("The manual page of the Lua API", .tags(.help)) struct ManualTests {
  @Test("is formatted by man without a warning, and has every function, object, event and code")
  func page() throws {
    let reference = try MetaTests.reference()
    let page = reference.manualPage(version: "0.1.0")
    let folder = try TemporaryFolder()
    let path = try folder.write(Array(page.utf8), to: "roomtone-lua.3")
    let code = Set(
      ((reference.modules + reference.topics).flatMap(\.text).compactMap(\.code).flatMap { $0 }
        + reference.functions.compactMap(\.example).flatMap { $0 }).map { String($0.drop { $0 == " " }) })
    for columns in [40, 80, 132] {
      let result = try Command.run(
        "env", ["LC_ALL=C.UTF-8", "MANWIDTH=\(columns)", "man", "--warnings", "-l", "-Tutf8", path])
      #expect(result.status == 0 && String(decoding: result.errors, as: UTF8.self) == "")
      let plain = try Command.run(
        "env", ["LC_ALL=C.UTF-8", "MANWIDTH=\(columns)", "MANROFFOPT=-c", "man", "-l", path]
      ).text
      let long = plain.split(separator: "\n").filter {
        $0.count > columns && !code.contains(String($0.drop { $0 == " " }))
      }
      #expect(
        long.allSatisfy { $0.split(separator: " ").count == 1 }, "\(columns): \(long.map { String($0) })")
    }
    let plain = try Command.run(
      "env", ["LC_ALL=C.UTF-8", "MANWIDTH=500", "MANROFFOPT=-c", "man", "-l", path]
    ).text
    #expect(plain.hasPrefix("ROOMTONE-LUA(3)"))
    for function in reference.functions { #expect(plain.contains("\(function.name)("), "\(function.name)") }
    for type in reference.classes where type.isObject { #expect(plain.contains(type.name), "\(type.name)") }
    for code in reference.codes { #expect(plain.contains("\n       \(code)"), "\(code)") }
    #expect(plain.contains("event ended") && plain.contains(#"{ name = "wake-up" }"#) == false)
    #expect(plain.contains(#"speaker.play("wake_up.mp3", { rooms = kitchen })"#))
    #expect(
      try Command.succeed("lexgrog", [path]).text.contains("roomtone-lua - the Lua modules of roomtone"))
  }
}
