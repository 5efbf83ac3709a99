internal import AudioCore
internal import LuaRuntime
internal import Playback

/// A block of sound for a tap's function, valid while the function runs.
final class ScriptBlock {
  private var block: TapBlock?
  private var isChanged = false

  init(_ block: TapBlock) { self.block = block }

  /// Ends the use of the block: the function has returned.
  /// - Returns: `true` if a sample was changed.
  func end() -> Bool {
    block = nil
    return isChanged
  }

  var description: String {
    guard let block else { return "block (gone)" }
    return "block (\(block.frames) frames, \(block.format.channels) channels, \(block.format.sampleRate) Hz)"
  }

  private func sound() throws -> TapBlock {
    guard let block else {
      throw LuaError(
        code: "argument", message: "a block is there only while the tap's function runs",
        hint: "copy the samples that you need inside the function")
    }
    return block
  }

  /// The sample that arguments 2 and 3 select, by frame and channel from 1 on.
  private func sample(_ call: LuaCall) throws -> UnsafeMutablePointer<Float> {
    let view = try sound().view
    let frame = try call.int(2, in: 1...view.frames)
    return view.samples + (frame - 1) * view.channels + (try call.int(3, in: 1...view.channels) - 1)
  }

  static func define(_ blocks: LuaClass<ScriptBlock>) {
    blocks.field("frames") { block, call in call.return(try block.sound().frames) }
    blocks.field("channels") { block, call in call.return(try block.sound().format.channels) }
    blocks.field("rate") { block, call in call.return(try block.sound().format.sampleRate) }
    blocks.method("get", arity: 2) { block, call in
      call.return(.number(Double(try block.sample(call).pointee)))
    }
    blocks.method("set", arity: 3) { block, call in
      let sample = try block.sample(call)
      sample.pointee = Float(try call.number(4, in: -limit...limit))
      block.isChanged = true
      return .none
    }
    blocks.method("rms", arity: 1) { block, call in
      let view = try block.sound().view
      let channel = call.isNil(2) ? nil : try call.int(2, in: 1...view.channels) - 1
      return call.return(.number(rms(view, channel)))
    }
    blocks.method("spectrum", arity: 1) { block, call in
      let view = try block.sound().view
      let bands = try call.int(2)
      guard BandLevels.supports(bands: bands) else {
        throw call.problem(2, "a power of two from 8 to 2048 expected, got \(bands)")
      }
      return call.return(.list(BandLevels(bands: bands).levels(of: view).map { .number($0) }))
    }
  }

  /// The largest sample: far beyond full scale, since sums of samples exceed it.
  private static let limit = 1000.0

  /// The level in dBFS of a channel, or of all channels.
  private static func rms(_ view: PCMView, _ channel: Int?) -> Double {
    var sum = 0.0
    let first = channel ?? 0
    let step = channel == nil ? 1 : view.channels
    for place in stride(from: first, to: view.count, by: step) {
      sum += Double(view.samples[place]) * Double(view.samples[place])
    }
    let count = channel == nil ? view.count : view.frames
    return Decibels.level(ofAmplitude: (sum / Double(max(1, count))).squareRoot())
  }
}
