internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Glibc

/// A folder with one WAV file per speaker: 16 bit, stereo.
///
/// The files share one time line, which advances with every rendered block, so that the same second of each
/// file is the same moment.
struct WAVFolder: Sendable {
  /// The path of the folder.
  let path: String

  /// Creates the folder, with those above it, and no file.
  /// - Throws: `audio.no_output` when it can't be created or written.
  init(path: String) throws(AudioError) {
    self.path = path
    try Self.makeFolder(path)
    guard access(path, W_OK | X_OK) == 0 else { throw Self.error(path) }
  }

  /// Creates the file of the speaker at `index` of `speakers`, or empties it. Speakers that are added at the
  /// end do not change the names of those before.
  /// - Throws: `audio.no_output`.
  func makeSink(_ index: Int, of speakers: [String], format: AudioFormat) throws -> any PCMSink {
    try SoundFileWriter(path: path + "/" + Self.fileNames(for: speakers)[index], format: format)
  }

  /// Returns legal file names that differ, also in a file system that ignores case.
  static func fileNames(for speakers: [String]) -> [String] {
    var taken: Set<String> = []
    return speakers.map { speaker in
      let legal = String(
        String.UnicodeScalarView(
          speaker.unicodeScalars.map {
            $0 == "/" || $0 == "\\" || $0.value < 32 || $0.value == 127 ? "_" : $0
          }
        ))
      // A leading full stop would hide the file; 60 letters of four bytes and the number stay below 255
      // bytes.
      let stem = legal.isEmpty ? "Speaker" : String((legal.hasPrefix(".") ? "_" + legal : legal).prefix(60))
      var name = stem
      var number = 2
      while !taken.insert(name.lowercased()).inserted {
        name = "\(stem) \(number)"
        number += 1
      }
      return name + ".wav"
    }
  }

  private static func makeFolder(_ path: String) throws(AudioError) {
    do throws(SystemError) { try LinuxFiles.makeFolders(path, mode: 0o755) } catch {
      throw self.error(path, error)
    }
    var status = stat()
    guard stat(path, &status) == 0 else { throw error(path) }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw AudioError.noOutput(path, cause: "it is not a folder")
    }
  }

  private static func error(_ path: String, _ error: SystemError = SystemError(errno)) -> AudioError {
    .noOutput(
      path, cause: error.text.lowercased(), hint: "name a folder that can be written")
  }
}
