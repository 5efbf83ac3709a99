/// The functions of Lua's own library, as scripts have them, with the numbers of their arguments.
enum LuaLibrary {
  /// Global functions and values, and the functions of the tables, each with the least and the greatest
  /// number of its arguments; `+` stands for any number, values have no number.
  private static let table = """
    _: assert 1+ collectgarbage 0-2 dofile 1 error 0-2 getmetatable 1 ipairs 1 load 1-4 loadfile 1-3 next 1-2 pairs 1 \
    pcall 1+ print 0+ rawequal 2 rawget 2 rawlen 1 rawset 3 require 1 select 1+ setmetatable 2 tonumber 1-2 tostring 1 \
    type 1 warn 1+ xpcall 2+ _G _VERSION arg
    string: byte 1-3 char 0+ dump 1-2 find 2-4 format 1+ gmatch 2-3 gsub 3-4 len 1 lower 1 match 2-3 pack 1+ \
    packsize 1 rep 2-3 reverse 1 sub 2-3 unpack 2-3 upper 1
    table: concat 1-4 insert 2-3 move 4-5 pack 0+ remove 1-2 sort 1-2 unpack 1-3
    math: abs 1 acos 1 asin 1 atan 1-2 ceil 1 cos 1 deg 1 exp 1 floor 1 fmod 2 huge log 1-2 max 1+ maxinteger min 1+ \
    mininteger modf 1 pi rad 1 random 0-2 randomseed 0-2 sin 1 sqrt 1 tan 1 tointeger 1 type 1 ult 2
    io: close 0-1 flush 0 input 0-1 lines 0+ open 1-2 output 0-1 popen 1-2 read 0+ stderr stdin stdout tmpfile 0 type 1 \
    write 0+
    os: clock 0 date 0-2 difftime 1-2 execute 0-1 exit 0-2 getenv 1 remove 1 rename 2 time 0-1 tmpname 0
    coroutine: close 1 create 1 isyieldable 0-1 resume 1+ running 0 status 1 wrap 1 yield 0+
    utf8: char 0+ charpattern codepoint 1-4 codes 1-2 len 1-4 offset 2-3
    debug: traceback 0-3 getinfo 0-3
    package: config loaded path preload searchpath 2-4
    """

  /// The numbers of arguments of a function.
  struct Arity: Sendable {
    let least: Int
    let most: Int?
  }

  /// Functions and values by table; the globals have the empty name. Values have no arity.
  static let members: [String: [String: Arity?]] = {
    var members: [String: [String: Arity?]] = [:]
    for line in table.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      let owner = words[0] == "_:" ? "" : String(words[0].dropLast())
      var own: [String: Arity?] = [:]
      var last = ""
      for word in words.dropFirst() {
        guard let first = word.utf8.first, (0x30...0x39).contains(first) else {
          own[word] = .some(nil)
          last = word
          continue
        }
        let ends = word.split(whereSeparator: { $0 == "-" || $0 == "+" }).compactMap { Int($0) }
        own[last] = Arity(least: ends[0], most: word.hasSuffix("+") ? nil : ends.last)
      }
      members[owner] = own
    }
    return members
  }()

  /// `true` if the library has a global of that name.
  static func hasGlobal(_ name: String) -> Bool { members[""]?[name] != nil || isTable(name) }

  /// `true` if the library has a table of functions of that name.
  static func isTable(_ name: String) -> Bool { !name.isEmpty && members[name] != nil }

  /// All globals.
  static var globals: [String] {
    members.keys.filter { !$0.isEmpty } + (members[""].map { Array($0.keys) } ?? [])
  }

  /// Returns the arity of a function, `string.find`, `print`; nil for values and unknown names.
  static func arity(_ name: String) -> Arity? {
    let parts = name.split(separator: ".").map(String.init)
    let own = parts.count == 2 ? members[parts[0]] : members[""]
    return parts.last.flatMap { own?[$0] } ?? nil
  }
}
