/// What keys and random numbers fail with.
public enum CryptoError: Error, Equatable {
  /// The machine gives no random numbers.
  case noRandomness
  /// A text is no key in PEM.
  case noKey
  /// A key is locked with a passphrase.
  case lockedKey
  /// A key is for something else than Ed25519.
  case otherKey

  /// What is wrong, as the end of a sentence: "the key …".
  public var reason: String {
    switch self {
    case .noRandomness: "needs random numbers, and the machine gives none"
    case .noKey: "is not a key in PEM"
    case .lockedKey: "is locked with a passphrase"
    case .otherKey: "is not one of Ed25519"
    }
  }
}
