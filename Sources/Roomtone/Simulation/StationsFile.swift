internal import EventLoop
internal import HTTP
public import Home
internal import LuaModules
internal import LuaRuntime
public import Reception
public import StreamCore

/// The file that says how the stations and servers of a simulation behave: Lua in an environment that has only `station`
/// and `answer`, and the names in `DeclarationFile.standard`.
///
/// ```lua
/// station("http://127.0.0.1:8000/morning.mp3", {
///   file = "show.mp3", name = "Morning FM",
///   titles = { { at = "0s", title = "A - One" }, { at = "4m", title = "B - Two" } },
///   drops = { { at = "10m", outage = "2s" } },
/// })
/// answer("http://192.168.1.5/weather", { status = 200, body = { rain = true } })
/// ```
public enum StationsFile {
  private static let most = (stations: 1000, answers: 1000, entries: 10_000)
  private static let largestBody = 1 << 20

  /// Reads a file; the paths in it are relative to its own folder.
  /// - Returns: the stations by their addresses, and the answers to requests by their URLs, without user and password.
  /// - Throws: `LuaError`: the mistake with file and line.
  public static func read(
    _ text: [UInt8], path: String
  ) throws -> (stations: [StreamAddress: SimulatedStation], answers: [String: SimulatedAnswer]) {
    var stations: [StreamAddress: SimulatedStation] = [:]
    var sounds = Sounds(folder: path.lastIndex(of: "/").map { String(path[...$0]) } ?? "")
    let station = LuaFunction("station") { call in
      let url = try call.string(1)
      let address: StreamAddress
      do throws(StreamError) { address = try StreamAddress(url).withoutCredentials } catch {
        throw call.problem(1, error.message, hint: error.hint)
      }
      guard stations[address] == nil else { throw call.problem(1, "\(address) is listed twice") }
      guard stations.count < most.stations else {
        throw call.problem(1, "a file lists \(most.stations) stations at most")
      }
      stations[address] = try read(call, &sounds)
      return .none
    }
    var answers: [String: SimulatedAnswer] = [:]
    let answer = LuaFunction("answer") { call in
      let given = try call.string(1)
      let url: String
      do throws(HTTPError) { url = RequestService.key(of: try HTTPRequest(given)) } catch {
        throw call.problem(1, error.message)
      }
      guard answers[url] == nil else { throw call.problem(1, "\(StreamAddress.shown(url)) is listed twice") }
      guard answers.count < most.answers else {
        throw call.problem(1, "a file lists \(most.answers) answers at most")
      }
      answers[url] = try serverAnswer(call)
      return .none
    }
    try DeclarationFile.run(
      text, path: path, kind: "stations file", standard: DeclarationFile.standard, [station, answer])
    return (stations, answers)
  }

