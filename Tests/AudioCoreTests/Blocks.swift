import AudioCore

/// Returns a block of `channels` channels with interleaved `samples`.
func block(_ samples: [Float], channels: Int = 1) -> PCMBlock {
  let block = PCMBlock(
    format: AudioFormat(sampleRate: 48_000, channels: channels), frames: samples.count / channels)
  _ = block.view.buffer.update(fromContentsOf: samples)
  return block
}

/// Returns a stereo block.
func stereo(_ left: [Float], _ right: [Float]) -> PCMBlock {
  block(zip(left, right).flatMap { [$0, $1] }, channels: 2)
}

/// Returns all samples of a block, interleaved.
func samples(_ block: PCMBlock) -> [Float] { Array(block.view.buffer) }
