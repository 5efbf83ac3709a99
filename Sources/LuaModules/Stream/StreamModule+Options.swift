internal import HTTP
internal import Home
internal import LuaRuntime
internal import Playback
internal import StreamCore

/// Options as methods and fields, and `set_url`, which accepts them too.
extension StreamModule {
  /// The options in argument `number`; all others stay as they are in `options`.
  func options(
    _ call: LuaCall, _ number: Int, besides others: [String] = [], from options: StreamOptions = .init()
  ) throws -> (StreamOptions, LuaOptions) {
    let given = try call.options(number, StreamOption.names + others)
    var options = options
    for option in StreamOption.all { try option.apply(given, &options) }
    return (options, given)
  }

  func defineOptions() {
    for option in StreamOption.all {
      guard let read = option.read else { continue }
      streams.field(ofStream: option.name) { read($0.options) }
      streams.method("set_\(option.name)", arity: 1) { stream, call in
        let given = call.option(2, as: option.name)
        try stream.change { try option.apply(given, &$0) }
        return .none
      }
    }
    streams.secret("auth", why: "a password is sent to its server alone")
    streams.method("set_auth", arity: 2) { stream, call in
      var credentials: HTTPCredentials?
      if !call.isNil(2) || !call.isNil(3) {
        let user = try call.option(2, as: "user").userName("user", try call.string(2, .header))
        let password = try call.option(3, as: "password").line("password", try call.string(3, .header))
        credentials = HTTPCredentials(user: user, password: password)
      }
      stream.change { $0.credentials = credentials }
      return .none
    }
    streams.method("set_url", arity: 2) { [unowned self] stream, call in try setURL(of: stream, call) }
  }

  /// `radio:set_url(url, {start = true, …})`
  private func setURL(of object: ScriptStream, _ call: LuaCall) throws -> LuaReturn {
    let stream = object.stream
    let text = try call.string(2, .url)
    let named = service.named.addresses[text]
    // Wrong options are reported before a wrong URL.
    let address = Result { () throws(StreamError) in if let named { named } else { try StreamAddress(text) } }
    let nickname = named.map { _ in text }
    if let answer = try awaitPassword(of: text, call) { return answer }
    var old = stream.nextOptions ?? stream.options
    // A password is only for the server for which it was set.
    let isSameServer = stream.nextAddress.map { (try? address.get())?.isSameServer(as: $0) == true } ?? false
    if !isSameServer { (old.credentials, old.certificateFile) = (nil, nil) }
    old = try service.named.options(for: text, from: old)
    let (options, given) = try options(call, 3, besides: ["start"], from: old)
    guard try given.bool("start") ?? true else {
      try object.setNext(address, nickname: nickname, options: options)
      return .none
    }
    return try call.suspend { [unowned self] in
      try object.setNext(address, nickname: nickname, options: options)
      try keep(object)
      try await stream.start()
      return []
    }
  }
}
