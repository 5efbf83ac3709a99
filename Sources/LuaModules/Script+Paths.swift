internal import Glibc

extension Script {
  /// The same in each run of the script: the path of its file from the root on, links followed, or its name for text
  /// that comes from no file.
  var identity: String {
    guard folder != nil, let path = realpath(name, nil) else { return name }
    defer { free(path) }
    return String(cString: path)
  }

  /// Where a file that the script names is: `~/` is the home folder; a relative path is looked for in the working
  /// directory, then beside the script. What is in neither place stays as it is, so that the error names it.
  func path(of given: String) -> String {
    if given.hasPrefix("~/"), let home = getenv("HOME") { return String(cString: home) + given.dropFirst(1) }
    guard !given.isEmpty, !given.hasPrefix("/"), let folder, access(given, F_OK) != 0 else { return given }
    let beside = "\(folder)/\(given)"
    return access(beside, F_OK) == 0 ? beside : given
  }
}
