import ContractTesting
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import InMemoryLogging
import Logging
import PrometheusMetrics
import Synchronization
import Testing

@testable import GatewayAPI

/// The whole API in process, over in-memory stores, at a fixed time.
struct TestGateway {
    static let now = Date(timeIntervalSince1970: 1_900_000_000)

    let responder: APIResponder
    let parts: APIParts
    let logs = InMemoryLogHandler()
    let requestLog = MemoryRequestLog()
    let refusals = MemoryRefusals()
    let logger: Logger
    let ledger: StubLedger
    let stores = MemoryStores()
    let uploads = MemoryUploads()
    let metrics = MetricsPage()
    let advances = Advances()
    let opener: StubOpener
    let audit = MemoryAudit()
    let idempotency: MemoryIdempotency
    let records = MemoryUploadRecords()
    let objects = StubObjects()
    let events = MemoryStoreEvents()
    let callbackKeys = StubCallbackKeys()

    init(
        _ settings: APISettings = APISettings(), on listener: APIListener = .everything,
        ledger: StubLedger = StubLedger(), policy: StubPolicy = StubPolicy(), checks: [ReadinessCheck] = [],
        authenticator: any Authenticator = StubAuthenticator(), opener: StubOpener = StubOpener(),
        validator: any BucketValidator = StubValidator(),
        issuerDocuments: any IssuerDocuments = StubIssuerDocuments(), console: (any ConsoleDirectory)? = nil,
        source: (any PolicySource)? = nil,
        instant: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.ledger = ledger
        idempotency = MemoryIdempotency(ledger: ledger)
        self.opener = opener
        let idempotency = idempotency
        let (logs, metrics, stores, advances, uploads, audit) = (logs, metrics, stores, advances, uploads, audit)
        logger = Logger(label: "test") { _ in logs }
        let cache = PolicyCache(source: source ?? policy)
        let seed = Mutex(UInt8(0))
        let randomBytes: @Sendable (Int) -> [UInt8] = { count in
            let first = seed.withLock { seed in
                seed &+= 1
                return seed
            }
            return (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0 * 7) }
        }
        let issuing = ProvenIssuing(
            cache: cache, authenticator: authenticator, ledger: ledger, denials: NoDenials(),
            now: { Self.now }, randomBytes: randomBytes)
        let urls = PresignedURLs(issuing)
        parts = APIParts(
            authenticator: authenticator,
            advancePolicy: { () async throws(GatewayError) in
                advances.count.withLock { $0 += 1 }
                try await cache.advance()
            },
            presignedURLs: urls, browserForms: BrowserForms(issuing), cdnCookies: CDNCookies(issuing),
            multipartUploads: MultipartUploads(
                issuing, urls: urls, cache: cache, rows: uploads.rows, store: uploads, life: .seconds(3600),
                now: { Self.now }),
            missingUploads: MissingUploads(
                issuing, urls: urls, cache: cache, objects: objects, answerDeadline: .seconds(15), instant: instant),
            uploadConfirmation: UploadConfirmation(records: records, objects: objects),
            storeEvents: StoreEvents(
                records: events, objects: objects,
                keys: CallbackKeys(
                    fetcher: callbackKeys, origins: CallbackKeys.defaultOrigins, now: { Self.now }),
                isAtOSS: { name async throws(GatewayError) in
                    try await cache.presentBucket(named: name)?.provider == .oss
                }, now: { Self.now }),
            eventSecrets: EventSecrets(records: events, now: { Self.now }, randomBytes: randomBytes),
            accessOverview: AccessOverview(cache: cache, usage: ledger),
            sessions: Sessions(
                issuing, sessions: SessionCache(opener: opener, now: { Self.now })),
            remoteSignatures: RemoteSignatures(
                issuing, cache: cache, uploads: NoRemoteUploads()),
            issuances: StubLedgerReader(),
            reports: StubLedgerReader(),
            accessReview: AccessReview(
                cache: cache, rows: StubAccess(), usage: ledger, now: { Self.now }),
            explainer: Explainer(
                cache: cache, usage: ledger, history: StubHistory(), issuances: StubLedgerReader(), now: { Self.now }),
            simulator: Simulator(
                source: source ?? policy, ledger: StubLedgerReader(), grants: stores.grants, now: { Self.now },
                instant: { ContinuousClock.now }),
            stores: stores.all(console: console), idempotency: idempotency, bucketValidator: validator,
            issuerDocuments: issuerDocuments, auditLog: audit,
            readinessChecks: { checks },
            metricsText: { metrics.text() },
            metrics: RequestMetrics(on: metrics),
            logger: logger,
            requestLog: requestLog,
            refusals: refusals,
            requestHistory: RequestHistory(refusals: refusals, issuances: StubLedgerReader(), audit: StubAudit()),
            now: { Self.now },
            randomBytes: randomBytes
        )
        responder = APIResponder(parts, settings, on: listener)
    }

    /// Everything that was logged, as one text.
    var logLines: String {
        (logs.entries.map { "\($0.level) \($0.message) \($0.metadata)" }
            + requestLog.requests.withLock { $0 }.map { line in
                Mirror(reflecting: line).children.map { "\($0.value)" }.joined(separator: " ")
            }).joined(separator: "\n")
    }

    /// Sends a request. Checks the answer against the contract.
    func send(
        _ method: HTTPRequest.Method, _ path: String, token: String? = nil, headers: HeaderFields = [:],
        json: String? = nil, from remoteAddress: String = "192.0.2.7",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> TestAnswer {
        var fields = headers
        if let token { fields[.authorization] = "Bearer \(token)" }
        if json != nil, fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let head = RequestHead(method: method, target: path, headerFields: fields)
        let body = RequestBody.collected(Array((json ?? "").utf8))
        let answer = await TestAnswer(
            collecting: responder.respond(to: ServerRequest(head: head, body: body, remoteAddress: remoteAddress))
        )
        let exchange = Exchange(
            method.rawValue, path, sent: Array((json ?? "").utf8), sentType: fields[.contentType],
            status: answer.status, headers: answer.headers.map { ($0.name.canonicalName, $0.value) },
            // With 304, the server sends only the length of the body.
            body: answer.status == 304 ? [] : answer.bytes)
        expectContractKept(exchange, sourceLocation: sourceLocation)
        return answer
    }
}

