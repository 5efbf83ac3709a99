public import EventLoop
internal import Glibc

/// A zone of the tz database, read from its file: `Europe/Berlin`.
///
/// Source: RFC 9636 (TZif), versions 2 and later; the block of version 1, which ends in 2037, is skipped.
public struct ZoneFile: LocalZone {
  /// The name in the database.
  public let name: String
  /// The moments at which the offset changes, in seconds since the epoch, strictly ascending.
  private let changes: [Int]
  /// The offsets from each of `changes` on, in seconds.
  private let offsets: [Int]
  /// The offset before the first change.
  private let firstOffset: Int
  /// The rule from the last change on, if the file has one.
  private let rule: ZoneRule?

  /// Reads the zone called `name`.
  /// - Parameter folder: the folder of the database.
  /// - Throws: `schedule.zone`.
  public init(named name: String, in folder: String = "/usr/share/zoneinfo") throws(ScheduleError) {
    guard Self.isName(name), let bytes = Self.read(folder + "/" + name) else {
      throw ScheduleError(
        .zone, "there is no time zone \(quoted(name))",
        hint: "zones are called by continent and city, as in Europe/Berlin; \(folder) lists them")
    }
    try self.init(name: name, bytes: bytes)
  }

  /// Parses the bytes of a zone's file, which may be anything.
  /// - Throws: `schedule.zone` with the flaw found.
  public init(name: String, bytes: [UInt8]) throws(ScheduleError) {
    var reader = ByteReader(bytes)
    do throws(ByteReader.Flaw) {
      let old = try Header(&reader)
      if old.version < UInt8(ascii: "2") { throw ByteReader.Flaw("it is of version 1") }
      try reader.skip(old.size(ofTime: 4))
      let header = try Header(&reader)
      if header.leapCount > 0 { throw ByteReader.Flaw("it counts leap seconds") }
      (changes, offsets, firstOffset) = try Self.readBlock(header, &reader)
      rule = try Self.readFooter(&reader)
    } catch {
      throw ScheduleError(.zone, "the file of time zone \(quoted(name)) is broken: \(error.reason)")
    }
    self.name = name
  }

