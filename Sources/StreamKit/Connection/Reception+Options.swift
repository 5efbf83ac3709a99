internal import EventLoop
internal import HTTP

extension Reception {
  /// What is asked of servers.
  struct Options: Sendable {
    var userAgent = "Roomtone"
    var credentials: HTTPCredentials?
    var dataTimeout = Duration.seconds(20)
    var encoding = MetadataEncoding.latin1
    /// The kind of list that the URL leads to; nil to find out, which never fails for a list that says what it is.
    var playlist: Playlist.Format?
    var isRaw = false
    /// Sound that comes at a time.
    var wakeTime = Duration.milliseconds(250)
    /// Whether it is a file and no station; nil to find out.
    var isFile: Bool?
    /// What is to come of a file before it plays, and how much of it comes ahead of the player.
    var fileWait = StreamTime(seconds: 3)
    var fileLead = StreamTime(seconds: 3)
    /// What it waits and reckons by.
    var clock = ReceptionClock.loop
  }
}
