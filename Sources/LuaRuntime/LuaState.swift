internal import CLua
internal import CLuaShim
public import EventLoop

/// The limits of a script's resources.
public struct LuaLimits: Sendable {
  /// The most bytes of the script's Lua values.
  public var memory = 256 << 20
  /// The most bytes that the buffers of all streams that the script plays at once may need.
  public var buffers = 2048 << 20
  /// The most bytes of keys and values that the script may keep in its store.
  public var store = 100 << 20
  /// The run time without suspension after which `script.blocked` is raised.
  public var run: Duration = .seconds(2)
  /// The run time after which a call that can't be interrupted ends the process: at least twice `run`.
  public var uninterruptible: Duration = .seconds(10)
  /// The most objects of the script at once: streams, sessions, jobs, subscriptions, taps, tasks.
  public var objects = 10_000
  /// The most routines that may wait for their first turn: calls of listeners and jobs, tasks.
  public var waiting: Int { 2 * objects }

  /// The default limits: 256 MB, 2 GB of buffers, 100 MB in the store, 2 s.
  public init() {}
}

/// The Lua state of one script: its globals, its functions, its routines. Confined to the loop's thread.
public final class LuaState {
  /// The release of Lua, as `5.4.4`.
  package static var libraryVersion: String { String(String(cString: lua_release_name()).dropFirst(4)) }

  /// The most bytes of the source of a script or a module.
  public static let largestSource = 1 << 20

  /// The script's name in messages.
  public let name: String
  /// The loop whose thread runs the state.
  public let loop: EventLoop
  /// `true` after `close`; objects of a closed state do nothing.
  public private(set) var isClosed = false
  /// Receives a line that `print` made, without its line end. One destination, so that a line is shown once: the owner of
  /// a script replaces that of its engine.
  public var onPrint: (String) -> Void = { _ in }
  /// Receives a warning of Lua's (`warn`, a finalizer that failed). One destination, as `onPrint`.
  public var onWarning: (String) -> Void = { _ in }
  var holdListeners = Listeners<(_ time: Duration, _ location: String?) -> Void>()
  private var raiseListeners = Listeners<(_ function: String, _ definition: String?, LuaError) -> Void>()

  /// Calls `listener` with the elapsed time of each slice that held the loop for 100 ms of the processor or longer, or for
  /// a second, and the `file:line` where it was meanwhile, nil when that is not known; after `measureTime`. It must not use
  /// the state.
  public func onHold(_ listener: @escaping (_ time: Duration, _ location: String?) -> Void) {
    _ = holdListeners.add(listener)
  }

  /// Calls `listener` with each error that a function of the host raises, while the routine is at its call: the function's
  /// name, that in the definitions of the Lua API, nil for none, and the error.
  public func onRaise(_ listener: @escaping (_ function: String, _ definition: String?, LuaError) -> Void) {
    _ = raiseListeners.add(listener)
  }

  func raises(_ error: LuaError, in function: LuaFunction) {
    for listener in raiseListeners.all { listener(function.name, function.definition, error) }
  }

  /// The folder of library modules outside of the program, if any; their lines do not count as the script's
  /// own.
  public var libraryFolder: String? {
    didSet { libraryChunks = libraryFolder.map { Array("@\($0)/".utf8CString) } ?? [] }
  }
  /// The beginning of the chunk names of these modules, with its zero byte; empty without such a folder.
  private(set) var libraryChunks: [CChar] = []

  /// Text for standard output that has no line end yet.
  var unfinishedLine: [UInt8] = []
  let references = ReferencePool()
  let shim: OpaquePointer
  let watchdog: LuaWatchdog?
  /// The numbers of the classes of objects, by name.
  var classes: [String: Int32] = [:]
  /// Retains the functions whose addresses the state holds.
  private var functions: [LuaFunction] = []
  var routines: [Int: LuaRoutine] = [:]
  private var routinesStarted = 0
  /// The number of routines that have not begun.
  public internal(set) var waitingCount = 0
  /// The limits of the script.
  public let limits: LuaLimits
  /// The routine whose slice runs now.
  public internal(set) var running: LuaRoutine?
  /// The routine whose slice ran last.
  weak var lastRoutine: LuaRoutine?
  /// The continuation of the function that suspends, for the routine.
  var pendingContinuation: LuaContinuation?
  var moduleWaiters: [String: [LuaContinuation]] = [:]
  /// The names of the library's modules, for suggestions.
  public var libraryModules: [String] = []
  /// Returns the text of a module of the library, and the name of its chunk; called before files are
  /// searched.
  public var libraryModule: (String) -> (text: [UInt8], chunkName: String)? = { _ in nil }

