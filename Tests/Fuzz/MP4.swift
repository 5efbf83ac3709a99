import AudioCore
@testable import Codecs
import EventLoop
import Glibc

/// A file without a name that takes one input after another.
private let file: CInt = {
  var template = Array("/tmp/roomtone-fuzz-XXXXXX".utf8CString)
  let descriptor = mkstemp(&template)
  require(descriptor >= 0, "there is a temporary file")
  unlink(template)
  return descriptor
}()

/// libFuzzer's entry: an MP4 file, from its boxes to the bytes of its frames.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard ftruncate(file, 0) == 0, pwrite(file, start, count, 0) == count else { return -1 }
  do {
    let path = "/proc/self/fd/\(file)"
    let source = try MP4PacketSource(FileDescriptor(reading: path), path: path)
    let total = source.sampleCount
    require(total >= 0 && total <= count * 1024, "no more frames than bytes")
    let frames = try read(source, size: count)
    require(
      frames <= total / source.demuxer.configuration.samplesPerFrame, "no more frames than were counted")
    for target in [0, total / 2, total] {
      let first = try source.seek(toSample: target)
      require((0...target).contains(first), "a seek goes to the frame or before it")
      _ = try source.next()
    }
  } catch let error as AudioError {
    require(error.kind == .unreadable || error.kind == .unsupported, "bad files are told as such")
    check(error, size: count)
  } catch {
    require(false, "errors are AudioErrors")
  }
  return 0
}

/// Reads all frames.
/// - Returns: their number.
private func read(_ source: MP4PacketSource, size: Int) throws -> Int {
  var frames = 0
  while let packet = try source.next() {
    require(packet.bytes.count <= AACDecoder.longestFrame, "frames are no longer than AAC has")
    require((0..<size).contains(packet.offset), "frames lie in the file")
    frames += 1
  }
  return frames
}

private func check(_ error: AudioError, size: Int) {
  for fact in error.facts where fact.name == "byte" {
    guard case .int(let byte) = fact.value else { continue }
    require((0...size).contains(byte), "the byte that an error tells is one of the file")
  }
}
