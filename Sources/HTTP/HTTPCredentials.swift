/// A name and a password for basic authentication. No description, dump or error contains them.
public struct HTTPCredentials: Sendable, Equatable {
  /// The user's name; may not hold a colon (RFC 7617 §2).
  public let user: String
  /// The password.
  public let password: String

  /// The credentials of `user`.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }
}

extension HTTPCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A placeholder without the credentials.
  public var description: String { "<credentials>" }
  /// A placeholder without the credentials.
  public var debugDescription: String { description }
  /// An empty mirror.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
