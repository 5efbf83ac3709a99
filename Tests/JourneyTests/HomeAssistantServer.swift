import Glibc
import JSONText
import TestSupport

/// A real Home Assistant without a screen, in a process of its own, which has joined a broker.
///
/// It needs CPython 3.13 and the packages of `Tests/Fixtures/peers/home-assistant.txt`, in the folder that the variable
/// `ROOMTONE_HOME_ASSISTANT` names; an empty folder, or one that is missing, is filled from the package index.
final class HomeAssistantServer {
  private static let variable = "ROOMTONE_HOME_ASSISTANT"

  /// The reason why there is none here; nil if there is one.
  static let absence: String? = {
    guard let folder else { return "\(variable) names no folder for a real Home Assistant" }
    guard access("\(folder)/bin/python", X_OK) == 0 || python != nil else {
      return "no python3.13 runs here, which a real Home Assistant needs"
    }
    do { _ = try installed() } catch { return "a real Home Assistant can't be installed: \(error)" }
    return nil
  }()

  private static var folder: String? {
    guard let value = getenv(variable), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// The name of a Python that is new enough; nil without one. A name on PATH may be a shim of nothing.
  private static var python: String? {
    ["python3.13", "python3.14", "python3"].first { name in
      let check = "import sys; sys.exit(sys.version_info < (3, 13))"
      return (try? Command.run(name, ["-c", check]))?.status == 0
    }
  }

  private static let user = "roomtone"
  private let files: TemporaryFolder
  private let port: Int
  private let program: String
  private var process: ServerProcess?
  private var token = ""
  private var starts = 0

  /// Starts it, with a broker at a port of this machine as its only integration.
  init(broker: Int) throws {
    program = try Self.installed()
    files = try TemporaryFolder()
    port = try LoopbackListener(blocks: false).port
    guard mkdir(files.file(".storage"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    let settings = """
      http:
        server_host: 127.0.0.1
        server_port: \(port)
      api:
      auth:
      logger:
        default: warning
      """
    _ = try files.write(Array((settings + "\n").utf8), to: "configuration.yaml")
    _ = try files.write(Array(Self.entries(broker).line.utf8), to: ".storage/core.config_entries")
    try Command.succeed(
      program,
      [
        "-m", "homeassistant", "--script", "auth", "-c", files.path, "add", Self.user, Self.user,
      ])
    try start()
  }

  /// Returns the interpreter of the environment, with all packages.
  private static func installed() throws -> String {
    guard let folder else { throw TestFailure("\(variable) is not set") }
    let program = "\(folder)/bin/python"
    guard access("\(folder)/roomtone-is-ready", F_OK) != 0 else { return program }
    if access(program, X_OK) != 0 {
      guard let python else { throw TestFailure("no python3.13") }
      try Command.succeed(python, ["-m", "venv", folder])
    }
    try Command.succeed(
      program,
      [
        "-m", "pip", "install", "--quiet", "--no-deps", "--prefer-binary", "-r",
        Fixtures.path("peers/home-assistant.txt"),
      ])
    try Command.succeed(program, ["-m", "homeassistant", "--version"])
    try Command.succeed("touch", ["\(folder)/roomtone-is-ready"])
    return program
  }

  /// The integrations: the broker, as a person would have added it.
  private static func entries(_ broker: Int) -> JSON {
    let moment: JSON = "2025-01-01T00:00:00+00:00"
    return .object([
      ("version", 1), ("minor_version", 5), ("key", "core.config_entries"),
      (
        "data",
        .object([
          (
            "entries",
            .array([
              .object([
                ("created_at", moment), ("modified_at", moment), ("domain", "mqtt"), ("title", "broker"),
                ("entry_id", "01JMQTT0000000000000000000"), ("version", 1), ("minor_version", 2),
                ("data", .object([("broker", "127.0.0.1"), ("port", .number(broker))])),
                (
                  "options",
                  .object([("discovery", true), ("discovery_prefix", "homeassistant")])
                ),
                ("source", "user"), ("unique_id", nil), ("disabled_by", nil),
                ("discovery_keys", .object([])), ("subentries", .array([])),
                ("pref_disable_new_entities", false), ("pref_disable_polling", false),
              ])
            ])
          )
        ])
      ),
    ])
  }

  /// Starts it again after `end`.
  func start() throws {
    starts += 1
    let process = try ServerProcess(
      program, ["-m", "homeassistant", "-c", files.path, "--skip-pip"], log: files.file("log\(starts)"))
    self.process = process
    try process.wait(for: "Home Assistant to answer") { _ in try logIn() ? true : nil }
  }

  /// Kills it.
  func end() {
    process?.end()
    process = nil
  }

  /// The output since the last start.
  var output: String { process?.output ?? "" }

  private func logIn() throws -> Bool {
    let client = "http://127.0.0.1:\(port)/"
    let begin = JSON.object([
      ("client_id", .string(client)), ("redirect_uri", .string(client)),
      ("handler", .array(["homeassistant", nil])),
    ])
    guard let flow = try request("auth/login_flow", begin)?["flow_id"]?.text else { return false }
    let login = JSON.object([
      ("client_id", .string(client)), ("username", .string(Self.user)), ("password", .string(Self.user)),
    ])
    guard let code = try request("auth/login_flow/\(flow)", login)?["result"]?.text else { return false }
    let form = ["client_id=\(client)", "grant_type=authorization_code", "code=\(code)"]
    let answer = try curl("auth/token", form.flatMap { ["--data-urlencode", $0] })
    token = answer?["access_token"]?.text ?? ""
    return !token.isEmpty
  }

  /// The states of the entities of the home, by their ids.
  func states() throws -> [String: String] {
    var states: [String: String] = [:]
    for entity in try request("api/states", nil)?.elements ?? [] {
      guard let id = entity["entity_id"]?.text, let state = entity["state"]?.text else { continue }
      if !id.hasPrefix("sensor.backup"), id != "zone.home" { states[id] = state }
    }
    return states
  }

  /// Returns the state of an entity; nil without it.
  func state(_ entity: String) throws -> String? { try request("api/states/\(entity)", nil)?["state"]?.text }

  /// Returns an attribute of an entity; nil without it.
  func attribute(_ entity: String, _ name: String) throws -> JSON? {
    try request("api/states/\(entity)", nil)?["attributes"]?[name]
  }

  /// Calls a service, as a dashboard does.
  func call(
    _ service: String, _ entity: String, _ data: [(name: String, value: JSON)] = []
  ) throws {
    let answer = try request("api/services/\(service)", .object([("entity_id", .string(entity))] + data))
    guard answer?.elements != nil else { throw TestFailure("\(service): \(answer?.line ?? "no answer")") }
  }

  private func request(_ path: String, _ body: JSON?) throws -> JSON? {
    try curl(path, body.map { ["-H", "Content-Type: application/json", "-d", $0.line] } ?? [])
  }

  private func curl(_ path: String, _ options: [String]) throws -> JSON? {
    let result = try Command.run(
      "curl",
      ["-s", "-m", "20", "-H", "Authorization: Bearer \(token)"] + options
        + ["http://127.0.0.1:\(port)/\(path)"])
    return JSON(parsing: result.output)
  }
}
