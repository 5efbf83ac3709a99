internal import AudioCore
internal import CVorbis

/// Decodes the packets of Vorbis, through libvorbis.
final class VorbisPacketDecoder: OggPacketDecoder {
  static var libraryVersion: String? { vorbis_version_string().map { String(cString: $0) } }

  private let state: VorbisState
  private let channels: Int
  private let order: [Int]

  /// - Throws: `audio.unreadable` when libvorbis refuses the headers.
  init(_ headers: OggHeaders) throws(AudioError) {
    guard let info = VorbisInfo(headers), let state = VorbisState(info) else {
      throw AudioError.unreadable("the stream", found: "Vorbis with damaged headers", atByte: 0)
    }
    self.state = state
    channels = headers.channels
    order = VorbisChannels.order(headers.channels) ?? Array(0..<headers.channels)
  }

  func decode(_ packet: [UInt8], into samples: inout [Float]) {
    let isDecoded = VorbisInfo.withPacket(packet, number: 3) { raw in
      vorbis_synthesis(state.block, raw) == 0 && vorbis_synthesis_blockin(state.raw, state.block) == 0
    }
    guard isDecoded else { return }
    var planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>?>?
    while true {
      let count = Int(vorbis_synthesis_pcmout(state.raw, &planes))
      guard count > 0, let planes else { return }
      samples.reserveCapacity(samples.count + count * channels)
      for frame in 0..<count {
        for channel in order { samples.append(planes[channel]?[frame] ?? 0) }
      }
      vorbis_synthesis_read(state.raw, CInt(count))
    }
  }

  func reset() { vorbis_synthesis_restart(state.raw) }
}

/// The state of a decoder of libvorbis, and the headers that it was made of, which must outlast it.
private struct VorbisState: ~Copyable {
  private let info: VorbisInfo
  let raw: UnsafeMutablePointer<vorbis_dsp_state>
  let block: UnsafeMutablePointer<vorbis_block>

  /// Nil when libvorbis refuses.
  init?(_ info: consuming VorbisInfo) {
    let raw = UnsafeMutablePointer<vorbis_dsp_state>.allocate(capacity: 1)  // deallocated by deinit, or below
    guard vorbis_synthesis_init(raw, info.raw) == 0 else {
      raw.deallocate()
      return nil
    }
    block = .allocate(capacity: 1)  // deallocated by deinit
    vorbis_block_init(raw, block)
    self.raw = raw
    self.info = info
  }

  deinit {
    vorbis_block_clear(block)
    vorbis_dsp_clear(raw)
    block.deallocate()
    raw.deallocate()
  }
}