  /// Returns the offset at a moment. Any thread.
  public func offset(at seconds: Int) -> Int {
    guard let last = changes.last, seconds < last else {
      return rule?.offset(at: seconds) ?? offsets.last ?? firstOffset
    }
    var (low, high) = (0, changes.count)  // the first change after the moment lies within
    while low < high {
      let middle = (low + high) / 2
      if changes[middle] <= seconds { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? firstOffset : offsets[low - 1]
  }

  // MARK: The file

  /// `true` if the name can be one of the database: no dots, so it cannot leave the folder.
  private static func isName(_ name: String) -> Bool {
    name.utf8.count <= 255
      && name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
        !part.isEmpty
          && part.utf8.allSatisfy { isLetter($0) || isDigit($0) || "_+-".utf8.contains($0) }
      }
  }

  static func read(_ path: String) -> [UInt8]? {
    // The largest file of the database has 4 KiB.
    try? WholeFile.read(path, atMost: 1 << 18)
  }

  /// The header of a block, §3.1.
  private struct Header {
    let version: UInt8
    let universalCount, standardCount, leapCount, timeCount, typeCount, nameBytes: Int

    init(_ reader: inout ByteReader) throws(ByteReader.Flaw) {
      guard try reader.bytes(4).elementsEqual("TZif".utf8) else {
        throw ByteReader.Flaw("it is not a TZif file")
      }
      version = try reader.byte()
      try reader.skip(15)
      universalCount = try reader.integer(4)
      standardCount = try reader.integer(4)
      leapCount = try reader.integer(4)
      timeCount = try reader.integer(4)
      typeCount = try reader.integer(4)
      nameBytes = try reader.integer(4)
      let counts = [universalCount, standardCount, leapCount, timeCount, typeCount, nameBytes]
      if counts.contains(where: { $0 < 0 }) {
        throw ByteReader.Flaw("a count is out of range")
      }
    }

    /// Returns the bytes of the block after this header, whose times have `width` bytes.
    func size(ofTime width: Int) -> Int {
      timeCount * (width + 1) + typeCount * 6 + nameBytes + leapCount * (width + 4) + standardCount
        + universalCount
    }
  }

  /// Reads the data of version 2 and later, §3.2.
  private static func readBlock(
    _ header: Header, _ reader: inout ByteReader
  ) throws(ByteReader.Flaw) -> (changes: [Int], offsets: [Int], first: Int) {
    guard header.size(ofTime: 8) <= reader.remaining else { throw ByteReader.Flaw("it is cut short") }
    guard (1...256).contains(header.typeCount) else { throw ByteReader.Flaw("it has no local time types") }
    var changes: [Int] = []
    for _ in 0..<header.timeCount {
      let change = try reader.integer(8)
      if let last = changes.last, last >= change {
        throw ByteReader.Flaw("its changes are out of order")
      }
      changes.append(change)
    }
    let indices = Array(try reader.bytes(header.timeCount))
    var types: [Int] = []
    for _ in 0..<header.typeCount {
      let offset = try reader.integer(4)
      guard (-89_999...93_599).contains(offset) else { throw ByteReader.Flaw("an offset is out of range") }
      types.append(offset)
      try reader.skip(2)
    }
    var offsets: [Int] = []
    for index in indices {
      guard Int(index) < types.count else { throw ByteReader.Flaw("a change names no type") }
      offsets.append(types[Int(index)])
    }
    try reader.skip(header.nameBytes + header.leapCount * 12 + header.standardCount + header.universalCount)
    return (changes, offsets, types[0])
  }

  /// Reads the rule between two line ends, §3.3; nil if it is empty.
  private static func readFooter(_ reader: inout ByteReader) throws(ByteReader.Flaw) -> ZoneRule? {
    let newline = UInt8(ascii: "\n")
    guard try reader.byte() == newline else { throw ByteReader.Flaw("its footer is missing") }
    var text: [UInt8] = []
    while case let byte = try reader.byte(), byte != newline { text.append(byte) }
    if text.isEmpty { return nil }
    guard let rule = ZoneRule(parsing: String(decoding: text, as: UTF8.self)) else {
      throw ByteReader.Flaw("its footer is not a rule")
    }
    return rule
  }
}

/// Reads numbers from bytes that may end anywhere.
struct ByteReader {
  /// A flaw in the bytes.
  struct Flaw: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  private let all: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { all = bytes }

  var remaining: Int { all.count - position }

  mutating func bytes(_ count: Int) throws(Flaw) -> ArraySlice<UInt8> {
    guard count <= remaining else { throw Flaw("it is cut short") }
    position += count
    return all[position - count..<position]
  }

  mutating func skip(_ count: Int) throws(Flaw) { _ = try bytes(count) }
  mutating func byte() throws(Flaw) -> UInt8 {
    guard let byte = try bytes(1).first else { throw Flaw("it is cut short") }
    return byte
  }

  /// Reads a signed integer of `width` bytes, most significant byte first.
  mutating func integer(_ width: Int) throws(Flaw) -> Int {
    let value = try bytes(width).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let unused = 64 - width * 8
    return Int(Int64(bitPattern: value << unused) >> unused)
  }
}

extension ZoneFile {
  /// Returns the names of inhabited zones, sorted; empty if the list is missing.
  /// - Parameter folder: the folder of the database.
  public static func names(in folder: String = "/usr/share/zoneinfo") -> [String] {
    guard let bytes = read(folder + "/zone.tab") else { return [] }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    // The columns are country, coordinates, name and comment, with tabs between.
    return lines.filter { !$0.hasPrefix("#") }.compactMap { line in
      let columns = line.split(separator: "\t")
      return columns.count > 2 ? String(columns[2]) : nil
    }.sorted()
  }
}
