internal import Glibc

extension ZoneFile {
  /// Returns the names of inhabited zones, sorted; empty when the list is missing.
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
