import Foundation
import GatewayCore
import Synchronization

/// Records its input, and returns grants that it was given.
final class MemoryGrantBulk: GrantBulkStore {
    static let change = uuid("0191d7f0-0000-4000-8000-000000000001")

    let grants = Mutex<[Grant]>([])
    let failure = Mutex<GatewayError?>(nil)
    let batches = Mutex<[GrantBatch]>([])
    let filters = Mutex<[[String: String]]>([])
    let options = Mutex<[GrantImportOptions]>([])
    let lines = Mutex<[ProposedGrant]>([])
    /// Number of imports whose lines have all been read.
    let imports = Mutex(0)

    func apply(_ batch: GrantBatch, by change: ChangeContext) async throws(GatewayError) -> GrantBatchResult {
        if let failure = failure.withLock({ $0 }) { throw failure }
        batches.withLock { $0.append(batch) }
        let writes = batch.writes.map { write in
            GrantBatchResult.Write(
                id: write.id ?? (batch.isDryRun ? nil : UUID()), outcome: write.id == nil ? .created : .updated,
                revision: batch.isDryRun ? write.revision : Self.change)
        }
        let counts = GrantCounts([.created: writes.count { $0.outcome == .created }, .deleted: batch.removals.count])
        return GrantBatchResult(change: batch.isDryRun ? nil : Self.change, counts: counts, writes: writes)
    }

    func export(_ filters: [String: String], within reach: AdminReach) async throws(GatewayError) -> GrantReader {
        if let failure = failure.withLock({ $0 }) { throw failure }
        self.filters.withLock { $0.append(filters) }
        let rest = Mutex(grants.withLock { $0 })
        return GrantReader { () async throws(GatewayError) in
            rest.withLock { rest in
                let page = Array(rest.prefix(2))
                rest.removeFirst(page.count)
                return page
            }
        }
    }

    func importGrants(
        _ options: GrantImportOptions, by change: ChangeContext,
        renewing renew: nonisolated(nonsending) @Sendable () async throws(GatewayError) -> ChangeContext,
        _ nextLines: nonisolated(nonsending) @Sendable () async throws -> [ProposedGrant]?
    ) async throws -> GrantImportResult {
        self.options.withLock { $0.append(options) }
        while let lines = try await nextLines() { self.lines.withLock { $0 += lines } }
        _ = try await renew()
        imports.withLock { $0 += 1 }
        if let failure = failure.withLock({ $0 }) { throw failure }
        let lines = lines.withLock { $0 }
        var changed = lines.map {
            GrantImportResult.Sample(outcome: .created, line: $0.place, before: nil, after: $0.grant)
        }
        if let first = grants.withLock({ $0.first }) {
            changed.append(.init(outcome: .deleted, line: nil, before: first, after: nil))
        }
        return GrantImportResult(
            change: options.isDryRun ? nil : Self.change, counts: GrantCounts([.created: lines.count]),
            samples: Array(changed.prefix(options.sampleLimit)))
    }
}
