@testable import Codecs

/// libFuzzer's entry: an ADTS stream, cut by its first bytes.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  checkScanner(ADTSHeader.self, UnsafeBufferPointer(start: start, count: count))
  return 0
}
