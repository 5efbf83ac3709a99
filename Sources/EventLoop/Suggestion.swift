/// Returns the sentence for an unknown name: `no option is called 'volum'; did you mean 'volume'?`, or the
/// list of the known names if none is near.
public func unknown(_ kind: String, _ name: String, among known: [String]) -> String {
  let name = name.excerpt
  if let nearest = nearest(name, among: known) {
    return "no \(kind) is called '\(name)'; did you mean '\(nearest)'?"
  }
  return "no \(kind) is called '\(name)'; known: \(known.sorted().joined(separator: ", "))"
}

/// Returns the known name that differs from `name` in at most a third of its letters (at least one, at most
/// three).
public func nearest(_ name: String, among known: [String]) -> String? {
  let letters = { (text: String) in Array(text.lowercased().utf8.prefix(longestCompared + 1)) }
  let wanted = letters(name)
  return
    known
    .map { (name: $0, distance: distance(wanted, letters($0))) }
    .filter {
      $0.distance <= max(1, min(3, $0.name.utf8.count / 3))
        && $0.distance < min(wanted.count, $0.name.utf8.count)
    }
    .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
}

/// The limit in letters of a name that is compared with others.
private let longestCompared = 64

private func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
  max(one.count, other.count) > longestCompared ? .max : editDistance(one, other)
}

/// The least number of insertions, deletions, substitutions and swaps of neighbours that turn one text into
/// another. Source: edit distance with transpositions (Damerau 1964, optimal string alignment).
public func editDistance<Letter: Equatable>(_ a: [Letter], _ b: [Letter]) -> Int {
  if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
  var beforeLast = [Int](repeating: 0, count: b.count + 1)
  var last = Array(0...b.count)
  for i in 1...a.count {
    var row = [i] + [Int](repeating: 0, count: b.count)
    for j in 1...b.count {
      let substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
      row[j] = min(row[j - 1] + 1, last[j] + 1, substitution)
      if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
        row[j] = min(row[j], beforeLast[j - 2] + 1)
      }
    }
    (beforeLast, last) = (last, row)
  }
  return last[b.count]
}
