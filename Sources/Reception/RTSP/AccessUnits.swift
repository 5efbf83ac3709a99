/// The layout of the headers of access units, in bits. Source: RFC 3640 §3.2.1.
struct AccessUnitLayout: Equatable, Sendable {
  let sizeBits: Int
  let indexBits: Int
  let deltaBits: Int

  /// `true` if each header states a size in at most 4 bytes.
  var isUsable: Bool {
    (1...16).contains(sizeBits) && (0...16).contains(indexBits) && (0...16).contains(deltaBits)
  }
}

/// Reassembles the access units of AAC. Source: RFC 3640 §3.2. Memory: one unit of at most 64 KiB.
struct AccessUnits: Sendable {
  /// A unit that is longer than its packet.
  private struct Fragment {
    let timestamp: UInt32
    let size: Int
    var bytes: [UInt8]
  }

  private let layout: AccessUnitLayout
  private var fragment: Fragment?

  init(_ layout: AccessUnitLayout) { self.layout = layout }

  /// Returns the whole units in a packet, in the order of their bytes. Units whose sizes lie are left out.
  mutating func receive(_ packet: RTPPacket) -> [ArraySlice<UInt8>] {
    let bytes = packet.payload
    guard bytes.count >= 2 else { return [] }
    let headerBits = Int(bytes[bytes.startIndex]) << 8 | Int(bytes[bytes.startIndex + 1])
    let start = bytes.startIndex + 2 + (headerBits + 7) / 8
    guard start <= bytes.endIndex else { return lose() }
    var reader = HeaderBits(bytes[(bytes.startIndex + 2)..<start], count: headerBits)
    var (units, position) = ([ArraySlice<UInt8>](), start)
    var isFirst = true
    while let size = reader.next(layout.sizeBits) {
      guard reader.next(isFirst ? layout.indexBits : layout.deltaBits) != nil else { break }
      let there = bytes.endIndex - position
      if isFirst, size > there, reader.isAtEnd {
        return add(bytes[position...], of: size, packet)
      }
      isFirst = false
      guard size <= there else { break }
      if size > 0 { units.append(bytes[position..<(position + size)]) }
      position += size
    }
    fragment = nil
    return units
  }

  /// Drops the unit whose rest is lost.
  mutating func reset() { fragment = nil }

  private mutating func lose() -> [ArraySlice<UInt8>] {
    fragment = nil
    return []
  }

  /// Adds a piece of a unit; all pieces state its size.
  private mutating func add(
    _ bytes: ArraySlice<UInt8>, of size: Int, _ packet: RTPPacket
  ) -> [ArraySlice<UInt8>] {
    if fragment?.timestamp != packet.timestamp || fragment?.size != size {
      fragment = Fragment(timestamp: packet.timestamp, size: size, bytes: [])
    }
    fragment?.bytes += bytes
    guard let whole = fragment, whole.bytes.count >= size || packet.isMarked else { return [] }
    fragment = nil
    return whole.bytes.count == size ? [whole.bytes[...]] : []
  }

  /// Reads the bits of the headers, the highest first.
  private struct HeaderBits {
    private let bytes: ArraySlice<UInt8>
    private let count: Int
    private var position = 0

    init(_ bytes: ArraySlice<UInt8>, count: Int) { (self.bytes, self.count) = (bytes, count) }

    var isAtEnd: Bool { position >= count }

    /// Returns the next number of `width` bits; nil if fewer are left.
    mutating func next(_ width: Int) -> Int? {
      guard position + width <= count else { return nil }
      var value = 0
      for bit in position..<(position + width) {
        value = value << 1 | Int(bytes[bytes.startIndex + bit / 8] >> (7 - bit % 8) & 1)
      }
      position += width
      return value
    }
  }
}
