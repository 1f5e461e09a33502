import Foundation
import Synchronization
import Testing

@testable import GatewayCore

/// What an admin may change of many grants at once, whatever the store would do.
@Suite struct GrantBatchesTests {
    private let store = WillingBulkStore()

    private var batches: GrantBatches { GrantBatches(store: store) }

    private func change(reaching prefix: String?) throws -> ChangeContext {
        var reach = AdminReach.unlimited
        if let prefix {
            reach = .limited([try AdminScope(bucket: try BucketName("demo-bucket"), prefix: prefix)])
        }
        return ChangeContext(
            actor: try .user("admin"), requestID: "request-1",
            authority: AdminAuthority(sees: .unlimited, changes: reach))
    }

    private func batch(_ prefixes: [String]) throws -> GrantBatch {
        let writes = try prefixes.enumerated().map { index, prefix in
            ProposedGrant(place: index, id: nil, grant: Validated(unchecked: try Fixture.grant(index, on: prefix)))
        }
        return GrantBatch(writes: writes, removals: [], isDryRun: false)
    }

    @Test func `a batch reaches the store if all that it writes lies inside`() async throws {
        let inside = try batch(["team/a/", "team/"])
        _ = try await batches.apply(inside, by: change(reaching: "team/"))
        _ = try await batches.apply(inside, by: change(reaching: nil))
        #expect(store.calls.withLock { $0 } == 2)
        let outside = ItemRefusal(.item(array: "writes", index: 1), .outsideAdminScope)
        await #expect(throws: GatewayError.itemsRefused(first: outside, more: [])) {
            try await batches.apply(batch(["team/", "other/"]), by: change(reaching: "team/"))
        }
        #expect(store.calls.withLock { $0 } == 2)
    }

    @Test func `only an admin without limits imports`() async throws {
        let options = GrantImportOptions(prunes: true, isDryRun: false)
        let (unlimited, delegated) = (try change(reaching: nil), try change(reaching: ""))
        _ = try await batches.importGrants(options, by: unlimited, renewing: { unlimited }) { nil }
        #expect(store.calls.withLock { $0 } == 1)
        await #expect(throws: GatewayError.outsideAdminScope) {
            try await batches.importGrants(options, by: delegated, renewing: { unlimited }) { nil }
        }
        await #expect(throws: GatewayError.outsideAdminScope, "the role was limited while the lines arrived") {
            try await batches.importGrants(options, by: unlimited, renewing: { delegated }) { nil }
        }
        #expect(store.calls.withLock { $0 } == 1)
    }
}

/// A store that does what it is told. It counts the changes.
private final class WillingBulkStore: GrantBulkStore {
    let calls = Mutex(0)

    func apply(_ batch: GrantBatch, by change: ChangeContext) async throws(GatewayError) -> GrantBatchResult {
        calls.withLock { $0 += 1 }
        return GrantBatchResult(change: nil, counts: GrantCounts(), writes: [])
    }

    func export(_ filters: [String: String], within reach: AdminReach) async throws(GatewayError) -> GrantReader {
        GrantReader { () async throws(GatewayError) in [] }
    }

    func importGrants(
        _ options: GrantImportOptions, by change: ChangeContext,
        renewing renew: nonisolated(nonsending) @Sendable () async throws(GatewayError) -> ChangeContext,
        _ nextLines: nonisolated(nonsending) @Sendable () async throws -> [ProposedGrant]?
    ) async throws -> GrantImportResult {
        _ = try await renew()
        calls.withLock { $0 += 1 }
        return GrantImportResult(change: nil, counts: GrantCounts(), samples: [])
    }
}
