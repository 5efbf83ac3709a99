internal import EventLoop
public import HeadsetLink

/// What the configuration says of headsets.
public struct HeadsetSettings: Sendable, Equatable {
  /// Where the headset is that is meant when none is named.
  public var address: LinkAddress?
  /// The file of the key that is shared with it; nil for the development key.
  public var keyFile: String?
  /// The file of the public key that firmware must be signed for; nil for the development key.
  public var firmwareKeyFile: String?

  /// No headset, and the keys of development.
  public init() {}

  /// The key that is shared with headsets, read anew.
  /// - Throws: `auth` when the file can't be read or is no key.
  func key(file: String? = nil) throws(HeadsetError) -> LinkKey {
    guard let path = file ?? keyFile else { return .development }
    return try LinkKey(file: path)
  }

  /// Whose firmware headsets are given, read anew.
  /// - Throws: `updateFailed` with step "check" when the file can't be read or is no public key.
  func firmwareKey() throws(HeadsetError) -> VerifyingKey {
    guard let path = firmwareKeyFile else { return .development }
    do throws(HeadsetError) { return try VerifyingKey(file: path) } catch {
      throw HeadsetError(
        .updateFailed, error.message, hint: error.hint,
        facts: [ErrorFact("step", .string("check")), ErrorFact("reason", .string(error.message))])
    }
  }
}