  /// Opens a state with the standard library for scripts.
  /// - Parameters:
  ///   - watchdog: enforces `limits.run`; without one the limit is not enforced.
  ///   - seed: makes everything that a script can observe the same in every run: the order of `pairs`, the
  ///     text of addresses, `math.random`. Nil for the behaviour of plain Lua.
  /// - Throws: `script.memory` when there is no memory for the state.
  public init(
    name: String, loop: EventLoop, limits: LuaLimits = LuaLimits(), watchdog: LuaWatchdog? = nil,
    seed: UInt64? = nil
  ) throws(LuaError) {
    self.name = name
    self.loop = loop
    self.watchdog = watchdog
    self.limits = limits
    let opened = withUnsafePointer(to: shimHost) { host in
      guard let seed else { return shim_open(host, name, limits.memory, nil) }
      return withUnsafePointer(to: seed) { shim_open(host, name, limits.memory, $0) }
    }
    guard let shim = opened else {
      throw LuaError(code: "script.memory", message: "no memory for the script \(name)")
    }
    self.shim = shim
    // Not retained: the Lua state is closed before this object ends.
    shim_set_owner(shim, Unmanaged.passUnretained(self).toOpaque())
    if let watchdog {
      let milliseconds = { (duration: Duration) in UInt32(clamping: duration.inMilliseconds) }
      let fatal = max(limits.uninterruptible, limits.run * 2)
      shim_watch(shim, watchdog.raw, milliseconds(limits.run), milliseconds(fatal))
    }
    installPrint()
    installRequire()
  }

  deinit { if !isClosed { shim_close(shim) } }

  /// Ends the state at once: suspended routines are dropped without unwinding, objects are released. Cancel
  /// routines and wait for their ends first to let them unwind.
  public func close() {
    guard !isClosed else { return }
    precondition(running == nil, "a state can't be closed from inside one of its routines")
    isClosed = true
    for routine in routines.sorted(by: { $0.key < $1.key }) { routine.value.drop() }
    routines = [:]
    shim_close(shim)
    functions = []
  }

  /// The bytes of the script's values: now, and the peak.
  public var memory: (now: Int, peak: Int) { isClosed ? (0, 0) : (shim_bytes(shim), shim_peak(shim)) }

  /// Releases the Swift objects without references in Lua.
  public func collectGarbage() { shim_collect(main.L) }

  func nextRoutine() -> Int {
    routinesStarted += 1
    return routinesStarted
  }

  var main: Stack { Stack(L: shim_main(shim)) }

  /// Frees the slots of released references; called before the state runs.
  func settle() {
    for slot in references.drain() { luaL_unref(main.L, registryIndex, slot) }
  }

  /// Compiles text.
  /// - Parameters:
  ///   - text: Lua source; a byte order mark and a first line that begins with `#` are skipped, as by `lua`.
  ///   - chunkName: `@path` for a file, `=name` for text from elsewhere.
  ///   - environment: the table of the globals of the text; nil for the globals of the state.
  /// - Throws: `script.syntax` with file and line in its message; `script.module` for definitions.
  public func load(
    _ text: [UInt8], chunkName: String, environment: LuaReference? = nil
  ) throws(LuaError) -> LuaReference {
    settle()
    let body = withoutShebang(text)
    if body.starts(with: "---@meta".utf8) { throw Self.definition(chunkName) }
    let stack = main
    let status = body.withUnsafeBytes { raw in
      shim_load(stack.L, raw.bindMemory(to: CChar.self).baseAddress, raw.count, chunkName)
    }
    guard status == LUA_OK else {
      var error = stack.takeError(status: status, in: self)
      if error.code == "script.error" { error.code = "script.syntax" }
      error.value = nil
      throw error
    }
    defer { stack.pop() }
    if let environment {
      stack.push(.reference(environment), in: self)
      _ = lua_setupvalue(stack.L, -2, 1)
    }
    return stack.reference(-1, in: self)
  }

