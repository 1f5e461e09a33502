// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nothing of this is part of the gateway. script/bench --parts signing builds and runs
// it.
let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "sluice", path: "..")],
    targets: [
        .executableTarget(
            name: "Microbenchmarks",
            dependencies: [
                .product(name: "GatewayCore", package: "sluice"),
                .product(name: "LibCrypto", package: "sluice"),
                .product(name: "Signing", package: "sluice"),
            ],
            swiftSettings: [
                .strictMemorySafety(),
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]
        )
    ]
)
