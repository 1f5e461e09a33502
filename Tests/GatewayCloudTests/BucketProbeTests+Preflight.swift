import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import Synchronization
import Testing

extension BucketProbeTests {
    @Test("finds pages that the store does not let in")
    func preflight() async throws {
        let (refused, _) = try await validate(ProbedStore([.options: .error("AccessForbidden", 403)]))
        let finding = try #require(refused.findings.first { $0.step == .preflight })
        #expect(finding.outcome == .failed && finding.origin == "https://app.example")
        #expect(finding.advice?.contains("CORS rule") == true)
        let fields: HeaderFields = [.accessControlAllowOrigin: "*", .accessControlAllowMethods: "GET"]
        let readOnly = ServerResponse(head: ResponseHead(status: .ok, headerFields: fields))
        let (gets, _) = try await validate(ProbedStore([.options: readOnly]))
        #expect(outcomes(gets).contains("preflight failed"))
        var put: HeaderFields = [.accessControlAllowOrigin: "*", .accessControlAllowMethods: "PUT"]
        for (headers, outcome) in [(nil, "failed"), ("*", "passed"), ("Content-Type", "warned")] as [(String?, String)]
        {
            put[.accessControlAllowHeaders] = headers
            let answer = ServerResponse(head: ResponseHead(status: .ok, headerFields: put))
            let (found, _) = try await validate(ProbedStore([.options: answer]))
            #expect(outcomes(found).contains("preflight \(outcome)"), "\(headers ?? "none")")
        }
    }

    /// Buckets, the headers that every page sends to them, and those that only some send.
    @Test(arguments: [
        (Bucket.Scheme.awsV4, false, ["content-type"], ["content-md5"]),
        (
            .awsV4, true, ["content-type", "x-amz-acl", "x-amz-content-sha256", "x-detect-content-type"],
            ["content-md5"]
        ),
        (.gcsV4HMAC, false, ["content-type"], ["content-md5", "x-goog-content-length-range"]),
    ])
    func `asks for the headers that links bind, and warns where only some links work`(
        scheme: Bucket.Scheme, isClosed: Bool, always: [String], sometimes: [String]
    ) async throws {
        func preflight(_ allowed: [String]) async throws -> (finding: BucketValidation.Finding, asked: [String]) {
            let store = ProbedStore(pageHeaders: Set(allowed))
            let (validation, peer) = try await validate(store, scheme: scheme, isClosed: isClosed)
            let asked = peer.heads.compactMap { $0.headerFields[.accessControlRequestHeaders] }
            return (try #require(validation.findings.first { $0.step == .preflight }), asked)
        }
        let all = (always + sometimes).sorted()
        let (every, asked) = try await preflight(all)
        #expect(every.outcome == .passed && asked == [all.joined(separator: ",")], "\(every)")
        let some = try await preflight(always).finding
        #expect(some.outcome == .warned && some.status == 403, "\(some)")
        for name in sometimes { #expect(some.advice?.contains("'\(name)'") == true, "\(some)") }
        for name in always {
            let none = try await preflight(all.filter { $0 != name }).finding
            #expect(none.outcome == .failed && none.advice?.contains("'\(name)'") == true, "\(none)")
        }
    }

    @Test func `a store that is busy when it is asked for fewer headers is not judged`() async throws {
        let store = ProbedStore()
        let preflights = Mutex(0)
        let peer = StandIn { request in
            guard request.head.method == .options else { return store.answer(request.head, Self.body) }
            let isFirst = preflights.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? .error("AccessForbidden", 403) : .error("SlowDown", 503)
        }
        let validation = try await peer.serve { try await Self.validate(Self.bucket($0), allow: [$0]) }
        let finding = try #require(validation.findings.first { $0.step == .preflight })
        #expect(finding.outcome == .skipped && finding.status == 503, "\(finding)")
        #expect(finding.origin == "https://app.example" && finding.advice?.contains("in trouble") == true, "\(finding)")
        #expect(validation.isValid)
    }
}
