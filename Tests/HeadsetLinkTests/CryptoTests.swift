import TestSupport
import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Hashes and keys", .tags(.headset, .link)) struct CryptoTests {
  // Source: the examples of FIPS 180-4 that NIST publishes.
  @Test(
    "hashes are those of FIPS 180-4, in one piece and in several",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func hashes(text: String, hash: String) {
    let bytes = Array(text.utf8)
    #expect(SHA256.hash(bytes) == hex(hash))
    let sum = SHA256()
    for byte in bytes { sum.update([byte]) }
    sum.update([])
    #expect(sum.finish() == hex(hash))
  }

  @Test("random bytes are as many as asked for, and others each time") func random() throws {
    #expect(try SecureRandom.bytes(0).isEmpty)
    let some = try (0..<100).map { _ in try SecureRandom.bytes(16) }
    #expect(Set(some).count == 100)
    #expect(some.allSatisfy { $0.count == 16 })
  }

  // Source: RFC 8032, section 7.1, tests 1 to 3.
  @Test(
    "signatures are those of RFC 8032",
    arguments: [
      (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
          + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
      ),
      (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
          + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
      ),
      (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
          + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
      ),
    ])
  func signatures(seed: String, key: String, message: String, signature: String) throws {
    let signing = try #require(SigningKey(seed: hex(seed)))
    #expect(signing.verifyingKey.bytes == hex(key))
    #expect(signing.sign(hex(message)) == hex(signature))
    #expect(signing.verifyingKey.isValid(signature: hex(signature), message: hex(message)))
  }

  @Test("a changed bit of signature, message or key, or another length, is no signature") func tampered()
    throws
  {
    let (key, message) = (SigningKey.development, Array("firmware".utf8))
    let signature = key.sign(message)
    #expect(VerifyingKey.development.isValid(signature: signature, message: message))
    for bit in 0..<signature.count * 8 {
      var other = signature
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(!VerifyingKey.development.isValid(signature: other, message: message))
    }
    for bit in 0..<message.count * 8 {
      var other = message
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(!VerifyingKey.development.isValid(signature: signature, message: other))
    }
    for length in [0, 32, 63, 65] {
      let other = Array((signature + [0]).prefix(length))
      #expect(!VerifyingKey.development.isValid(signature: other, message: message))
    }
    let another = try #require(SigningKey(seed: [UInt8](repeating: 1, count: 32)))
    #expect(!another.verifyingKey.isValid(signature: signature, message: message))
    #expect(
      !(try #require(VerifyingKey(bytes: [UInt8](repeating: 0, count: 32)))).isValid(
        signature: signature, message: message))
  }

  @Test("keys of another length than 32 bytes are none", arguments: [0, 31, 33]) func lengths(count: Int) {
    #expect(SigningKey(seed: [UInt8](repeating: 1, count: count)) == nil)
    #expect(VerifyingKey(bytes: [UInt8](repeating: 1, count: count)) == nil)
  }

  @Test("keys that openssl makes are read, and openssl agrees with their signatures") func openssl() throws {
    let folder = try TemporaryFolder()
    let (privatePath, publicPath) = (folder.file("private.pem"), folder.file("public.pem"))
    try Command.succeed("openssl", ["genpkey", "-algorithm", "ed25519", "-out", privatePath])
    try Command.succeed("openssl", ["pkey", "-in", privatePath, "-pubout", "-out", publicPath])
    let signing = try SigningKey(pem: Command.succeed("cat", [privatePath]).text)
    let verifying = try VerifyingKey(pem: Command.succeed("cat", [publicPath]).text)
    #expect(signing.verifyingKey == verifying)
    let message = Array("an image".utf8)
    let messagePath = try folder.write(message, to: "message")
    let ours = try folder.write(signing.sign(message), to: "ours")
    try Command.succeed(
      "openssl",
      ["pkeyutl", "-verify", "-pubin", "-inkey", publicPath, "-rawin", "-in", messagePath, "-sigfile", ours])
    let theirs = try Command.succeed(
      "openssl", ["pkeyutl", "-sign", "-inkey", privatePath, "-rawin", "-in", messagePath])
    #expect(verifying.isValid(signature: theirs.output, message: message))
  }

  @Test("data that is no Ed25519 key is named in the error") func otherKeys() throws {
    func made(_ arguments: String...) throws -> String { try Command.succeed("openssl", arguments).text }
    #expect(throws: CryptoError.otherKey) { try SigningKey(pem: made("genpkey", "-algorithm", "x25519")) }
    #expect(throws: CryptoError.otherKey) {
      try SigningKey(pem: made("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))
    }
    let locked = try made("genpkey", "-algorithm", "ed25519", "-aes-128-cbc", "-pass", "pass:secret")
    #expect(throws: CryptoError.lockedKey) { try SigningKey(pem: locked) }
    let plain = try made("genpkey", "-algorithm", "ed25519")
    #expect(throws: CryptoError.noKey) { try VerifyingKey(pem: plain) }
    for text in ["", "roomtone", String(plain.dropLast(40)), String(repeating: "a", count: 20_000)] {
      #expect(throws: CryptoError.noKey) { try SigningKey(pem: text) }
      #expect(throws: CryptoError.noKey) { try VerifyingKey(pem: text) }
    }
  }
}
