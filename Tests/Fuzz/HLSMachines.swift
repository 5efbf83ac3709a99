/// libFuzzer's entry: events of a machine of HLS, as `HLSMachineRun` reads them.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let broken = HLSMachineRun.broken(by: UnsafeBufferPointer(start: start, count: count))
  require(broken.isEmpty, broken.first ?? "")
  return 0
}
