internal import EventLoop

/// `unknown option 'volum'; did you mean 'volume'?`, or the list of what is known.
public func unknown(_ kind: String, _ name: String, among known: [String]) -> String {
  if let nearest = nearest(name, among: known) {
    return "no \(kind) is called '\(name)'; did you mean '\(nearest)'?"
  }
  return "no \(kind) is called '\(name)'; known: \(known.sorted().joined(separator: ", "))"
}
