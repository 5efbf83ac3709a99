/// Amounts of bytes as people write them: `"2GB"`, `"1.5 T"`, `"512MiB"`.
public enum ByteSize {
  private static let units: [(name: String, bytes: Double)] = [
    ("b", 1), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("kb", 1e3), ("mb", 1e6), ("gb", 1e9),
    ("tb", 1e12), ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824), ("tib", 1_099_511_627_776),
  ]

  /// Reads a number with a unit, in any case.
  /// - Returns: whole bytes; nil for anything else, and for more than an exbibyte.
  public static func parse(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = text[digits.endIndex...].drop { $0 == " " }.lowercased()
    guard let first = digits.first, first != ".", digits.last != ".", let number = Double(digits),
      let factor = units.first(where: { $0.name == unit })?.bytes, number * factor <= 0x1p60
    else { return nil }
    return Int(number * factor)
  }

  /// `740 bytes`, `1.4 MB`, `12 GB`: two digits at least, in powers of a thousand.
  public static func describe(_ bytes: Int) -> String {
    if bytes < 1000 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
    var (size, unit) = (Double(bytes) / 1e3, 0)
    let names = ["kB", "MB", "GB", "TB"]
    while size >= 999.5, unit < names.count - 1 { (size, unit) = (size / 1e3, unit + 1) }
    let tenths = Int((size * 10).rounded())
    return (tenths < 100 ? "\(tenths / 10).\(tenths % 10)" : "\(Int(size.rounded()))") + " \(names[unit])"
  }
}