/// Records the lines of requests.
final class MemoryRequestLog: RequestLog {
    let requests = Mutex<[AnsweredRequest]>([])

    func answered(_ request: AnsweredRequest) {
        requests.withLock { $0.append(request) }
    }
}

/// Number of times that policy was read anew before an admin was accepted.
final class Advances: Sendable {
    let count = Mutex(0)
}

/// A parsed answer.
struct TestAnswer {
    let status: Int
    let headers: HeaderFields
    let bytes: [UInt8]

    init(_ response: ServerResponse) {
        guard case .bytes(let bytes) = response.body else { preconditionFailure("This answer is a stream.") }
        self.init(response, bytes)
    }

    /// Waits for the end of a streamed answer.
    init(collecting response: ServerResponse) async {
        switch response.body {
        case .bytes(let bytes): self.init(response, bytes)
        case .stream(_, let write):
            let pieces = Pieces()
            do { try await write(pieces) } catch { pieces.note(error) }
            self.init(response, pieces.all)
        }
    }

    private init(_ response: ServerResponse, _ bytes: [UInt8]) {
        status = response.head.status.code
        headers = response.head.headerFields
        self.bytes = bytes
    }

    /// The status in the body, where there is one, as SDKs read it.
    var toldStatus: Int { number("StatusCode") ?? status }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }

    func string(_ member: String) -> String? { json[member] as? String }
    func number(_ member: String) -> Int? { json[member] as? Int }
}

/// Gathers a streamed answer. An early end leaves a mark that no answer has.
private final class Pieces: ResponseBodyWriter {
    private let bytes = Mutex<[UInt8]>([])

    var all: [UInt8] { bytes.withLock { $0 } }

    func write(_ bytes: [UInt8]) async throws {
        self.bytes.withLock { $0 += bytes }
    }

    func note(_ error: any Error) {
        bytes.withLock { $0 += Array("[cut off: \(error)]".utf8) }
    }
}

/// Knows fixed tokens: `user`, `auditor`, `admin`, and `expired`.
struct StubAuthenticator: Authenticator {
    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        var roles: Set<Role> = []
        var groups: [Principal] = []
        var claims: [String: String] = [:]
        switch token.reveal() {
        case "user-token": break
        case "grouped-token": groups = [try Principal("group:release")]
        case "tenant-token": claims = ["tenant": "a"]
        case "auditor-token": roles = [.auditor]
        case "admin-token": roles = [.admin]
        case "expired-token": throw .expiredToken
        default: throw .unauthenticated(reason: "The token is not accepted.")
        }
        return Caller(
            principal: try .user("alice"), groups: groups, roles: roles.map { .unlimited($0) }, claims: claims,
            expiresAt: nil, token: token, scope: .apiKey(prefix: "stub"), position: StubPolicy.position
        )
    }
}
