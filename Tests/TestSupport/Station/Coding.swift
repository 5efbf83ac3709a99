/// Returns `bytes` as a gzip file of blocks that are stored, not compressed. Source: RFC 1952, RFC 1951
/// §3.2.4.
public func gzip(_ bytes: [UInt8]) -> [UInt8] {
  var result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
  var rest = bytes[...]
  repeat {
    let block = rest.prefix(65_535)
    rest = rest.dropFirst(block.count)
    let length = UInt16(block.count)
    result.append(rest.isEmpty ? 1 : 0)
    for part in [length, ~length] { result += [UInt8(part & 0xFF), UInt8(part >> 8)] }
    result += block
  } while !rest.isEmpty
  for word in [crc32(bytes), UInt32(truncatingIfNeeded: bytes.count)] {
    result += (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
  }
  return result
}

private func crc32(_ bytes: [UInt8]) -> UInt32 {
  let table = (0..<256).map { index in
    var value = UInt32(index)
    for _ in 0..<8 { value = value & 1 == 1 ? (value >> 1) ^ 0xEDB8_8320 : value >> 1 }
    return value
  }
  var crc = UInt32.max
  for byte in bytes { crc = table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ (crc >> 8) }
  return ~crc
}

/// Returns `text` in base 64. Source: RFC 4648 §4.
public func base64(_ text: String) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  let bytes = Array(text.utf8)
  var result = ""
  for begin in stride(from: 0, to: bytes.count, by: 3) {
    let part = bytes[begin...].prefix(3)
    let word = part.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - part.count))
    for index in 0..<4 { result.append(index <= part.count ? alphabet[word >> (18 - 6 * index) & 63] : "=") }
  }
  return result
}
