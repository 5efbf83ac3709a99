internal import EventLoop
internal import HTTP
public import LuaRuntime
internal import Playback
internal import Reception
internal import StreamCore

/// An option of streams: it defines the option of `stream.new` and `set_url`, the method `set_` with its
/// name, and the field, all with the same checks. A new option is a line in `all`.
struct StreamOption: Sendable {
  let name: String
  /// Returns the value of the field; nil for a secret.
  let read: (@Sendable (StreamOptions) -> LuaValue)?
  /// Applies the option if the call has it.
  let apply: @Sendable (LuaOptions, inout StreamOptions) throws -> Void

  /// All options, in the order in which messages list them.
  static let all: [StreamOption] = [
    StreamOption(
      "type", read: { .string($0.kind.rawValue) },
      apply: { given, options in
        guard let type = try given.string("type", .name) else { return }
        guard let kind = StreamOptions.Kind(rawValue: type) else {
          let names = StreamOptions.Kind.allCases.map(\.rawValue)
          throw given.problem("type", unknown("type", type, among: names))
        }
        options.kind = kind
      }),
    StreamOption(
      "buffer_blocks", read: { .int($0.bufferBlocks) },
      apply: { given, options in
        if let blocks = try given.int("buffer_blocks", in: 10...100_000) { options.bufferBlocks = blocks }
      }),
    StreamOption(
      "max_bit_rate", read: { .int($0.maxBitRate) },
      apply: { given, options in
        if let rate = try given.int("max_bit_rate", in: 8...10_000) { options.maxBitRate = rate }
      }),
    StreamOption(
      "user_agent", read: { .string($0.userAgent) },
      apply: { given, options in
        guard let agent = try given.string("user_agent", .header) else { return }
        options.userAgent = try given.line("user_agent", agent)
      }),
    duration("data_timeout", \.dataTimeout, atLeast: .seconds(1)),
    duration("pause_timeout", \.pauseTimeout),
    StreamOption(
      "metadata_encoding", read: { .string($0.metadataEncoding.name) },
      apply: { given, options in
        guard let name = try given.string("metadata_encoding", .name) else { return }
        guard let encoding = MetadataEncoding(name: name) else {
          throw given.problem(
            "metadata_encoding", unknown("encoding", name, among: Self.encodings),
            hint: "any name that iconv knows is valid, too")
        }
        options.metadataEncoding = encoding
      }),
    StreamOption(
      "auth", read: nil,
      apply: { given, options in
        guard let auth = given["auth"] else { return }
        guard let list = given.state.list(auth, limit: 2), list.count == 2, case .string(let user) = list[0],
          case .string(let password) = list[1]
        else { throw given.problem("auth", "{user, password} expected") }
        options.credentials = HTTPCredentials(
          user: try given.userName("auth", user), password: try given.line("auth", password))
      }),
    StreamOption(
      "buffer_wait", read: { options in options.bufferWait.map { .number($0.inSeconds) } ?? .nil },
      apply: { given, options in
        if let time = try given.duration("buffer_wait") { options.bufferWait = time }
      }),
    StreamOption(
      "is_file", read: { options in options.isFile.map { .bool($0) } ?? .nil },
      apply: { given, options in
        if case .nil? = given["is_file"] {
          options.isFile = nil
        } else if let isFile = try given.bool("is_file") {
          options.isFile = isFile
        }
      }),
    StreamOption(
      "catch_up", read: { .string($0.catchUp.rawValue) },
      apply: { given, options in
        guard let name = try given.string("catch_up", .name) else { return }
        guard let catchUp = CatchUp(rawValue: name) else {
          throw given.problem("catch_up", "\"skip\" or \"keep\" expected, got \"\(name)\"")
        }
        options.catchUp = catchUp
      }),
    duration("buffer_wait_file", \.bufferWaitFile), duration("throttle_bypass", \.throttleBypass),
  ]

  /// The names of all options.
  static let names = all.map(\.name)

  /// Encodings that stations use.
  private static let encodings = [
    "utf-8", "latin1", "windows-1252", "windows-1250", "windows-1251", "iso-8859-2", "iso-8859-15", "koi8-r",
    "shift_jis", "euc-jp", "gb18030", "big5", "euc-kr",
  ]

  private init(
    _ name: String, read: (@Sendable (StreamOptions) -> LuaValue)?,
    apply: @escaping @Sendable (LuaOptions, inout StreamOptions) throws -> Void
  ) { (self.name, self.read, self.apply) = (name, read, apply) }

  /// A duration, which the field has in seconds.
  private static func duration(
    _ name: String, _ path: WritableKeyPath<StreamOptions, Duration> & Sendable,
    atLeast least: Duration = .zero
  ) -> StreamOption {
    StreamOption(
      name, read: { .number($0[keyPath: path].inSeconds) },
      apply: { given, options in
        guard let time = try given.duration(name) else { return }
        guard time >= least else {
          throw given.problem(name, "at least \(Int(least.inSeconds)) s expected")
        }
        options[keyPath: path] = time
      })
  }
}

extension LuaOptions {
  /// Text that can stand in a line of a request.
  public func line(_ name: String, _ text: String) throws -> String {
    _ = try checked(text, .header, name)
    guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw problem(name, "contains a control character")
    }
    return text
  }

  /// A user's name that can stand before the colon of HTTP credentials.
  public func userName(_ name: String, _ user: String) throws -> String {
    guard !user.contains(":") else { throw problem(name, "a user's name can't have a colon") }
    return try line(name, user)
  }
}
