/// What fills the buffer of one stream, and tells of what happens meanwhile: a station over the network, or whatever
/// stands for one. All may be called on any thread.
protocol StreamReceiver: AnyObject, Sendable {
  /// Begins. Once.
  func start()
  /// Ends it for good; nothing is told any more once it has come to it.
  func stop()
  /// Receives again after the buffer was full.
  func restart()
  /// Receives as these say from now on, what is under way as far as that can be.
  func change(_ options: Reception.Options)
  /// The player has nothing left: what is held back may be all that it gets for long.
  func playerIsDry()
  /// Goes to another place of a file: frames from there on are wanted, marked as behind the leap of that number.
  func seek(to time: StreamTime, leap: Int)
}

extension StreamReceiver {
  func restart() {}
  func change(_ options: Reception.Options) {}
  func playerIsDry() {}
  func seek(to time: StreamTime, leap: Int) {}
}
