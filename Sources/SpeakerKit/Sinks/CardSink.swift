internal import AudioCore

/// A sink with a clock of its own, such as a sound card. For one thread, as `PCMSink`.
protocol CardSink: PCMSink {
  /// The number of frames written and not heard yet.
  var delay: Int { get }
  /// The number of frames written and not played yet: `delay` without the frames on their way to the ear.
  var held: Int { get }
  /// The time without frames after which the sink is drained.
  var restDelay: Duration { get }
  /// Starts a sink that waits for more frames; does nothing when it runs.
  func start() throws
  /// Drains the sink before a pause: returns when all frames have been heard.
  func rest() throws
  /// `true` if the card has stopped playing without an error.
  var hasStalled: Bool { get }
  /// Writes frames, of which the first has this index in the sound of the house; the sink may have missed
  /// frames before.
  func write(_ samples: UnsafeBufferPointer<Float>, at frame: Int) throws
  /// Falls out of step, as the sink has missed frames: the next one enters anew.
  func rejoin()
  /// Plays a moment of silence, to be called before the first frame of a card that had stopped playing.
  /// - Throws: `audio.no_output` when the card does not play it.
  func check() throws
}

extension CardSink {
  /// All of `delay`.
  var held: Int { delay }
  /// `false`: the sink fails with errors.
  var hasStalled: Bool { false }
  /// Writes frames that follow the last ones.
  func write(_ samples: UnsafeBufferPointer<Float>, at frame: Int) throws { try write(samples) }
  /// Does nothing: the sink is in step with no other one.
  func rejoin() {}
  /// Does nothing: the sink fails when it is opened, or not at all.
  func check() throws {}
  /// Three blocks.
  var restDelay: Duration { .milliseconds(60) }
  /// Does nothing: the sink starts by itself.
  func start() throws {}
}
