import TestTraits
import Testing

@testable import Codecs

@Suite("The table of codecs", .tags(.codecs)) struct CodecTests {
  @Test("every codec has its own row") func rows() {
    for codec in Codec.allCases { #expect(codec.row.codec == codec) }
  }

  @Test(
    "a codec with frames has a decoder of streams and of files, a container none of streams, PCM without headers neither"
  )
  func decoders() throws {
    for codec in Codec.allCases {
      #expect((codec.row.live != nil) == (codec.hasFrames && !codec.isSamples), "\(codec)")
      #expect((codec.row.open != nil) == (codec != .other && !codec.isSamples), "\(codec)")
    }
  }

  @Test("a file streams as the codec of its frames, where these are decoded one by one, else as PCM")
  func inFiles() {
    let own: [Codec] = [.layer1, .layer2, .mp3, .aac]
    for codec in Codec.allCases {
      #expect(codec.inFiles == (own.contains(codec) ? codec : codec == .mp4 ? .aac : .pcm), "\(codec)")
    }
  }

  @Test("a container is known by its first bytes alone, whatever stands in between")
  func magic() {
    func codec(_ text: String) -> Codec? { Codec(head: Array(text.utf8)) }
    #expect(codec("RIFFxxxxWAVEfmt ") == .wav && codec("RIFFxxxxAVI ") == nil)
    #expect(codec("\u{0}\u{0}\u{0}\u{20}ftypM4A ") == .mp4 && codec("RF64xxxxWAVE") == .pcm)
    #expect(codec("OggS") == .ogg && codec("Ogg") == nil && codec("") == nil)
    #expect(
      Codec(contentType: "Application/OGG; codecs=opus") == .ogg && Codec(contentType: "audio/mpeg") == nil)
  }

  @Test("extensions are those of some decoder, in lower case, and recordings have theirs") func extensions() {
    let recorded = Codec.allCases.map(\.fileEnd)
    #expect(
      recorded == [
        "mp1", "mp2", "mp3", "aac", "wav", "flac", "oga", "ogg", "opus", "ogg", "m4a", "wav", "wav",
        "bin",
      ])
    #expect(AudioFile.extensions.isSuperset(of: recorded.dropLast()))
    #expect(AudioFile.extensions.allSatisfy { $0 == $0.lowercased() })
  }
}
