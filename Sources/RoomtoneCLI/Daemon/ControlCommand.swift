internal import EventLoop
internal import Glibc
internal import JSONText
internal import Roomtone

/// Command `roomtone ctl`: one request to the daemon, and its result.
enum ControlCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let words = arguments.operands
    let client = try ControlClient.ofHouse()
    let isJSON = arguments.has(.jsonList)
    /// Performs a method, and prints its result as JSON, or as `shown` has it.
    func perform(
      _ method: String, _ parameters: [(name: String, value: JSON)] = [], isLasting: Bool = false,
      _ shown: (JSON) -> [String]
    ) throws -> Int32 {
      let result = try client.call(method, parameters, isLasting: isLasting)
      HouseCommand.show(result, isJSON: isJSON, shown)
      return 0
    }
    /// Prints a list, page by page.
    func list(_ method: String, _ shown: (JSON) -> [String]) throws -> Int32 {
      var (items, next) = ([JSON](), Int?.some(0))
      while let first = next {
        let page = try client.call(method, [("from", .number(first))])
        items += page["items"]?.elements ?? []
        next = page["next"]?.int
      }
      HouseCommand.show(.array(items), isJSON: isJSON, shown)
      return 0
    }
    switch arguments.action?.name {
    case "scripts": return try list("scripts") { ControlText.scripts($0).lines }
    case "top": return try perform("top") { ControlText.top($0).lines }
    case "restart": return try perform("restart", [("name", .string(words[0]))], isLasting: true) { _ in [] }
    case "reload":
      let name = words.first.map { [(name: "name", value: JSON.string($0))] } ?? []
      return try perform("reload", name, isLasting: true) { _ in [] }
    case "jobs": return try list("jobs") { ControlText.jobs($0).lines }
    case "run-now": return try perform("run_now", [("job", .string(words[0]))]) { _ in [] }
    case "skip":
      return try perform("skip", [("job", .string(words[0]))]) { result in
        ["the run of \(ControlText.time(result["skipped"])) is left out"]
      }
    case "trigger":
      var parameters = [(name: "name", value: JSON.string(words[0]))]
      if words.count > 1 { parameters.append(("value", JSON(parsing: words[1].utf8) ?? .string(words[1]))) }
      return try perform("trigger", parameters) { result in
        result["listeners"]?.int == 0 ? ["no script listens to the trigger \"\(words[0].onOneLine)\""] : []
      }
    case "why":
      var parameters = [(name: "thing", value: JSON.string(words[0]))]
      // The daemon has another working directory.
      if access(words[0], F_OK) == 0 {
        parameters.append(("file", .string(UserFolders.absolute(words[0]))))
      }
      return try perform("why", parameters) { result in
        (result["lines"]?.elements ?? []).compactMap { $0.text?.withoutTabs.onOneLine }
      }
    case "history":
      let options: [(OptionSpec, String)] = [(.pastTime, "since"), (.ofRoom, "room"), (.ofKind, "kind")]
      let parameters = options.compactMap { option, name in
        arguments.text(option).map { (name: name, value: JSON.string($0)) }
      }
      return try perform("history", parameters) { result in
        let lines = (result.elements ?? []).compactMap { $0["text"]?.text?.withoutTabs.onOneLine }
        return lines.isEmpty ? ["no change is known"] : lines
      }
    case "eval":
      var parameters = [(name: "code", value: JSON.string(words[0]))]
      if let script = arguments.text(.ofScript) { parameters.append(("script", .string(script))) }
      return try perform("eval", parameters, isLasting: true) { result in
        let texts = { (name: String) in (result[name]?.elements ?? []).compactMap(\.text) }
        return texts("printed") + (texts("results").isEmpty ? [] : [texts("results").joined(separator: "\t")])
      }
    case "log": return try log(client, arguments)
    case let verb? where ["volume", "stop"].contains(verb):
      let parameters = try HouseCommand.parameters(words)
      return try HouseCommand.perform(verb, parameters, on: HouseConnection(client), isJSON: isJSON)
    default: return try perform("status") { ControlText.status($0) }
    }
  }

  private static func log(_ client: ControlClient, _ arguments: ParsedArguments) throws -> Int32 {
    var parameters = [(name: "follow", value: JSON.bool(arguments.has(.follow)))]
    if let script = arguments.text(.ofScript) { parameters.append(("script", .string(script))) }
    let isJSON = arguments.has(.jsonList)
    func show(_ entry: JSON) { Terminal.print(isJSON ? entry.line : ControlText.entry(entry)) }
    (try client.call("log", parameters).elements ?? []).forEach(show)
    guard arguments.has(.follow) else { return 0 }
    while let message = try client.receive() {
      if message["method"]?.text == "log", let entry = message["params"] { show(entry) }
    }
    throw CommandFailure(.socket, "the daemon has ended")
  }
}
