/// A frame with its bytes, and a title that begins with it.
struct TitledFrame: Sendable {
  let frame: StreamFrame
  let bytes: [UInt8]
  let title: ICYMetadata?
}