  /// The error of an attempt to run definitions: a script that begins with `---@meta`.
  private static func definition(_ chunkName: String) -> LuaError {
    LuaError(
      code: "script.module",
      message: "\(chunkName.dropFirst()) is a description, not a script: editors read it, nothing runs it")
  }

  /// Makes the global `arg`: the arguments from 1 on, the script's name at 0.
  public func setArguments(_ arguments: [String], scriptName: String) {
    let stack = main
    stack.pushGlobals()
    stack.push("arg")
    stack.push(.list(arguments.map { .string($0) }), in: self)
    stack.push(scriptName)
    lua_rawseti(stack.L, -2, 0)
    lua_rawset(stack.L, -3)
    stack.pop()
  }

  /// A global's value.
  public subscript(global name: String) -> LuaValue {
    get {
      let stack = main
      stack.pushGlobals()
      stack.push(name)
      lua_rawget(stack.L, -2)
      defer { stack.pop(2) }
      return stack.value(-1, in: self)
    }
    set {
      let stack = main
      stack.pushGlobals()
      stack.setField(name, newValue, in: self)
      stack.pop()
    }
  }

  /// Returns a Lua function for `function`.
  public func value(of function: LuaFunction) -> LuaValue {
    let stack = main
    push(function, on: stack)
    defer { stack.pop() }
    return stack.value(-1, in: self)
  }

  /// Returns a Lua function that calls its first argument with the others, and returns the results, or nil
  /// and the error.
  public func tryFunction() -> LuaValue {
    shim_push_try(main.L)
    defer { main.pop() }
    return main.value(-1, in: self)
  }

  func push(_ function: LuaFunction, on stack: Stack) { shim_push_function(stack.L, box(function)) }

  /// Returns the address by which Lua enters `function`, and retains it as long as the state.
  func box(_ function: LuaFunction) -> UnsafeMutableRawPointer {
    functions.append(function)
    return Unmanaged.passUnretained(function).toOpaque()
  }

  /// The functions of modules, and the methods and fields of classes, that the host has registered: by their names in the
  /// definitions of the Lua API (`speaker.play`, `speaker.Session:pause`, `speaker.Session.name`), with the most
  /// arguments that each accepts; nil for any number.
  public var definitions: [(name: String, arity: Int?)] {
    functions.compactMap { function in
      function.definition.map {
        ($0, function.most == .max ? nil : Int(function.most) - (function.isMethod ? 1 : 0))
      }
    }
  }

  /// Returns the name in the definitions of the function with this address; nil if no function has it.
  func definition(ofBox box: UnsafeMutableRawPointer) -> String? {
    functions.first { Unmanaged.passUnretained($0).toOpaque() == box }?.definition
  }

  private func installPrint() {
    let stack = main
    stack.pushGlobals()
    stack.push("print")
    let function = LuaFunction("print") { call in
      call.state.printLine(try call.shownText(1))
      return .none
    }
    shim_push_print(stack.L, box(function))
    lua_rawset(stack.L, -3)
    stack.pop()
  }

  private func withoutShebang(_ text: [UInt8]) -> [UInt8] {
    let body = text.starts(with: [0xEF, 0xBB, 0xBF]) ? text[3...] : text[...]
    guard body.first == UInt8(ascii: "#") else { return Array(body) }
    // The line end stays, so that line numbers stay correct.
    return Array(body.drop { $0 != UInt8(ascii: "\n") })
  }
}

extension Stack {
  func pushGlobals() { lua_rawgeti(L, registryIndex, lua_Integer(LUA_RIDX_GLOBALS)) }
}

/// Registry slots of references that were released on any thread; the state frees them when it runs next.
final class ReferencePool: Sendable {
  private let released = Lock<[Int32]>([])

  func release(_ slot: Int32) { released.withLock { $0.append(slot) } }

  /// Removes and returns the slots released since the last call.
  func drain() -> [Int32] {
    released.withLock { slots in
      guard !slots.isEmpty else { return [] }
      defer { slots.removeAll(keepingCapacity: true) }
      return slots
    }
  }
}
