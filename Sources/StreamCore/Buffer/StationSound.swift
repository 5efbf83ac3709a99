internal import Codecs
internal import EventLoop

/// Consecutive frames of a simulated station, by their numbers: a span of sound as a value.
package struct FrameRun {
  package let sound: StationSound
  package var numbers: Range<Int>

  package init(sound: StationSound, numbers: Range<Int>) {
    (self.sound, self.numbers) = (sound, numbers)
  }

  /// The length of its sound.
  var duration: StreamTime { sound.start(of: numbers.upperBound) - sound.start(of: numbers.lowerBound) }

  /// Returns its last frames, as many as fit in `bytes`, and one frame before them.
  func last(bytes: Int) -> Range<Int> {
    let first = sound.count(byPlace: sound.place(of: numbers.upperBound) - bytes)
    return max(numbers.lowerBound, first)..<numbers.upperBound
  }
}

/// The sound of a simulated station: the frames of a sound file, repeated as one stream without an end. A
/// frame that only describes the others (Xing, Info, VBRI) is left out. An Ogg file becomes a chain: each
/// round begins with its headers, whose comments are titles. An HLS list is the sound of its segments, which
/// lie beside it, with the titles of the list and of the tags in its segments. The format may change from one
/// frame to the next.
public final class StationSound: Sendable {
  /// The list in which an HLS station publishes its sound: as long as that of its file, always with the
  /// newest segments.
  package struct Window: Sendable {
    /// The sound in the list.
    package let length: StreamTime
    /// The sound before the end of the list at which a listener begins.
    package let lead: StreamTime
    /// The longest time without bytes, beside that of the options: a list changes once in a target duration.
    package let silenceLimit: Duration

    package init(length: StreamTime, lead: StreamTime, silenceLimit: Duration) {
      (self.length, self.lead, self.silenceLimit) = (length, lead, silenceLimit)
    }
  }

  /// The list of an HLS station; nil for a station that sends one answer without an end.
  package let window: Window?
  /// The bit rate in kbit/s, on average.
  package let bitRate: Int
  private let frames: [StreamFrame]
  /// The start of each frame, and the end of the last one: in time, and in `bytes`.
  private let times: [StreamTime]
  private let places: [Int]
  private let bytes: [UInt8]
  /// The titles that come with the sound, each with its first frame.
  private let titles: [(number: Int, title: ICYMetadata)]
  /// The formats of the frames, each with the first frame that has it.
  private let formats: [(number: Int, format: StreamFormat)]

  /// Creates the sound of frames, which are longer than zero together.
  /// - Parameters:
  ///   - times: the start of each frame, and the end of the last one.
  ///   - places: the start of each frame in `bytes`, and the end of the last one.
  ///   - titles: the titles that come with the sound, each with its first frame.
  ///   - formats: the formats of the frames, each with the first frame that has it.
  package init(
    frames: [StreamFrame], times: [StreamTime], places: [Int], bytes: [UInt8],
    titles: [(number: Int, title: ICYMetadata)], formats: [(number: Int, format: StreamFormat)],
    window: Window?
  ) {
    (self.window, self.formats) = (window, formats)
    self.frames = frames
    self.times = times
    self.places = places
    self.bytes = bytes
    self.titles = titles
    let seconds = times.last?.seconds ?? 0
    bitRate = Int((Double(bytes.count) * 8 / 1000 / seconds).rounded())
  }

  /// Returns the first title that begins with a frame of `numbers`, and the number of that frame.
  package func title(in numbers: Range<Int>) -> (number: Int, title: ICYMetadata)? {
    guard !titles.isEmpty, !numbers.isEmpty else { return nil }
    let (rounds, index) = numbers.lowerBound.quotientAndRemainder(dividingBy: frames.count)
    let next = titles.first { $0.number >= index }.map { (rounds * frames.count + $0.number, $0.title) }
    guard let found = next ?? titles.first.map({ ((rounds + 1) * frames.count + $0.number, $0.title) }),
      numbers.contains(found.0)
    else { return nil }
    return found
  }

