import Foundation
public import Testing

/// The stores that check what is signed and issued. CONTRIBUTING.md says how to start them.
public enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    /// Ceph's gateway (radosgw).
    case radosgw = "RADOSGW"
    /// OpenStack Swift's s3api.
    case swift = "SWIFT"

    /// Whether a test fails where a store is missing, as in `script/test`. Otherwise it is skipped.
    public static let areRequired = ProcessInfo.processInfo.environment["SLUICE_TEST_REQUIRE_STORES"] == "1"

    /// The name in test reports.
    public var testDescription: String { rawValue.lowercased() }

    /// The value of a variable for the store, for example `ENDPOINT`; `nil` where it is not set.
    public func value(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["SLUICE_TEST_\(rawValue)_\(name)"]
    }

    /// Whether the store runs, or is required to.
    public var isExpected: Bool { value("ENDPOINT") != nil || Self.areRequired }
}
