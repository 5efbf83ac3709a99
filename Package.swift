// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]
/// The optimisation of debug builds; assertions stay. Set by `scripts/dev/test`: `all` or `none`. By default,
/// targets with loops over samples are optimised: their tests take minutes otherwise. For all others the
/// compilation takes longer than the tests gain.
let optimization = Context.environment["ROOMTONE_OPTIMIZATION"]
let optimized: [SwiftSetting] = [
  .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
]
let numeric = optimization == "none" ? [] : optimized
/// A release optimises for size where no loop over samples runs and no function of Lua is called: such targets are
/// compiled in four fifths of the time.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]
let usual = (optimization == "all" ? optimized : []) + small
/// The optimisation of targets whose functions are called for each packet, block, frame or call of Lua.
let frequent = optimization == "all" ? optimized : []
/// The program of the release has relocations in a hundredth of their bytes, and exports no symbols: less is
/// read at the start. Only the toolchain's own linker can do that.
let compact: [LinkerSetting] = [
  .unsafeFlags(
    ["-use-ld=lld"] + ["-z", "pack-relative-relocs", "--no-export-dynamic"].flatMap { ["-Xlinker", $0] },
    .when(configuration: .release))
]
let strictC: [CSetting] = [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]

/// The targets whose folders have a page for developers, which is not a source.
let described: Set = [
  "Codecs", "EventLoop", "HeadsetBoard", "HeadsetKit", "HeadsetLink", "Home", "LuaModules", "LuaRuntime",
  "Playback", "Reception", "RecordingKit", "Roomtone", "RoomtoneCLI", "ScriptCheck", "SpeakerKit",
  "StreamCore",
]
func pages(of name: String) -> [String] { described.contains(name) ? ["README.md"] : [] }

/// A library target; it may import its dependencies and nothing else (`scripts/dev/walls`).
func library(
  _ name: String, _ dependencies: [Target.Dependency] = [], optimized: [SwiftSetting] = usual
) -> Target {
  .target(
    name: name, dependencies: dependencies, exclude: pages(of: name), swiftSettings: strict + optimized)
}

func tests(of name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
  .testTarget(
    name: name + "Tests", dependencies: dependencies + ["TestTraits"], resources: resources,
    swiftSettings: strict)
}

/// The test targets that are built: `ROOMTONE_TESTS=Journey,StreamKit` builds those two alone; all by
/// default. A change of a library rebuilds the tests of every target above it, which takes longer than the
/// change itself.
let wantedTests = Context.environment["ROOMTONE_TESTS"].map { $0.split(separator: ",").map { "\($0)Tests" } }

