/// Hands `body` the bytes in pieces of `size`, in memory of their own, so that the address sanitizer sees their ends.
func inPieces(_ bytes: some Collection<UInt8>, of size: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
  var rest = bytes[...]
  while !rest.isEmpty {
    Array(rest.prefix(max(1, size))).withUnsafeBytes(body)
    rest = rest.dropFirst(max(1, size))
  }
}

/// The size of pieces that an input is cut in, derived from all of it: 1 to 4096, small ones as often as large ones.
func pieceSize(of input: some Collection<UInt8>) -> Int {
  let sum = input.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
  return 1 + (sum & 0xFFF) >> (sum >> 12)
}

/// Returns `true` for a text without control characters, as texts of stations are delivered.
func isClean(_ text: String) -> Bool {
  text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
}
