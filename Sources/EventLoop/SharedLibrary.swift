internal import Glibc

/// A failure to load a shared library: it is not installed, or is another version.
public struct LibraryError: Error, Equatable, CustomStringConvertible {
  /// The failure in one line: "libedit.so.2 can't be loaded: cannot open shared object file: No such file or
  /// directory".
  public let message: String
  /// The advice to the user in one line: "apt install libedit2".
  public let hint: String

  /// Creates a failure.
  public init(message: String, hint: String) { (self.message, self.hint) = (message, hint) }

  /// The message and the hint in one line.
  public var description: String { "\(message); \(hint)" }
}

/// A shared library that is loaded at its first use, since most runs need no such library, and each costs
/// time and memory at every start.
///
/// The file that owns it keeps it in a `static let`: the thread that needs it first loads it, once. It stays
/// loaded for the life of the process.
///
/// `static let library = SharedLibrary<edit_library>("libedit.so.2", package: "libedit2", names:
/// edit_names())`
///
/// Source: dlopen(3); `Sources/CLinux/library.h` declares the struct and the names.
public struct SharedLibrary<Functions: Sendable>: Sendable {
  private let result: Result<Functions, LibraryError>

  /// Loads a library.
  /// - Parameters:
  ///   - file: the name of its file with the version of its interface, as the linker knows it.
  ///   - package: Debian's package with the file.
  ///   - names: the names of its functions, each followed by a space, in the order of the fields of
  ///     `Functions`, a C struct of pointers to them.
  public init(_ file: String, package: String, names: UnsafePointer<CChar>) {
    result = Result { () throws(LibraryError) in
      guard let library = dlopen(file, RTLD_LAZY | RTLD_LOCAL) else { throw Self.failure(file, package) }
      var functions: [UnsafeMutableRawPointer] = []
      for name in String(cString: names).split(separator: " ") {
        guard let function = dlsym(library, String(name)) else { throw Self.failure(file, package) }
        functions.append(function)
      }
      return functions.withUnsafeBytes { bytes in
        precondition(bytes.count == MemoryLayout<Functions>.size, "\(file): a field for each name")
        return bytes.load(as: Functions.self)
      }
    }
  }

  /// The functions.
  /// - Throws: the failure to load them.
  public var functions: Functions { get throws(LibraryError) { try result.get() } }

  /// The failure to load it; nil if it is loaded.
  public var failure: LibraryError? {
    if case .failure(let error) = result { error } else { nil }
  }

  /// Returns the failure that the dynamic linker noted last for this thread.
  private static func failure(_ file: String, _ package: String) -> LibraryError {
    let text = dlerror().map { String(cString: $0) } ?? "unknown"
    let prefix = file + ": "
    let cause = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
    return LibraryError(
      message: "\(file) can't be loaded: \(String(cause).cleaned)", hint: "apt install \(package)")
  }
}
