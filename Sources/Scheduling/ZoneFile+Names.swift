internal import Glibc

extension ZoneFile {
  /// What the zones are called that people live in, in their order; empty where the list is missing.
  /// - Parameter folder: where the database lies.
  public static func names(in folder: String = "/usr/share/zoneinfo") -> [String] {
    guard let bytes = read(folder + "/zone.tab") else { return [] }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    // Country, coordinates, name, comment, with tabs between.
    return lines.filter { !$0.hasPrefix("#") }.compactMap { line in
      let columns = line.split(separator: "\t")
      return columns.count > 2 ? String(columns[2]) : nil
    }.sorted()
  }
}
