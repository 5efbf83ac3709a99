/// A frame with its bytes, and a title that begins with it.
package struct TitledFrame: Sendable {
  package let frame: StreamFrame
  package let bytes: [UInt8]
  package let title: ICYMetadata?

  package init(frame: StreamFrame, bytes: [UInt8], title: ICYMetadata?) {
    (self.frame, self.bytes, self.title) = (frame, bytes, title)
  }
}
