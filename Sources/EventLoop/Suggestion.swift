/// Returns the sentence for an unknown name: `no option is called 'volum'; did you mean 'volume'?`, or the list of the
/// known names if none is near.
public func unknown(_ kind: String, _ name: String, among known: [String]) -> String {
  if let nearest = nearest(name, among: known) {
    return "no \(kind) is called '\(name)'; did you mean '\(nearest)'?"
  }
  return "no \(kind) is called '\(name)'; known: \(known.sorted().joined(separator: ", "))"
}

/// Returns the known name that differs from `name` in at most a third of its letters (at least one, at most
/// three).
/// Source: edit distance with transpositions (Damerau 1964, optimal string alignment).
public func nearest(_ name: String, among known: [String]) -> String? {
  known
    .map { (name: $0, distance: editDistance(Array(name.lowercased().utf8), Array($0.lowercased().utf8))) }
    .filter { $0.distance <= max(1, min(3, $0.name.utf8.count / 3)) }
    .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
}

private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  guard a.count <= 64, b.count <= 64 else { return .max }
  var rows = [Array(0...b.count)]
  for i in 0..<a.count {
    var row = [i + 1]
    for j in 0..<b.count {
      var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
      row.append(best)
    }
    rows.append(row)
  }
  return rows[a.count][b.count]
}
