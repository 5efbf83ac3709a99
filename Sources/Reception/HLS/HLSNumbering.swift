/// The numbers of the segments of a list, compared with those of the copy that was followed before.
///
/// Servers that restart skip numbers, or begin them anew, while the segments stay the same. Segments are
/// recognised by the names of their files, else by their dates (`EXT-X-PROGRAM-DATE-TIME`); if neither is
/// known, numbers decide.
enum HLSNumbering: Sendable, Equatable {
  /// Equal numbers are the same segments.
  case same
  /// The numbers of all segments have changed by that much.
  case shifted(by: Int)
  /// The numbers have no relation to the received segments.
  case anew

  /// The limit of segments of a list that are recognised in a newer copy: its last ones.
  private static let limit = 64

  /// Compares two lists of one version.
  /// - Parameters:
  ///   - number: the next segment, by the old list.
  ///   - elapsed: the seconds from the moment at which the end of the old list was known to that of the new
  ///     one.
  init(of new: HLSMedia, after old: HLSMedia, next number: Int, elapsed: Double) {
    let common = max(old.sequence, new.sequence)..<max(old.sequence, new.sequence, min(old.end, new.end))
    let last = common.last.flatMap { number in
      old.segment(number).flatMap { one in new.segment(number).map { one.isAlike($0) } }
    }
    if last == true {
      self = .same
      return
    }
    let isPlausible = last == nil && Self.isPlausible(new, after: old, elapsed: elapsed)
    if let shift = Self.shift(of: new, after: old), shift == 0 || !isPlausible {
      self = shift == 0 ? .same : .shifted(by: shift)
    } else if !isPlausible,
      let shift = Self.shift(to: new, from: old, next: number, elapsed: elapsed)
    {
      self = shift == 0 ? .same : .shifted(by: shift)
    } else {
      self = isPlausible ? .same : .anew
    }
  }

  /// Returns `true` if the new segments can have been added in `elapsed` seconds.
  private static func isPlausible(_ new: HLSMedia, after old: HLSMedia, elapsed: Double) -> Bool {
    guard new.end >= old.end else { return false }
    let most = elapsed + 3 * max(1, new.targetDuration)
    return Double(new.end - old.end) * new.average <= most
  }

  /// Returns the change of the numbers by the names that occur once in each list; nil if no name is in both.
  private static func shift(of new: HLSMedia, after old: HLSMedia) -> Int? {
    func numbers(_ segments: ArraySlice<HLSSegment>, from sequence: Int) -> [HLSSegment.Name: Int?] {
      Dictionary(
        segments.indices.compactMap { index in segments[index].name.map { ($0, sequence + index) } },
        uniquingKeysWith: { _, _ in nil })
    }
    let known = numbers(old.segments.suffix(limit), from: old.sequence)
    var votes: [Int: Int] = [:]
    for (name, number) in numbers(new.segments[...], from: new.sequence) {
      guard let number, let before = known[name] ?? nil else { continue }
      votes[number - before, default: 0] += 1
    }
    // The smaller change of equal votes wins, so that the result does not depend on the order of a
    // dictionary.
    return votes.max { ($0.value, -abs($0.key), $0.key) < ($1.value, -abs($1.key), $1.key) }?.key
  }

  /// Returns the change of the numbers by the dates of the segments; nil if they are unknown, or can't be
  /// right.
  private static func shift(
    to new: HLSMedia, from old: HLSMedia, next number: Int, elapsed: Double
  ) -> Int? {
    guard let date = old.date(of: number), let grown = new.grown(since: old, in: elapsed), grown >= 0 else {
      return nil
    }
    /// Returns the seconds from the date to the middle of a segment.
    func middle(_ segment: HLSSegment?) -> Double? {
      segment.flatMap { one in one.date.map { $0 + one.duration / 2 - date } }
    }
    let index = new.segments.firstIndex { (middle($0) ?? 0) > 0 } ?? new.segments.count
    // If the first segment begins later, the segments before it are lost.
    let isLater = index == 0 && middle(new.segments.first) ?? 0 > (new.segments.first?.duration ?? 0)
    return new.sequence + index - (isLater ? 1 : 0) - number
  }
}

extension HLSMedia {
  /// The average length of a segment in seconds.
  var average: Double { segments.isEmpty ? targetDuration : duration / Double(segments.count) }

  /// Returns the date at which a segment begins, in seconds since 1970; also that of the segment after the
  /// last.
  func date(of number: Int) -> Double? {
    if let segment = segment(number) { return segment.date }
    guard number == end, let last = segments.last else { return nil }
    return last.date.map { $0 + last.duration }
  }

  /// Returns the seconds by which the end has moved since an older copy, by the dates; nil if they are
  /// unknown, or their clock was set.
  func grown(since old: HLSMedia, in elapsed: Double) -> Double? {
    guard let now = date(of: end), let before = old.date(of: old.end) else { return nil }
    let margin = 3 * max(1, targetDuration)
    return (-margin...(elapsed + margin)).contains(now - before) ? now - before : nil
  }
}

extension HLSSegment {
  /// The name of its file, with the range of bytes.
  struct Name: Hashable, Sendable {
    let file: Substring
    let range: Range<Int>?
  }

  /// The name by which it is recognised in another copy of its list.
  var name: Name? { fileName.map { Name(file: $0, range: range) } }

  /// Returns `true` if two segments of one number are the same.
  func isAlike(_ other: HLSSegment) -> Bool { name == other.name }
}
