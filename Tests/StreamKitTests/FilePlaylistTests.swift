import AudioCore
import EventLoop
import Reception
import TestTraits
import Testing

@Suite("Playlists of files", .tags(.stream, .playlists, .files))
struct FilePlaylistTests {
  private func read(_ text: String, _ name: String = "/music/lists/list.m3u") throws -> [String] {
    let format = try #require(FilePlaylist.format(ofPath: name))
    return try FilePlaylist(Array(text.utf8), format: format, path: name).entries
      .map { $0.path + ($0.title.map { " = \($0)" } ?? "") }
  }

  @Test("m3u: paths as they are written, relative ones from the list's folder, with titles")
  func m3u() throws {
    #expect(
      try read(
        "#EXTM3U\r\n#EXTINF:12,Artist - One\r\na b.mp3\r\n../x/100%.mp3\r\n/abs/c.mp3\r\nRequiem: Lacrimosa.mp3\r\n"
      )
        == [
          "/music/lists/a b.mp3 = Artist - One", "/music/lists/../x/100%.mp3", "/abs/c.mp3",
          "/music/lists/Requiem: Lacrimosa.mp3",
        ])
    #expect(try read("a.mp3\n", "list.M3U8") == ["a.mp3"])
    #expect(try read("a.mp3\n", "./lists/list.m3u") == ["./lists/a.mp3"])
  }

  @Test("pls in the order of its numbers")
  func pls() throws {
    #expect(
      try read("[playlist]\nFile2=b.mp3\nFile1=/abs/a.mp3\nTitle2=Two\n", "/music/list.pls")
        == ["/abs/a.mp3", "/music/b.mp3 = Two"])
  }

  @Test("xspf: locations are URIs, whose escapes are resolved")
  func xspf() throws {
    let text = """
      <?xml version="1.0"?><playlist version="1" xmlns="http://xspf.org/ns/0/"><trackList>
      <track><location>file:///music/a%20b%25.mp3</location><title>One</title></track>
      <track><location>sub/Caf%C3%A9.mp3</location></track>
      <track><location>file://localhost/music/c.mp3</location></track>
      </trackList></playlist>
      """
    #expect(
      try read(text, "/lists/l.xspf") == [
        "/music/a b%.mp3 = One", "/lists/sub/Café.mp3", "/music/c.mp3",
      ])
  }

  @Test("a file: URL in any list is the file")
  func fileURL() throws { #expect(try read("file:///music/a%20b.mp3\n") == ["/music/a b.mp3"]) }

  @Test("a station in a list is refused by name, and play_stream is named")
  func stations() {
    let error = #expect(throws: AudioError.self) { try read("a.mp3\nhttp://me:secret@radio.example/live\n") }
    #expect(error?.kind == .unsupported)
    #expect(
      error?.message
        == "the playlist /music/lists/list.m3u lists a station, http://radio.example/live, and a queue plays files"
    )
    #expect(error?.hint == "play stations with play_stream, one at a time")
  }

  @Test("a list without files is refused", arguments: ["", "#EXTM3U\n\n# nothing\n"])
  func empty(text: String) {
    let error = #expect(throws: AudioError.self) { try read(text) }
    #expect(error?.message == "the playlist /music/lists/list.m3u lists no file")
  }

  @Test("a list of HLS is refused by name") func segments() throws {
    let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na.ts\n"
    for text in [list, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nb.m3u8\n"] {
      let error = #expect(throws: AudioError.self) { try read(text) }
      #expect(
        error?.kind == .unsupported
          && error?.message
            == "cannot play /music/lists/list.m3u: a list of HLS on this machine is not supported"
      )
      #expect(error?.hint?.contains("ffmpeg -i /music/lists/list.m3u") == true)
    }
  }

  @Test("lists of other kinds are none of files")
  func kinds() {
    #expect(FilePlaylist.format(ofPath: "a.asx") == nil)
    #expect(FilePlaylist.format(ofPath: "a.mp3") == nil)
    #expect(FilePlaylist.format(ofPath: "m3u/a") == nil)
    #expect(FilePlaylist.format(ofPath: "A.XSPF") == .xspf)
  }
}
