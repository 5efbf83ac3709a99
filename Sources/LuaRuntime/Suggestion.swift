internal import EventLoop

/// Returns `no option is called 'volum'; did you mean 'volume'?`, or with the list of known names.
public func unknown(_ kind: String, _ name: String, among known: [String]) -> String {
  if let nearest = nearest(name, among: known) {
    return "no \(kind) is called '\(name)'; did you mean '\(nearest)'?"
  }
  return "no \(kind) is called '\(name)'; known: \(known.sorted().joined(separator: ", "))"
}
