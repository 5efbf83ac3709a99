/// The product's identity.
public enum Product {
  /// The version of the program and its Lua library: `roomtone --version`, `stream.version`.
  public static let version = "0.1.0"
}
