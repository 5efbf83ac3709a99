internal import AudioCore

/// A folder with one WAV file per speaker, 16 bit.
struct WAVOutput: OutputKind {
  static let name = "wav"
  static let form = OutputForm.folder("DIR")

  let folder: String
  var detail: String? { folder }
  let isForAllSpeakers = true

  init(folder: String) { self.folder = folder }
  init(_ detail: String?) { folder = detail ?? "" }

  func makeRenderer(_ factory: RendererFactory) async throws -> any Renderer {
    let (folder, format) = (try WAVFolder(path: folder), factory.format)
    return try factory.files { try folder.makeSink($0, of: $1, format: format) }
  }

  func makeVirtualRenderer(_ factory: RendererFactory) throws -> any Renderer {
    let (folder, format) = (try WAVFolder(path: folder), factory.format)
    return factory.inline { try folder.makeSink($0, of: $1, format: format) }
  }

  func probe() -> OutputState { .folder(folder, least: 100_000_000) }
}
