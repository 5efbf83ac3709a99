/// No output; time passes as if the speakers sounded.
struct NullOutput: OutputKind {
  static let name = "null"
  static let form = OutputForm.bare

  let detail: String? = nil

  init(_ detail: String? = nil) {}

  func makeRenderer(_ factory: RendererFactory) async throws -> any Renderer { try factory.silent() }

  func probe() -> OutputState { .ready("output null: the speakers are silent") }
}
