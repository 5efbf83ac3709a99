/// The names of formats of sound and video that have no decoder here.
public enum ForeignSound {
  private static let magic: [(bytes: [UInt8], offset: Int, name: String)] = [
    (Array("ADIF".utf8), 0, "AAC in ADIF"),
    ([0x30, 0x26, 0xB2, 0x75], 0, "Windows Media"),
    ([0x1A, 0x45, 0xDF, 0xA3], 0, "Matroska or WebM"),
    (Array("wvpk".utf8), 0, "WavPack"),
    (Array("MAC ".utf8), 0, "Monkey's Audio"),
    (Array("MP+".utf8), 0, "Musepack"),
    (Array("MPCK".utf8), 0, "Musepack"),
    (Array("DSD ".utf8), 0, "DSD (a DSF file)"),
    (Array("FRM8".utf8), 0, "DSD (a DSDIFF file)"),
    (Array("TTA1".utf8), 0, "True Audio"),
    (Array("OFR ".utf8), 0, "OptimFROG"),
    (Array("tBaK".utf8), 0, "TAK"),
    (Array("ajkg".utf8), 0, "Shorten"),
    (Array("#!AMR".utf8), 0, "AMR"),
    (Array(".RMF".utf8), 0, "RealAudio"),
    (Array(".ra".utf8) + [0xFD], 0, "RealAudio"),
    (Array("FLV".utf8) + [1], 0, "Flash Video"),
    (Array("AVI ".utf8), 8, "AVI"),
    ([0, 0, 1, 0xBA], 0, "an MPEG programme stream"),
    (Array("MThd".utf8), 0, "MIDI"),
  ]

  /// Returns the name of the format that begins with `head`; nil when it is decoded here, or unknown.
  public static func name(of head: ArraySlice<UInt8>) -> String? {
    magic.first { head.dropFirst($0.offset).starts(with: $0.bytes) }?.name
  }

  /// Returns `true` if a text is the name of such a format.
  public static func isName(_ text: String) -> Bool { magic.contains { $0.name == text } }

  /// The name of an MPEG transport stream, in words.
  public static let transportStream = "an MPEG transport stream (MPEG-TS)"

  /// Returns `true` if `head` is packets of a transport stream, three of them at least. Source: ISO/IEC
  /// 13818-1 §2.4.3.2.
  public static func isTransportStream(_ head: ArraySlice<UInt8>) -> Bool {
    head.count > 2 * 188
      && stride(from: head.startIndex, to: head.endIndex, by: 188).allSatisfy { head[$0] == 0x47 }
  }

  private static let inOgg: [(bytes: [UInt8], name: String)] = [
    (Array("Speex   ".utf8), "Speex in Ogg"),
    ([0x80] + Array("theora".utf8), "Theora video in Ogg"),
    (Array("OVP80".utf8), "VP8 video in Ogg"),
    (Array("BBCD".utf8), "Dirac video in Ogg"),
    ([1] + Array("video".utf8), "video in Ogg"),
    (Array("CELT".utf8), "CELT in Ogg"),
    (Array("PCM     ".utf8), "PCM in Ogg"),
    (Array("fishead".utf8), "Ogg Skeleton"),
  ]

  /// Returns the name of the codec of an Ogg file with this first packet; nil when it is decoded here, or
  /// unknown.
  static func name(ofOgg packet: ArraySlice<UInt8>) -> String? {
    inOgg.first { packet.starts(with: $0.bytes) }?.name
  }
}
