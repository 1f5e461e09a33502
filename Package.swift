// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// What a request runs through: a call of an asynchronous function stays on its caller's executor.
let onCallersExecutor = strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let inMemoryLogging = Target.Dependency.product(name: "InMemoryLogging", package: "swift-log")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "sluice",
    products: [
        .executable(name: "sluice", targets: ["sluice"]),
        // For the package in Benchmarks.
        .library(name: "Bytes", targets: ["Bytes"]),
        .library(name: "GatewayCore", targets: ["GatewayCore"]),
        .library(name: "LibCrypto", targets: ["LibCrypto"]),
        .library(name: "Signing", targets: ["Signing"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Its reader of JSON would link all of Foundation.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // C libraries: headers and link flags.
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev", "libssl-dev"])]),
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLibYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CLibZ", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CEventDescriptor"),

        // One wrapper each; they know nothing of the gateway.
        .target(name: "HTTPServing", dependencies: ["Bytes", httpTypes], swiftSettings: onCallersExecutor),
        // What systemd tells a service, and what a service tells systemd.
        .target(name: "Systemd", swiftSettings: strict),
        // The threads that serve clients and record for them.
        .target(name: "EventLoops", dependencies: ["CEventDescriptor"], swiftSettings: onCallersExecutor),
        .target(
            name: "MicroHTTPD",
            dependencies: [
                "Bytes", "CEventDescriptor", "CMicroHTTPD", "EventLoops", "Figures", "HTTPServing", "LibCrypto",
                httpTypes, logging, serviceLifecycle,
            ],
            swiftSettings: onCallersExecutor
        ),
        .target(
            name: "LibPQ",
            dependencies: ["CEventDescriptor", "CLibPQ", "EventLoops", "Figures", logging, serviceLifecycle],
            swiftSettings: onCallersExecutor),
        // Text as bytes: sets of characters, hexadecimal, base64 and percent-encoding.
        .target(name: "Bytes", swiftSettings: strict),
        .target(name: "LibCrypto", dependencies: ["Bytes", "CLibCrypto"], swiftSettings: strict),
        .target(name: "LibCurl", dependencies: ["CLibCurl", "EventLoops"], swiftSettings: strict),
        .target(name: "LibYAML", dependencies: ["CLibYAML"], swiftSettings: strict),
        .target(name: "LocalFiles", swiftSettings: strict),
        .target(name: "LibZ", dependencies: ["CLibZ"], swiftSettings: strict),

        // JSON: the strict reader of what clients send, and the writer of answers, policies and log lines.
        .target(name: "StrictJSON", dependencies: ["Bytes"], swiftSettings: strict),
        // XML: the strict reader of what stores answer, and one of errors that may be cut off.
        .target(name: "StrictXML", dependencies: ["Bytes"], swiftSettings: strict),
        // Tokens that issuers sign, and the keys that verify them.
        .target(name: "JOSE", dependencies: ["Bytes", "LibCrypto", "StrictJSON"], swiftSettings: strict),

        // The contract, the console, the migrations and the functions, carried inside the program.
        .target(name: "CEmbeddedFiles"),
        .target(name: "EmbeddedFiles", dependencies: ["CEmbeddedFiles"], swiftSettings: strict),

        // The gateway: values and rules in the middle, an adapter on each side.
        .target(name: "Signing", dependencies: ["Bytes", "LibCrypto", "StrictJSON"], swiftSettings: strict),
        .target(
            name: "GatewayCore", dependencies: ["Bytes", "Figures", "Signing", "LibCrypto", "StrictJSON"],
            swiftSettings: onCallersExecutor),
        // What every part counts, and the page on which Prometheus reads it.
        .target(name: "Figures", swiftSettings: strict),
        .target(name: "PrometheusMetrics", dependencies: ["Bytes", "Figures"], swiftSettings: strict),
        // The contract taken apart, for the commands and the page that are made from it.
        .target(
            name: "ContractModel", dependencies: ["EmbeddedFiles", "LibYAML", "StrictJSON"], swiftSettings: strict),
        .target(
            name: "GatewayAPI",
            dependencies: [
                "Bytes", "ContractModel", "EmbeddedFiles", "Figures", "GatewayCore", "HTTPServing", "JOSE", "LibCrypto",
                "LibZ",
                "PrometheusMetrics", "Signing", "StrictJSON",
                httpTypes, logging,
            ],
            swiftSettings: onCallersExecutor
        ),

        .target(
            name: "GatewayPostgres",
            dependencies: [
                "Bytes", "EmbeddedFiles", "EventLoops", "Figures", "LibPQ", "GatewayCore", "LibCrypto", "StrictJSON",
                logging, serviceLifecycle,
            ],
            swiftSettings: onCallersExecutor
        ),
        // Requests to other servers: key sets of issuers, uploads in stores.
        .target(
            name: "GatewayCloud",
            dependencies: ["Bytes", "Figures", "GatewayCore", "LibCrypto", "LibCurl", "Signing", "StrictXML", logging],
            swiftSettings: strict
        ),

        // What `sluice dev` starts beside the gateway: PostgreSQL, and an object store to try it with.
        .target(
            name: "DevStack",
            dependencies: [
                "Bytes", "EmbeddedFiles", "GatewayAPI", "GatewayCore", "HTTPServing", "LibCrypto", "LibCurl",
                "LocalFiles",
                "Signing", "StrictJSON",
                httpTypes, logging, serviceLifecycle, subprocess, systemPackage,
            ],
            swiftSettings: strict
        ),
        // Lines of the log, on standard error.
        .target(
            name: "LineLogging",
            dependencies: ["Bytes", "Figures", "GatewayAPI", "GatewayCore", "StrictJSON", logging, systemPackage],
            swiftSettings: strict
        ),
        // What a terminal can show, questions to the person at it, and Ctrl-C.
        .target(name: "Terminal", dependencies: ["Bytes", "LocalFiles"], swiftSettings: strict),
        // Requests to a gateway that a user chose, with the user's key, and why they have no answer.
        .target(name: "GatewayTransport", dependencies: ["LibCurl"], swiftSettings: strict),
        // Commands that need no gateway in the process: `admin` calls one, `sign` and `inspect` work offline.
        .target(
            name: "AdminCommands",
            dependencies: [
                "Bytes", "ContractModel", "GatewayTransport", "LibCurl", "LocalFiles", "StrictJSON", "Terminal",
                argumentParser,
            ],
            swiftSettings: strict),
        .target(
            name: "SigningCommands", dependencies: ["LocalFiles", "Signing", "Terminal", argumentParser],
            swiftSettings: strict),
        // What app users do: uploads, downloads, listings and deletions by a gateway's links. The client knows the
        // contract alone.
        .target(
            name: "ObjectClient",
            dependencies: [
                "Bytes", "EventLoops", "GatewayTransport", "LibCrypto", "LibCurl", "LocalFiles", "StrictXML",
            ],
            swiftSettings: strict),
        .target(
            name: "ObjectCommands",
            dependencies: ["LocalFiles", "ObjectClient", "Terminal", argumentParser, subprocess],
            swiftSettings: strict),
        // Tries what a store keeps of what links promise.
        .target(
            name: "StoreQualification",
            dependencies: ["Bytes", "GatewayCore", "LibCrypto", "LibCurl", "Signing", "StrictXML"],
            swiftSettings: strict),

        // Reads the configuration, builds the gateway and runs it.
        .executableTarget(
            name: "sluice",
            dependencies: [
                "AdminCommands", "DevStack", "EventLoops", "Figures", "GatewayAPI", "GatewayCloud", "GatewayCore",
                "GatewayPostgres", "HTTPServing", "LibCrypto", "LibPQ", "LineLogging", "LocalFiles", "MicroHTTPD",
                "ObjectCommands", "PrometheusMetrics", "SigningCommands", "StoreQualification", "StrictJSON", "Systemd",
                "Terminal", argumentParser, configuration, logging, serviceLifecycle, unixSignals,
            ],
            swiftSettings: strict
        ),

        .testTarget(name: "BytesTests", dependencies: ["Bytes"], swiftSettings: strict),
        .testTarget(
            name: "LibCryptoTests", dependencies: ["Bytes", "LibCrypto", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "LibYAMLTests", dependencies: ["LibYAML", "StrictJSON", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "LocalFilesTests", dependencies: ["LocalFiles"], swiftSettings: strict),
        .testTarget(name: "LibZTests", dependencies: ["LibZ"], swiftSettings: strict),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"], swiftSettings: strict),
        .testTarget(name: "StrictXMLTests", dependencies: ["StrictXML"], swiftSettings: strict),
        .testTarget(
            name: "JOSETests", dependencies: ["Bytes", "JOSE", "LibCrypto", "StrictJSON", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "SigningTests",
            dependencies: ["Bytes", "Signing", "SigningTesting", "TestSupport"],
            resources: [.copy("Vectors")],
            swiftSettings: strict
        ),
        .testTarget(name: "HTTPServingTests", dependencies: ["HTTPServing", httpTypes], swiftSettings: strict),
        // The built program, run by its command line, and what the documents say of its parts.
        .testTarget(
            name: "CommandTests",
            dependencies: ["GatewayCore", "LibPQ", "LineLogging", "sluice", logging, serviceLifecycle],
            swiftSettings: strict),
        .testTarget(
            name: "AdminCommandsTests",
            dependencies: ["AdminCommands", "ContractModel", "GatewayTransport", "LibCurl", "StrictJSON", "Terminal"],
            swiftSettings: strict),
        .testTarget(
            name: "ObjectClientTests",
            dependencies: [
                "GatewayTransport", "HTTPTesting", "LibCrypto", "LibCurl", "LocalFiles", "ObjectClient",
                "ObjectCommands", "Terminal",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "StoreQualificationTests",
            dependencies: ["GatewayCore", "Signing", "StoreQualification", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "LineLoggingTests",
            dependencies: ["Figures", "GatewayAPI", "GatewayCore", "LineLogging", logging, systemPackage],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MicroHTTPDTests",
            dependencies: [
                "Figures", "MicroHTTPD", "HTTPServing", "HTTPTesting", "TestSupport", httpTypes, logging,
                serviceLifecycle,
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "EventLoopTests", dependencies: ["EventLoops", "Figures"], swiftSettings: strict),
        .testTarget(name: "LibCurlTests", dependencies: ["LibCurl"], swiftSettings: strict),
        .testTarget(
            name: "LibPQTests",
            dependencies: ["EventLoops", "Figures", "LibPQ", "PostgresTesting", "TestSupport", logging],
            exclude: ["tls_proxy.py"],
            // A test's function runs where its caller wants it to: on a loop.
            swiftSettings: onCallersExecutor
        ),
        .testTarget(
            name: "GatewayCoreTests", dependencies: ["Bytes", "GatewayCore", "LibCrypto", "Signing", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "GatewayCloud", "GatewayCore", "HTTPTesting", "LibCrypto", "Signing", "TestSupport", logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Bytes", "sluice", "ContractTesting", "Figures", "HTTPServing", "HTTPTesting", "LibCrypto", "LibPQ",
                "PostgresTesting", "Signing", "TestSupport",
                httpTypes, logging,
            ],
            resources: [
                .copy("Console"), .copy("Documentation"), .copy("Mistakes"), .copy("Pages"), .copy("ProtocolClients"),
                .copy("Schemathesis"), .copy("SignIn"), .copy("StoreSDKs"),
            ],
            swiftSettings: strict
        ),
        // Support of tests: whether requests and answers are what the contract describes.
        .target(
            name: "ContractTesting", dependencies: ["LibYAML"], path: "Tests/ContractTesting", swiftSettings: strict),
        // Support of tests: waiting, keys, signed tokens, random numbers that repeat, the stores that run, Python and
        // openssl, and doubles of ports that several targets use.
        .target(
            name: "TestSupport", dependencies: ["CLibCrypto", "GatewayCore"], path: "Tests/TestSupport",
            swiftSettings: strict),
        // Support of tests: verifies signatures as stores do, with the stages that signing uses.
        .target(
            name: "SigningTesting", dependencies: ["Bytes", "LibCrypto", "Signing"], path: "Tests/SigningTesting",
            swiftSettings: strict),
        // Support of tests: HTTP/1.1 byte by byte, and servers that answer as a test says.
        .target(
            name: "HTTPTesting", dependencies: ["HTTPServing", "MicroHTTPD", httpTypes, logging, serviceLifecycle],
            path: "Tests/HTTPTesting", swiftSettings: strict),
        .testTarget(
            name: "DevStackTests",
            dependencies: [
                "Bytes", "DevStack", "GatewayCore", "HTTPServing", "HTTPTesting", "LibCrypto", "Signing",
                "StoreQualification", "TestSupport", httpTypes, logging, serviceLifecycle,
            ],
            exclude: ["SDKs"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GatewayPostgresTests",
            dependencies: [
                "EventLoops", "GatewayPostgres", "GatewayCore", "LibCrypto", "LibPQ", "PostgresTesting", "TestSupport",
                logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PrometheusMetricsTests",
            dependencies: ["Figures", "PrometheusMetrics"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GatewayAPITests",
            dependencies: [
                "Bytes", "ContractModel", "ContractTesting", "EmbeddedFiles", "GatewayAPI", "GatewayCore",
                "HTTPServing", "JOSE",
                "LibCrypto", "LibZ", "PrometheusMetrics", "Signing", "SigningTesting", "StrictJSON", "TestSupport",
                httpTypes, inMemoryLogging, logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GatewayCloudTests",
            dependencies: [
                "Bytes", "Figures", "GatewayCloud", "GatewayCore", "HTTPServing", "HTTPTesting", "LibCrypto", "LibCurl",
                "Signing", "SigningTesting", "StrictXML", "TestSupport",
                httpTypes, inMemoryLogging, logging,
            ],
            resources: [.copy("Vectors")],
            swiftSettings: strict
        ),
        // Support of tests: a PostgreSQL cluster per run, a database per suite.
        .target(
            name: "PostgresTesting", dependencies: ["LibPQ", "TestSupport", logging], path: "Tests/PostgresTesting",
            swiftSettings: strict),
    ]
)