  /// `answer(url, {status=, headers=, body=})`
  private static func serverAnswer(_ call: LuaCall) throws -> SimulatedAnswer {
    let given = try call.options(2, ["status", "headers", "body"])
    var answer = SimulatedAnswer(status: try given.int("status", in: 200...599) ?? 200)
    switch given["body"] {
    case nil: break
    case .string(let text): answer.body = Array(text.utf8)
    case .bytes(let bytes): answer.body = bytes
    case .reference:
      do throws(JSONProblem) {
        answer.body = try given.json("body", limit: largestBody) ?? []
      } catch {
        switch error {
        case .tooLong: throw given.problem("body", "it takes more than 1 MiB as JSON")
        case .unwritable(let place, let reason): throw given.problem("body", "\(place) \(reason)")
        }
      }
      answer.headers = [("Content-Type", "application/json")]
    default: throw given.wrong("body", "string or table")
    }
    guard answer.body.count <= largestBody else { throw given.problem("body", "at most 1 MiB expected") }
    guard let headers = given["headers"] else { return answer }
    guard let fields = call.state.fields(of: headers) else { throw given.wrong("headers", "table") }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      guard case .string(let text) = value else {
        throw given.problem("headers", "\(name) needs a text, got \(call.state.typeName(value))")
      }
      answer.headers.removeAll { $0.name.lowercased() == name.lowercased() }
      answer.headers.append((name, text))
    }
    return answer
  }

  private static let fields = [
    "file", "is_file", "name", "genre", "page", "bit_rate", "burst", "titles", "drops", "status", "refuses",
    "silent", "html", "auth",
  ]

  private static func read(_ call: LuaCall, _ sounds: inout Sounds) throws -> SimulatedStation {
    let given = try call.options(2, fields)
    let failure = try answer(given)
    let isFile = try given.bool("is_file") ?? false
    var station = SimulatedStation(.nothing)
    if let file = try given.string("file"), !file.isEmpty {
      if isFile, StationSound.isList(file: sounds.path(of: file)) {
        throw given.problem(
          "is_file", "\(file) is a list of HLS, which is simulated as a station only",
          hint: "leave out is_file: its segments are sent over and over")
      }
      do throws(StreamError) {
        station.content = isFile ? .file(sounds.path(of: file)) : .programme(try sounds.sound(of: file))
      } catch {
        throw given.problem("file", error.message, hint: error.hint)
      }
    } else if failure == nil {
      throw given.problem(
        "file", "it is missing: the sound that the station sends",
        hint: "only a station that always fails needs no file: status, refuses, silent or html = true")
    }
    (station.name, station.genre) = (try given.string("name"), try given.string("genre"))
    (station.page, station.burst) = (try given.string("page"), try given.duration("burst"))
    if let burst = station.burst, case .programme(let sound) = station.content, let list = sound.listLength,
      burst > list
    {
      throw given.problem(
        "burst", "it is longer than the list of the station, which has \(Self.seconds(list)) s")
    }
    station.bitRate = try given.int("bit_rate", in: 1...10_000)
    station.answer = failure ?? .sound
    if let auth = given["auth"] {
      guard let list = call.state.list(auth, limit: 2), list.count == 2, case .string(let user) = list[0],
        case .string(let password) = list[1]
      else { throw given.problem("auth", "{user, password} expected") }
      station.credentials = HTTPCredentials(user: user, password: password)
    }
    station.titles = try entries(call, given, "titles", ["at", "title", "url"]) { entry, at in
      guard let title = try entry.string("title") else { throw entry.problem("title", "it is missing") }
      return .init(title, at: at, url: try entry.string("url"))
    }
    station.drops = try entries(call, given, "drops", ["at", "outage", "status", "silent"]) { entry, at in
      .init(at: at, outage: try entry.duration("outage") ?? .zero, answer: try answer(entry) ?? .refusal)
    }
    if isFile, let name = ["burst", "titles", "drops"].first(where: { given[$0] != nil }) {
      throw given.problem(name, "only for a station, and is_file = true makes the URL a file")
    }
    for (drop, next) in zip(station.drops, station.drops.dropFirst()) where next.at < drop.at + drop.outage {
      throw given.problem("drops", "a drop begins before the outage of the previous one has ended")
    }
    return station
  }

  /// Seconds, to tenths.
  private static func seconds(_ time: Duration) -> String { "\((time.inSeconds * 10).rounded() / 10)" }

  /// The answer to requests: `status`, `refuses`, `silent` or `html`.
  private static func answer(_ given: LuaOptions) throws -> SimulatedStation.Answer? {
    var answers: [(name: String, answer: SimulatedStation.Answer)] = []
    if let status = try given.int("status", in: 400...599) { answers.append(("status", .status(status))) }
    if try given.bool("refuses") == true { answers.append(("refuses", .refusal)) }
    if try given.bool("silent") == true { answers.append(("silent", .silence)) }
    if try given.bool("html") == true { answers.append(("html", .page)) }
    if answers.count > 1 {
      throw given.problem(answers[1].name, "it can't be together with '\(answers[0].name)'")
    }
    return answers.first?.answer
  }

  /// A list of changes, each at a time, in order of time.
  private static func entries<Entry>(
    _ call: LuaCall, _ given: LuaOptions, _ name: String, _ fields: [String],
    _ read: (LuaOptions, Duration) throws -> Entry
  ) throws -> [Entry] {
    guard let value = given[name] else { return [] }
    guard let list = call.state.list(value, limit: most.entries) else {
      throw given.problem(name, "a list of at most \(most.entries) expected")
    }
    var last = Duration.zero
    return try list.enumerated().map { index, value in
      let entry = try given.nested("\(name)[\(index + 1)]", value, fields)
      guard let at = try entry.duration("at") else { throw entry.problem("at", "it is missing: the time") }
      guard at >= last else { throw entry.problem("at", "it is earlier than the one listed before it") }
      last = at
      return try read(entry, at)
    }
  }

  /// The sound of files, each of which is read once.
  private struct Sounds {
    let folder: String
    private var known: [String: StationSound] = [:]

    init(folder: String) { self.folder = folder }

    func path(of file: String) -> String { file.hasPrefix("/") ? file : folder + file }

    mutating func sound(of file: String) throws(StreamError) -> StationSound {
      let path = path(of: file)
      if let sound = known[path] { return sound }
      let sound = try StationSound(file: path)
      known[path] = sound
      return sound
    }
  }
}
