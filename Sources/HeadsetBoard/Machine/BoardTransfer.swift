internal import HeadsetLink

/// A transfer that is under way, as the running board knows it.
struct BoardTransfer {
  let id: UInt32
  let image: BoardImage
  /// Bytes of the image that are there.
  var next: Int
  /// Their checksum.
  var checksum: CRC32
  var state: TransferStatus.State

  /// Bytes of the whole image.
  var size: Int { image.manifest.imageSize }

  var status: TransferStatus {
    TransferStatus(state: state, nextOffset: UInt32(next), prefixChecksum: checksum.value)
  }

  /// What a journal says of it.
  var journal: TransferJournal {
    TransferJournal(image, offset: UInt32(next), checksum: checksum.value)
  }
}
