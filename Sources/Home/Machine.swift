internal import Glibc

/// The machine on which the program runs.
public enum Machine {
  /// The name of the machine; nil without one. Source: gethostname(2).
  public static var hostName: String? {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
