internal import EventLoop
internal import StreamCore

/// A list of segments that is followed, and the current requests: for itself, and for a segment.
struct HLSList: Sendable {
  /// The request for the list.
  enum Load: Sendable {
    /// The list is complete.
    case over
    case due(Instant)
    case loading(since: Instant)
    /// The list of a better version is awaited, while segments of this one come.
    case rising(to: StreamAddress, since: Instant)

    /// The moment of the next request; nil without one, and while an answer is awaited without a limit.
    var deadline: Instant? {
      switch self {
      case .over, .loading: nil
      case .due(let moment): moment
      case .rising(_, let since): since.advanced(by: riseTime)
      }
    }

    /// Returns the next request for a list: after its target duration, or half of it if the last copy had
    /// nothing new.
    /// - Parameter since: the moment of the last request.
    static func next(of media: HLSMedia, isNew: Bool, since: Instant, at now: Instant) -> Load {
      let target = min(media.targetDuration, 3600)
      let wait = Duration(inSeconds: isNew ? max(1, target) : max(0.5, target / 2))
      return .due(max(now, since.advanced(by: wait)))
    }
  }

  /// The request for a segment.
  enum Fetch: Sendable {
    case none
    /// The segment is requested again at that moment, or with a newer list, unless the server asked for the
    /// delay.
    case waiting(until: Instant, isAsked: Bool)
    case fetching(HLSPiece, since: Instant)

    /// The moment of the next request; nil if none is planned.
    var deadline: Instant? { if case .waiting(let moment, _) = self { moment } else { nil } }
  }

  /// The time for which the list of a better version may be awaited.
  static let riseTime = Duration.seconds(3)

  /// The address of the version.
  let version: StreamAddress
  let media: HLSMedia
  /// The address of its answer, to which its references are relative.
  let base: StreamAddress
  /// The time at which the list came.
  let came: Instant
  var load: Load
  var fetch: Fetch
}

/// The received copies of a list: several servers at one address may answer with older ones.
struct HLSListCopies: Sendable {
  /// The age of a copy among the received ones.
  enum Age: Sendable {
    /// An older copy, to be ignored.
    case older
    /// A copy without anything new.
    case same
    case newer
  }

  /// The end of the newest copy, the name of its last segment, and its version; nil before the first.
  private var newest: (end: Int, last: HLSSegment.Name?, isEnded: Bool, of: StreamAddress)?
  /// The number of consecutive copies that seemed older.
  private var backwards = 0
  /// The number of such copies after which they count: the numbers have begun anew.
  private static let limit = 3

  /// Receives a copy of the list of a version.
  /// - Parameter isBehind: `true` if it ends before the next segment, and its numbers are those of the copy
  ///   before.
  mutating func receive(_ media: HLSMedia, of version: StreamAddress, isBehind: Bool) -> Age {
    let old = newest.flatMap { $0.of == version ? $0 : nil }
    if isBehind, old != nil {
      backwards += 1
      if backwards < Self.limit { return .older }
    }
    backwards = 0
    let last = media.segments.last?.name
    newest = (media.end, last, media.isEnded, version)
    let isSame = old.map { $0.end == media.end && $0.last == last && $0.isEnded == media.isEnded }
    return isSame == true ? .same : .newer
  }
}
