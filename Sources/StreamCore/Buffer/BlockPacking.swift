/// The end of the newest frame of a packet buffer: the block, the bytes in it, and the frames that begin in it.
struct BlockPacking {
  /// The part that decides how the frames that follow are packed.
  private struct Fill: Hashable {
    let used: Int, frames: Int
  }

  var block: Int
  var used: Int
  var frames: Int

  /// Returns the number of further blocks that a frame of `length` bytes needs.
  @inline(__always) func blocksNeeded(for length: Int) -> Int {
    if used + length <= PacketBuffer.blockSize, frames < PacketBuffer.framesPerBlock { return 0 }
    return PacketBuffer.blocks(of: length)
  }

  /// Moves past frames of a station, as appending them to a buffer of `blocks` blocks does.
  mutating func pass(_ numbers: Range<Int>, of sound: StationSound, blocks: Int) {
    var (moved, next) = (0, numbers.lowerBound)
    // A file that repeats fills blocks in a few ways only.
    var rounds: [Fill: (moved: Int, fill: Fill)] = [:]
    while next < numbers.upperBound {
      let round = min(sound.frameCount - next % sound.frameCount, numbers.upperBound - next)
      let (fill, isWhole) = (Fill(used: used, frames: frames), round == sound.frameCount)
      if isWhole, let known = rounds[fill] {
        moved += known.moved
        (used, frames) = (known.fill.used, known.fill.frames)
      } else {
        let before = moved
        for number in next..<next + round { moved += add(sound.length(of: number)) }
        if isWhole { rounds[fill] = (moved - before, Fill(used: used, frames: frames)) }
      }
      next += round
    }
    block = (block + moved) % blocks
  }

  /// Adds a frame.
  /// - Returns: the number of blocks between its end and the former one.
  private mutating func add(_ length: Int) -> Int {
    let needed = blocksNeeded(for: length)
    if needed > 0 { (used, frames) = (0, 0) }
    frames += 1
    used += length - max(0, needed - 1) * PacketBuffer.blockSize
    return needed
  }
}