  /// Returns the title of a frame; nil if none has begun by then.
  package func title(of number: Int) -> ICYMetadata? {
    let index = number % frames.count
    return titles.last { $0.number <= index }?.title ?? (number >= frames.count ? titles.last?.title : nil)
  }

  /// The length of the list of an HLS station; nil for a station that sends one answer without an end.
  public var listLength: Duration? { window.map { Duration(inSeconds: $0.length.seconds) } }

  /// `true` if the frames are Ogg pages.
  package var isOgg: Bool { frames[0].codec.isOgg }

  /// Returns the format of a frame.
  package func format(of number: Int) -> StreamFormat { frames[number % frames.count].format }

  /// Returns the first frame after `number` that may have another format than that frame: where a format
  /// begins; nil for sound of one format.
  package func formatEnd(of number: Int) -> Int? {
    guard formats.count > 1 else { return nil }
    let (rounds, index) = number.quotientAndRemainder(dividingBy: frames.count)
    let next = formats.first { $0.number > index }?.number ?? frames.count
    return rounds * frames.count + next
  }

  /// Returns the number of the frame of headers that decoders need for frame `number`; nil for frames without
  /// headers.
  package func headers(of number: Int) -> Int? {
    guard isOgg else { return nil }
    let index = number % frames.count
    return frames[...index].lastIndex(where: \.isHeaders).map { number - index + $0 }
  }

  /// Returns the length of `count` bytes.
  package func time(ofBytes count: Int) -> StreamTime {
    StreamTime(seconds: Double(count) / Double(bytes.count) * round.seconds)
  }

  /// The length of one round through the file.
  private var round: StreamTime { times[frames.count] }

  /// Returns the start of frame `number` of the stream.
  package func start(of number: Int) -> StreamTime {
    let (rounds, index) = number.quotientAndRemainder(dividingBy: frames.count)
    return StreamTime(ticks: rounds * round.ticks) + times[index]
  }

  /// Returns the number of frames that have ended by `time` of the stream.
  package func count(by time: StreamTime) -> Int {
    guard time > .zero else { return 0 }
    let (rounds, rest) = time.ticks.quotientAndRemainder(dividingBy: round.ticks)
    var (low, high) = (0, frames.count)
    while low < high {
      let middle = (low + high + 1) / 2
      if times[middle].ticks <= rest { low = middle } else { high = middle - 1 }
    }
    return rounds * frames.count + low
  }

  /// Calls `body` with frame `number` of the stream.
  package func withFrame<Result>(_ number: Int, _ body: (StreamFrame, UnsafeRawBufferPointer) -> Result)
    -> Result
  {
    let (rounds, index) = number.quotientAndRemainder(dividingBy: frames.count)
    let frame = frames[index].moved(to: rounds * bytes.count + places[index])
    return bytes.withUnsafeBytes {
      body(frame, UnsafeRawBufferPointer(rebasing: $0[places[index]..<places[index + 1]]))
    }
  }

  /// Returns the offset of frame `number` in the bytes of the stream.
  func place(of number: Int) -> Int {
    let (rounds, index) = number.quotientAndRemainder(dividingBy: frames.count)
    return rounds * bytes.count + places[index]
  }

  /// Returns the number of frames that end within the first `count` bytes of the stream.
  func count(byPlace count: Int) -> Int {
    let (rounds, rest) = max(0, count).quotientAndRemainder(dividingBy: bytes.count)
    var (low, high) = (0, frames.count)
    while low < high {
      let middle = (low + high + 1) / 2
      if places[middle] <= rest { low = middle } else { high = middle - 1 }
    }
    return rounds * frames.count + low
  }

  /// Returns the length in bytes of frame `number` of the stream.
  func length(of number: Int) -> Int {
    let index = number % frames.count
    return places[index + 1] - places[index]
  }

  /// The number of frames in one round through the file.
  package var frameCount: Int { frames.count }
}
