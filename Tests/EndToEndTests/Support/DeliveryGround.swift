import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// A gateway at which every delivery issues, and means to hold up what it does for one user in PostgreSQL.
///
/// The store, which also opens sessions, agrees to whatever it is asked.
struct DeliveryGround: Sendable {
    private static let bucket = "deliveries"
    /// The advisory lock for which recordings of the asker and the sender wait.
    private static let lock = 4711
    /// What the sender asks for. Each of them reserves bytes.
    static let sendings: [Delivery] = [.upload, .way(.byForm), .way(.byPart)]

    let site: Deployment
    /// A user who asks for every delivery, with a quota on URLs.
    let asker: Asker
    /// A user who uploads, with a quota on bytes.
    let sender: Asker
    /// A user whom nothing here concerns.
    let bystander: Asker
    /// The quota of the asker.
    let quota: String
    private let store: FaultyProxy
    /// A session of the test's own.
    let session: PostgresConnection
    private let holder: PostgresConnection

    /// Makes the ground for `body`.
    static func with(
        settings: [String: String] = [:], _ body: @Sendable (DeliveryGround) async throws -> Void
    ) async throws {
        // Nobody listens at the port behind it: it answers everything itself.
        let store = try FaultyProxy(to: 1) { line, earlier in Self.answer(to: line, number: earlier.count) }
        let own = ["SLUICE_OUTBOUND_ALLOW": store.origin]
        try await Deployment.with(settings: settings.merging(own) { $1 }) { site in
            let ground = try await DeliveryGround(at: site, store)
            try await body(ground)
            await ground.holder.close()
            await ground.session.close()
        }
        store.close()
    }

    private static func answer(to line: String, number: Int) -> FaultyProxy.Fate {
        guard line.hasPrefix("POST ") else { return .answer(404) }
        if line.hasPrefix("POST / ") {
            return .answer(200, body: assumedRole(accessKeyID: "ASIA1"))
        }
        if line.contains("uploadId=") {
            return .answer(
                200, body: "<CompleteMultipartUploadResult><ETag>\"e\(number)\"</ETag></CompleteMultipartUploadResult>")
        }
        return .answer(
            200,
            body: """
                <InitiateMultipartUploadResult><UploadId>made\(number)</UploadId></InitiateMultipartUploadResult>
                """)
    }

    private init(at site: Deployment, _ store: FaultyProxy) async throws {
        self.site = site
        self.store = store
        session = try site.session()
        holder = try site.session()
        let endpoint = store.origin
        _ = try await site.makeOpenBucket(Self.bucket, endpoint: endpoint)
        var askers: [Asker] = []
        for name in ["asker", "sender", "bystander"] {
            let user = try await site.makeUser(name)
            try await site.allowEverything(to: user.principal, in: Self.bucket)
            askers.append(Asker(user: user, bucket: Self.bucket, endpoint: endpoint))
        }
        quota = try await site.quota(1_000_000, for: askers[0].user.principal)
        try await site.quota(1_000_000, for: askers[1].user.principal, options: ["metric": "bytes"])
        let made = try await askers[0].user.client.call(
            "POST", "/v1/tickets", ["bucket": "\(Self.bucket)", "prefix": "own/"])
        let ticket = try #require(made.json["ticket"].text, "\(made.text)")
        site.keepSecret(ticket)
        askers[0].ticket = ticket
        (asker, sender, bystander) = (askers[0], askers[1], askers[2])
        try await session.runScript(
            """
            CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_advisory_xact_lock_shared(\(Self.lock));
                RETURN NEW;
            END
            $$;
            CREATE TRIGGER hold_up BEFORE INSERT ON issuances FOR EACH ROW
            WHEN (NEW.principal IN ('\(asker.user.principal)', '\(sender.user.principal)'))
            EXECUTE FUNCTION hold_up()
            """)
        try await waitUntil("the gateway is ready", seconds: 15) {
            try await site.client().call("GET", "/readyz").status == 200
        }
    }