let package = Package(
  name: "roomtone",
  products: [
    .executable(name: "roomtone", targets: ["RoomtoneCLI"]),
    .executable(name: "roomtone-bench", targets: ["RoomtoneBench"]),
  ],
  targets: [
    // Doors to C.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CLua", pkgConfig: "lua5.4", providers: [.apt(["liblua5.4-dev"])]),
    .systemLibrary(name: "CMPG123", pkgConfig: "libmpg123", providers: [.apt(["libmpg123-dev"])]),
    .systemLibrary(name: "CFAAD", providers: [.apt(["libfaad-dev"])]),
    .systemLibrary(name: "CSndfile", providers: [.apt(["libsndfile1-dev"])]),
    .systemLibrary(name: "CFLAC", pkgConfig: "flac", providers: [.apt(["libflac-dev"])]),
    .systemLibrary(name: "CVorbis", pkgConfig: "vorbis", providers: [.apt(["libvorbis-dev", "libogg-dev"])]),
    .systemLibrary(name: "COpus", pkgConfig: "opus", providers: [.apt(["libopus-dev"])]),
    .systemLibrary(name: "CSoxr", providers: [.apt(["libsoxr-dev"])]),
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CALSA", providers: [.apt(["libasound2-dev"])]),
    .systemLibrary(name: "CTag", providers: [.apt(["libtagc0-dev"])]),
    .systemLibrary(name: "CXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CEdit", providers: [.apt(["libedit-dev"])]),
    .systemLibrary(name: "CMicroHTTPD", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CAvahi", providers: [.apt(["libavahi-client-dev"])]),
    .systemLibrary(name: "CMosquitto", providers: [.apt(["libmosquitto-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "CLuaShim", dependencies: ["CLua"], cSettings: strictC),
    .target(name: "CStandardLibrary", cSettings: strictC),

    // The ground.
    library("EventLoop", ["CLinux"], optimized: frequent),
    library("JSONText", optimized: frequent),
    library("Database", ["EventLoop", "CSQLite"]),
    library("HTTP", ["EventLoop", "CCurl"]),
    library("LineEditor", ["EventLoop", "CEdit"]),
    library("Crypto", ["CCrypto"]),
    library("RTSP", ["Crypto", "EventLoop"]),
    library("WebServer", ["EventLoop", "JSONText", "CMicroHTTPD"]),
    library("MQTT", ["EventLoop", "CMosquitto"]),

    // Lua for Swift, and Lua as text.
    library("LuaRuntime", ["CLua", "CLuaShim", "EventLoop", "JSONText"], optimized: frequent),
    library("LuaSyntax"),
    library("Reference", ["EventLoop"]),
    library("ScriptCheck", ["EventLoop", "LuaSyntax", "Reference", "Scheduling"]),

    // Bytes to PCM to speakers.
    library("AudioCore", ["EventLoop"], optimized: numeric),
    library(
      "Codecs",
      [
        "AudioCore", "EventLoop", "CMPG123", "CFAAD", "CSndfile", "CFLAC", "CVorbis", "COpus", "CSoxr",
      ], optimized: numeric),
    library(
      "SpeakerKit",
      [
        "AudioCore", "Codecs", "Crypto", "EventLoop", "HTTP", "JSONText", "Scheduling", "WebServer", "CALSA",
        "CAvahi",
      ], optimized: frequent),
    library("StreamCore", ["Codecs", "EventLoop", "HTTP", "CXML2"], optimized: frequent),
    library(
      "Reception", ["StreamCore", "AudioCore", "Codecs", "Crypto", "EventLoop", "HTTP", "RTSP"],
      optimized: frequent),
    library(
      "Playback", ["StreamCore", "Reception", "AudioCore", "Codecs", "EventLoop", "HTTP"],
      optimized: frequent),
    library(
      "RecordingKit", ["StreamCore", "AudioCore", "Codecs", "Crypto", "Database", "EventLoop", "CTag"],
      optimized: frequent),
    library("HeadsetLink", ["Crypto", "EventLoop", "CZlib"]),
    library("HeadsetKit", ["HeadsetLink", "EventLoop"]),
    library("HeadsetBoard", ["HeadsetLink", "EventLoop"]),
    library("Scheduling", ["EventLoop"]),

    // The home, which joins the kits.
    library(
      "Home",
      [
        "EventLoop", "AudioCore", "Database", "HTTP", "JSONText", "MQTT", "Scheduling", "SpeakerKit",
        "HeadsetKit", "HeadsetLink", "Playback", "Reception", "RecordingKit", "StreamCore",
      ]),

    // Scripts.
    library(
      "LuaModules",
      [
        "Home", "LuaRuntime", "EventLoop", "AudioCore", "HTTP", "MQTT", "SpeakerKit", "HeadsetKit",
        "HeadsetLink", "JSONText", "Playback", "Reception", "RecordingKit", "Scheduling", "StreamCore",
      ], optimized: frequent),
    library(
      "Roomtone",
      [
        "Home", "LuaModules", "LuaRuntime", "EventLoop", "AudioCore", "HTTP", "SpeakerKit", "Playback",
        "Reception", "RecordingKit", "StreamCore", "HeadsetKit", "HeadsetLink", "HeadsetBoard", "LuaSyntax",
        "Reference", "Scheduling",
        "CStandardLibrary", "Crypto", "JSONText", "MQTT", "WebServer",
      ]),
    .executableTarget(
      name: "RoomtoneCLI",
      dependencies: [
        "Roomtone", "Home", "LuaRuntime", "EventLoop", "AudioCore", "HeadsetKit", "HeadsetLink",
        "HeadsetBoard",
        "LuaSyntax", "Reference", "ScriptCheck", "SpeakerKit", "Scheduling", "LineEditor", "Codecs",
        "Crypto", "Database", "HTTP", "JSONText", "MQTT", "Playback", "Reception", "RecordingKit",
        "StreamCore",
      ],
      exclude: pages(of: "RoomtoneCLI"), swiftSettings: strict + usual, linkerSettings: compact),
    .executableTarget(
      name: "RoomtoneBench",
      dependencies: [
        "Roomtone", "Home", "LuaModules", "LuaRuntime", "EventLoop", "HTTP", "AudioCore", "Codecs",
        "HeadsetKit", "HeadsetLink",
        "SpeakerKit", "StreamCore", "TestSupport", "CMPG123", "CFAAD",
      ],
      swiftSettings: strict),

    // Tests.
    .target(
      name: "TestSupport", dependencies: ["AudioCore", "Codecs", "EventLoop"],
      path: "Tests/TestSupport", swiftSettings: strict + numeric),
    .target(name: "TestTraits", path: "Tests/TestTraits", swiftSettings: strict),
    tests(of: "EventLoop", ["EventLoop"]),
    tests(of: "JSONText", ["JSONText"]),
    tests(of: "Database", ["Database", "EventLoop", "TestSupport"]),
    tests(of: "HTTP", ["HTTP", "EventLoop", "TestSupport"]),
    tests(of: "RTSP", ["RTSP", "EventLoop", "TestSupport"]),
    tests(of: "WebServer", ["WebServer", "EventLoop", "TestSupport"]),
    tests(of: "MQTT", ["MQTT", "EventLoop", "TestSupport"]),
    tests(of: "Reference", ["Reference", "EventLoop", "TestSupport"]),
    tests(
      of: "ScriptCheck", ["ScriptCheck", "EventLoop", "LuaSyntax", "Reference", "Roomtone", "TestSupport"]),
    tests(of: "LuaSyntax", ["LuaSyntax", "LuaRuntime", "EventLoop", "TestSupport"]),
    tests(of: "LineEditor", ["LineEditor", "EventLoop", "TestSupport"]),
    tests(of: "LuaRuntime", ["LuaRuntime", "EventLoop", "TestSupport"]),
    tests(of: "AudioCore", ["AudioCore", "EventLoop", "TestSupport"]),
    tests(of: "Codecs", ["Codecs", "AudioCore", "EventLoop", "TestSupport"]),
    tests(
      of: "SpeakerKit",
      [
        "SpeakerKit", "AudioCore", "CALSA", "Codecs", "EventLoop", "Home", "HTTP", "JSONText", "Scheduling",
        "TestSupport",
      ]),
    tests(
      of: "StreamKit",
      [
        "Playback", "Reception", "RecordingKit", "StreamCore", "HTTP", "RTSP", "AudioCore", "Codecs",
        "Database", "EventLoop", "TestSupport",
      ]),
    tests(of: "HeadsetLink", ["HeadsetLink", "EventLoop", "TestSupport"]),
    tests(of: "HeadsetBoard", ["HeadsetBoard", "HeadsetKit", "HeadsetLink", "EventLoop", "TestSupport"]),
    tests(of: "HeadsetKit", ["HeadsetKit", "HeadsetLink", "HeadsetBoard", "EventLoop", "TestSupport"]),
    tests(of: "Scheduling", ["Scheduling", "EventLoop", "TestSupport"]),
    tests(
      of: "Home",
      [
        "Home", "AudioCore", "SpeakerKit", "HeadsetKit", "HeadsetLink", "HeadsetBoard", "EventLoop",
        "JSONText", "MQTT", "Playback", "Reception", "RecordingKit", "Scheduling", "StreamCore",
        "TestSupport",
      ]),
    tests(
      of: "Roomtone",
      [
        "Roomtone", "Home", "AudioCore", "Database", "JSONText", "LuaModules", "LuaRuntime", "EventLoop",
        "MQTT", "HeadsetKit", "HeadsetLink", "HeadsetBoard", "RecordingKit", "Reference", "Scheduling",
        "SpeakerKit", "TestSupport", "WebServer",
      ]),
    tests(
      of: "RoomtoneCLI",
      [
        "RoomtoneCLI", "EventLoop", "Home", "JSONText", "LuaRuntime", "RecordingKit", "Roomtone",
        "Scheduling", "SpeakerKit", "TestSupport",
      ]),
    tests(
      of: "Journey",
      [
        "AudioCore", "Codecs", "EventLoop", "HeadsetKit", "HeadsetLink", "JSONText", "RoomtoneCLI",
        "Reference",
        "TestSupport",
      ]),
  ].filter { target in target.type != .test || wantedTests?.contains(target.name) ?? true },
  swiftLanguageModes: [.v6],
  cLanguageStandard: .gnu17
)
