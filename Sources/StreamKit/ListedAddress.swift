/// An address, and the number of lists that led to it.
struct ListedAddress: Sendable, Equatable {
  let address: StreamAddress
  let depth: Int
}
