/// A name and a password for basic authentication. No description, dump or error tells them.
public struct HTTPCredentials: Sendable, Equatable {
  /// Who asks; may not hold a colon (RFC 7617 §2).
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
  /// Says only that there are some.
  public var description: String { "<credentials>" }
  /// Says only that there are some.
  public var debugDescription: String { description }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
