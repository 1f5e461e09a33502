import Foundation

import GatewayCore
import Synchronization

/// Finds nothing wrong, or what the test sets.
struct StubValidator: BucketValidator {
    var failure: ProbeFailure?

    func validate(
        _ bucket: Bucket, with credential: StorageCredential, _ cdnCredential: StorageCredential?, probe: ObjectKey
    ) async -> BucketValidation {
        let finding = BucketValidation.Finding(
            step: .put, outcome: failure == nil ? .passed : .failed, failure: failure, status: 200,
            duration: .milliseconds(7))
        return BucketValidation(probeKey: probe, findings: [finding], leavesProbe: failure != nil, clockDifference: -2)
            .advised(for: bucket)
    }
}

/// The acts of admins, in memory.
final class MemoryAudit: AuditLog {
    let acts = Mutex<[AuditedAct]>([])
    let failure = Mutex<GatewayError?>(nil)

    func note(_ act: AuditedAct, by change: ChangeContext) async throws(GatewayError) {
        if let failure = failure.withLock({ $0 }) { throw failure }
        acts.withLock { $0.append(act) }
    }
}

extension TestGateway {
    /// Makes the rows of a bucket and its credential, in the form that admins see.
    func makeBucket() async throws {
        let change = ChangeContext(actor: try .user("root"), requestID: "r")
        _ = try await stores.buckets.create(StubPolicy.bucket(), by: change)
        _ = try await stores.credentials.create(StubPolicy.credential(), by: change)
    }
}
