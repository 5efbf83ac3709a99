/// An address, and the number of lists that led to it.
package struct ListedAddress: Sendable, Equatable {
  package let address: StreamAddress
  package let depth: Int

  package init(address: StreamAddress, depth: Int) { (self.address, self.depth) = (address, depth) }
}
