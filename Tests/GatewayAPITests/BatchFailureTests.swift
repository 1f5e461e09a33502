import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import PrometheusMetrics
import Synchronization
import Testing

@testable import GatewayAPI

/// Batches of which items fail. They are answered 200; metrics, log and rows tell operators what became of the items.
@Suite struct BatchFailureTests {
    /// What becomes of an item.
    private enum Fate: Equatable {
        case served
        case refused
        case failed

        /// The ledger's answer that leads to it.
        var outcome: Result<RecordVerdict, GatewayError>? {
            switch self {
            case .served: nil
            case .refused:
                .success(
                    .quotaExceeded(
                        QuotaRefusal(
                            quotaID: StubPolicy.quotaID.uuidString.lowercased(), metric: .urls, period: .day,
                            limit: 100, remaining: 0, resetsIn: 60)))
            case .failed: .failure(.unavailable(retryAfter: 3, cause: "the ledger does not answer"))
            }
        }
    }

    /// A kind of batches.
    enum Batch: CaseIterable, Sendable {
        case urls
        case parts
        case gitLFS

        /// Asks for a number of items.
        func send(_ count: Int, to gateway: TestGateway) async -> TestAnswer {
            func list(_ item: (Int) -> String) -> String { (1...count).map(item).joined(separator: ",") }
            switch self {
            case .urls:
                let items = list { #"{"action":"GetObject","bucket":"photos","key":"uploads/\#($0)"}"# }
                return await gateway.send(
                    .post, "/v1/presigned-urls/batch", token: "user-token", json: #"{"items":[\#(items)]}"#)
            case .parts:
                let parts = list { #"{"partNumber":\#($0)}"# }
                return await gateway.send(
                    .post, "/v1/multipart-uploads/\(MemoryUploads.openID.uuidString.lowercased())/parts",
                    token: "user-token", json: #"{"parts":[\#(parts)]}"#)
            case .gitLFS:
                let objects = list { #"{"oid":"\#(String(format: "%064x", $0))","size":9}"# }
                return await gateway.send(
                    .post, "/lfs/photos/uploads/repo/objects/batch", token: "user-token",
                    headers: [
                        .contentType: "application/vnd.git-lfs+json", .accept: "application/vnd.git-lfs+json",
                    ], json: #"{"operation":"upload","transfers":["basic"],"objects":[\#(objects)]}"#)
            }
        }
    }

    private static let mixes: [[Fate]] = [
        [.served, .served], [.refused, .refused], [.refused, .served], [.failed, .served, .failed],
        [.refused, .failed, .served], [.failed], [.failed, .failed, .failed], [.refused, .failed],
        Array(repeating: .failed, count: 14), Array(repeating: .refused, count: 12) + [.failed],
    ]

    /// Checks the metrics, the line of the log and the rows of a request with the given items.
    private func expectTold(_ fates: [Fate], of answer: TestAnswer, by gateway: TestGateway) async throws {
        let failed = fates.count { $0 == .failed }
        let refused = fates.count { $0 == .refused }
        #expect(answer.status == 200, "\(answer.text)")
        let id = try #require(answer.headers[.requestID])
        let line = try #require(gateway.requestLog.requests.withLock { $0.last { $0.id == id } })
        let status = failed > 0 && failed + refused == fates.count ? "5xx" : "2xx"
        let text = String(decoding: gateway.metrics.text(), as: UTF8.self)
        for counted in ["2xx", "5xx"] {
            let series =
                #"sluice_http_requests_total{method="POST",route="\#(line.route)",status="\#(counted)"}"#
            #expect(text.contains("\n\(series) \(counted == status ? 1 : 0)\n"), "\(fates): \(counted)")
        }
        #expect(text.contains("\nsluice_refused_total{code=\"ServiceUnavailable\"} \(failed)\n"), "\(fates)")
        #expect(text.contains("\nsluice_refused_total{code=\"QuotaExceeded\"} \(refused)\n"), "\(fates)")
        #expect(line.status == 200 && line.code == nil && line.refusalCount == failed + refused, "\(fates)")
        #expect((line.cause != nil) == (failed > 0), "\(fates)")
        // Decisions note their refusals first.
        let reasons: [RefusalReason] =
            Array(repeating: .quotaExceeded, count: refused) + Array(repeating: .failed, count: failed)
        #expect(line.refusals.map(\.reason) == Array(reasons.prefix(10)), "\(fates)")
        let found = await gateway.send(.get, "/admin/v1/requests/\(id)", token: "auditor-token")
        let rows = try #require(found.json["refusals"] as? [[String: Any]], "\(found.text)")
        #expect(rows.map { $0["reason"] as? String } == reasons.prefix(10).map(\.rawValue), "\(fates)")
        for row in rows where row["reason"] as? String == "failed" {
            #expect(row["code"] as? String == "ServiceUnavailable" && row["status"] as? Int == 200)
            #expect(row["subject"] as? String == "the ledger does not answer")
        }
    }

    @Test(arguments: Batch.allCases)
    func `metrics, log and rows tell which items failed, and a batch of which none was served failed`(
        batch: Batch
    ) async throws {
        for fates in Self.mixes {
            let gateway = TestGateway(
                ledger: StubLedger(fates.map(\.outcome)), policy: StubPolicy(protocols: [.gitLFS]))
            try await expectTold(fates, of: batch.send(fates.count, to: gateway), by: gateway)
        }
    }

    @Test func `a failure that a decision has noted, with what was asked for, is noted once`() async throws {
        for count in [1, 3, 14] {
            let gateway = TestGateway(policy: StubPolicy(hasCredential: false))
            let answer = await Batch.urls.send(count, to: gateway)
            let line = try #require(gateway.requestLog.requests.withLock { $0.last })
            #expect(line.refusalCount == count && line.refusals.allSatisfy { $0.reason == .failed })
            let rows = gateway.refusals.rows.withLock { $0 }
            #expect(rows.count == min(count, 10) && rows.allSatisfy { $0.note.target?.keyPrefix == "uploads/" })
            #expect((answer.json["results"] as? [[String: Any]])?.allSatisfy { $0["status"] as? Int == 503 } == true)
        }
    }

    @Test func `a batch of objects that fails at the store has failed`() async throws {
        let gateway = TestGateway(policy: StubPolicy(protocols: [.gitLFS]))
        gateway.objects.answer.withLock { $0 = .failure(.storeRefused(status: 500, code: nil)) }
        _ = await Batch.gitLFS.send(2, to: gateway)
        let line = try #require(gateway.requestLog.requests.withLock { $0.last })
        #expect(line.refusalCount == 2 && line.refusals.map(\.code) == ["StoreRefused", "StoreRefused"])
        #expect(
            String(decoding: gateway.metrics.text(), as: UTF8.self).contains(
                #"sluice_http_requests_total{method="POST",route="\#(line.route)",status="5xx"} 1"#))
    }
}
