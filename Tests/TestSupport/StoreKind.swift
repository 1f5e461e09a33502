import Foundation
public import Testing

/// The stores that judge what is signed and issued; CONTRIBUTING.md says how to start them.
public enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    /// Ceph's gateway.
    case radosgw = "RADOSGW"
    /// OpenStack Swift's s3api.
    case swift = "SWIFT"

    /// The name in the reports of tests.
    public var testDescription: String { rawValue.lowercased() }

    /// What a variable says of the store, for example `ENDPOINT`; `nil` where it is not set.
    public func value(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["SLUICE_TEST_\(rawValue)_\(name)"]
    }

    /// True when the store runs, or has to.
    public var isExpected: Bool {
        value("ENDPOINT") != nil || ProcessInfo.processInfo.environment["SLUICE_TEST_REQUIRE_STORES"] == "1"
    }
}
