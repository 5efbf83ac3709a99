internal import EventLoop
internal import HTTP

extension Reception {
  /// What is asked of servers.
  struct Options: Sendable {
    var userAgent = "Roomtone"
    var credentials: HTTPCredentials?
    var certificateFile: String?
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
    /// The most sound that a live server may send ahead of real time before it is held back; nil for any.
    var liveLead: StreamTime? = StreamTime(seconds: 20)
    /// What it waits and reckons by.
    var clock = ReceptionClock.loop

    /// What is told to the server of `url`, to which `origin` led. Scheme, host and port decide: any other server is
    /// not told who asks, and the same one is, also where `origin` itself holds user and password.
    func credentials(for url: String, from origin: String) -> HTTPCredentials? {
      guard StreamURL.isSameServer(url, origin) else { return nil }
      return credentials ?? (try? HTTPRequest(origin))?.credentials
    }
  }
}