    /// What the gateway counts now.
    func reading() async throws -> MetricsReading { try await MetricsReading(of: site.gateways[0]) }

    /// Waits until the gateway does nothing, and has no connection but the one that asks.
    func waitUntilIdle() async throws {
        try await waitUntil("all requests are over, and their connections closed") {
            let now = try await reading()
            return now.requestsUnderWay == 0 && now[#"sluice_http_connections{listener="api"}"#] == 1
        }
    }
}

// MARK: - Asking

/// A request of one delivery.
struct DeliveryCall: Sendable {
    let delivery: Delivery
    let request: RawRequest
    /// The port of the gateway.
    let port: UInt16

    /// Reads what an answer says.
    func outcome(of answer: RawResponse) -> Delivery.Outcome {
        delivery.outcome(of: answer, to: request, fromPort: port)
    }

    /// Sends the request, and reads what the answer says.
    func outcome() async throws -> Delivery.Outcome { outcome(of: try await request.answer(fromPort: port)) }
}

extension DeliveryGround {
    /// Requests of the asker, with keys of their own where the deliveries heed keys.
    func calls(_ deliveries: [Delivery], withKeys: Bool = false) async throws -> [DeliveryCall] {
        var calls: [DeliveryCall] = []
        for delivery in deliveries { calls.append(try await call(delivery, by: asker, withKey: withKeys)) }
        return calls
    }

    /// Requests of the asker for every delivery, and those of the sender.
    func allCalls(withKeys: Bool = false) async throws -> [DeliveryCall] {
        var calls = try await calls(Delivery.everything, withKeys: withKeys)
        for delivery in Self.sendings { calls.append(try await call(delivery, by: sender, withKey: withKeys)) }
        return calls
    }

    /// A request that shares nothing with another. What takes an upload in parts has one of its own.
    func call(_ delivery: Delivery, by asker: Asker, withKey: Bool = false) async throws -> DeliveryCall {
        var asker = asker
        if delivery.needsUpload {
            asker.upload = try await session.addUpload(of: asker.user.principal, in: asker.bucket)
        }
        var request = try delivery.request(for: asker)
        if withKey, delivery.takesKey {
            request.headers.append((name: "Idempotency-Key", value: UUID().uuidString))
        }
        return DeliveryCall(delivery: delivery, request: request, port: asker.user.client.port)
    }

    /// Expects that each of these requests issues.
    func expectIssued(_ calls: [DeliveryCall]) async throws {
        for call in calls {
            let found = try await call.outcome()
            #expect(found == .issued, "\(call.delivery)")
        }
    }

    /// Expects that the bystander is served.
    func expectServed(_ when: String) async throws {
        let found = try await Delivery.way(.oneByOne).outcome(for: bystander)
        #expect(found == .issued, "\(when)")
    }
}

// MARK: - Holding up

extension DeliveryGround {
    /// Holds up all recordings of the asker and the sender. Nobody else's wait, and the probes of the gateway pass.
    func holdUpRecordings() async throws {
        _ = try await holder.number("SELECT count(pg_advisory_lock(\(Self.lock)))")
    }

    /// Lets the recordings go on.
    func letRecordingsGo() async throws {
        _ = try await holder.number("SELECT count(pg_advisory_unlock(\(Self.lock)))")
    }

    /// Number of statements of gateways that record and wait: for the lock, or for others at the counter of a quota.
    func recordingsHeldUp() async throws -> Int {
        Int(try await session.blocked(in: "%record_issuance%"))
    }

    /// Makes the gateway read the asker's rows of policy again, and holds that up. Others are decided from memory.
    func holdUpPolicy() async throws {
        try await holder.runScript("BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE")
        try await session.runScript("SELECT append_policy_log('{\(asker.user.principal)}', 'tests', '')")
    }

    /// Lets the reading go on.
    func letPolicyGo() async throws { try await holder.runScript("ROLLBACK") }
}
