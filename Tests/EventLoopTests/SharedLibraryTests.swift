import EventLoop
import TestTraits
import Testing

@Suite("Shared libraries", .tags(.loop)) struct SharedLibraryTests {
  private typealias Length = @convention(c) (UnsafePointer<CChar>?) -> Int

  @Test("are loaded with the functions that are asked for") func loaded() throws {
    let library = SharedLibrary<Length>("libc.so.6", package: "libc6", names: "strlen ")
    #expect(library.failure == nil)
    #expect(try library.functions("four") == 4)
  }

  @Test("that are missing are failures that name the file and its package") func missing() {
    let library = SharedLibrary<Length>("libnone.so.7", package: "libnone7", names: "strlen ")
    let failure = LibraryError(
      message: "libnone.so.7 can't be loaded: cannot open shared object file: No such file or directory",
      hint: "apt install libnone7")
    #expect(library.failure == failure)
    #expect(throws: failure) { try library.functions }
    #expect("\(failure)".hasSuffix("or directory; apt install libnone7"))
  }

  @Test("that lack a function are failures that name it") func otherVersion() {
    let library = SharedLibrary<Length>("libc.so.6", package: "libc6", names: "strlength ")
    #expect(library.failure?.message.hasPrefix("libc.so.6 can't be loaded: ") == true)
    #expect(library.failure?.message.contains("strlength") == true)
  }
}
