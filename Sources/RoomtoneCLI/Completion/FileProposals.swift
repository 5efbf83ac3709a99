internal import EventLoop
internal import Glibc

/// Paths of files that continue a path, for shells that leave files to the program.
enum FileProposals {
  /// The limit of paths.
  private static let limit = 2_000

  /// Returns the paths, sorted, those of folders with a slash at their ends.
  /// - Parameters:
  ///   - value: the value so far; `~/` leads to the home folder, and remains.
  ///   - home: the home folder.
  static func find(_ files: Completion.Files, for value: String, home: String?) -> [String] {
    let typed = value.dropFirst(files.behind.count)
    let name = typed.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    let start = typed.dropLast(name.count)
    var folder = start.isEmpty ? "." : String(start)
    if folder.hasPrefix("~/"), let home { folder = home + folder.dropFirst() }
    guard let names = try? LinuxFiles.names(in: folder) else { return [] }
    let isOdd = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
    let fitting = names.filter { candidate in
      candidate.hasPrefix(name) && (name.hasPrefix(".") || !candidate.hasPrefix("."))
        && !candidate.unicodeScalars.contains(where: isOdd)
    }
    return fitting.sorted().prefix(limit).compactMap { candidate in
      let path = "\(files.behind)\(start)\(candidate)"
      if isFolder("\(folder)/\(candidate)") { return path + "/" }
      let suffix = candidate.split(separator: ".").last.map { $0.lowercased() } ?? ""
      let isFitting = files.extensions.isEmpty || candidate.contains(".") && files.extensions.contains(suffix)
      return !files.isFolder && isFitting ? path : nil
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
