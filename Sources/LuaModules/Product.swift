/// The product, as people see it.
public enum Product {
  /// The version of program and library: `roomtone --version`, `stream.version`.
  public static let version = "0.1.0"
}
