// swift-tools-version: 6.0
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "sluice-client",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [.library(name: "SluiceClient", targets: ["SluiceClient"])],
    dependencies: [.package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0")],
    targets: [
        .target(
            name: "SluiceClient",
            // Apple's systems have CryptoKit.
            dependencies: [.product(name: "Crypto", package: "swift-crypto", condition: .when(platforms: [.linux]))],
            swiftSettings: strict),
        .testTarget(name: "SluiceClientTests", dependencies: ["SluiceClient"], swiftSettings: strict),
        // A program that the tests kill half way through an upload.
        .executableTarget(
            name: "Uploader", dependencies: ["SluiceClient"], path: "Tests/Uploader", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
