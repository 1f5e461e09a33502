import ContractTesting
import Foundation
import HTTPTesting
import LibPQ
import TestSupport
import Testing

/// Every way to ask for a credential: those of the API, and those of other protocols.
enum Delivery: Equatable, Sendable {
    case way(Way)
    case upload, listing, deletion
    /// By a redirect, with a ticket in place of a token.
    case byTicket
    case start, complete, container, credentialsURI, lfs
    case companionForm, companionStart, companionPart, companionComplete, companionSession

    /// What an answer says.
    enum Outcome: Equatable, Sendable {
        case issued
        /// 503; if the answer is for the whole request, for a minute.
        case unavailable
        case refused(Int)
    }

    /// Each of them that needs no ticket. The first is recorded before a store is asked, and the last leave the upload
    /// no more parts.
    static let all: [Delivery] = Way.allCases.map(Delivery.way) + others
    private static let others: [Delivery] = [
        .upload, .listing, .deletion, .container, .credentialsURI, .lfs, .companionForm, .companionPart,
        .companionSession, .start, .companionStart, .complete, .companionComplete,
    ]
    /// Each of them.
    static let everything: [Delivery] = all + [.byTicket]

    /// Whether a store has to answer before the gateway does.
    var needsStore: Bool {
        switch self {
        case .way(.bySession), .start, .complete, .container, .credentialsURI: true
        case .companionStart, .companionComplete, .companionSession: true
        default: false
        }
    }

    /// Whether it takes an upload in parts that was started before.
    var needsUpload: Bool {
        [Delivery.way(.byPart), .complete, .companionPart, .companionComplete].contains(self)
    }

    /// Whether it heeds an idempotency key.
    var takesKey: Bool {
        switch self {
        case .way(let way): ![.byRedirect, .byRequest].contains(way)
        case .upload, .listing, .deletion, .start, .complete: true
        default: false
        }
    }

    /// Whether what is recorded belongs to the idempotency key. The start and the completion of an upload record URLs
    /// that the gateway keeps to itself; they keep their answers instead.
    var isIssuedByKey: Bool { takesKey && ![Delivery.start, .complete].contains(self) }

    /// Whether the answer has an outcome for each item, and 200 for the whole.
    var answersItems: Bool { [Delivery.way(.inBatches), .way(.byPart), .lfs].contains(self) }

    /// The delivery in the ledger.
    var inLedger: String {
        switch self {
        case .way(let way): way.delivery
        case .upload, .listing, .deletion, .lfs: "presigned-url"
        case .byTicket: "redirect"
        case .start, .companionStart: "multipart-start"
        case .complete, .companionComplete: "multipart-complete"
        case .container, .credentialsURI, .companionSession: "sts"
        case .companionForm: "post-policy"
        case .companionPart: "multipart-part"
        }
    }

    /// The template of its path, as metrics name it.
    var route: String {
        switch self {
        case .way(.oneByOne), .upload, .listing, .deletion: "/v1/presigned-urls"
        case .way(.inBatches): "/v1/presigned-urls/batch"
        case .way(.byRedirect), .byTicket: "/v1/objects/{bucket}/{key}"
        case .way(.byForm): "/v1/post-policies"
        case .way(.byPart): "/v1/multipart-uploads/{id}/parts"
        case .way(.bySession): "/v1/sts"
        case .way(.bySignature): "/v1/signatures/aws-v2"
        case .way(.byRequest): "/v1/aws/s3/sign"
        case .way(.byCookies): "/v1/cdn-cookies"
        case .start: "/v1/multipart-uploads"
        case .complete: "/v1/multipart-uploads/{id}:complete"
        case .container: "/v1/sts/aws/{scope}"
        case .credentialsURI: "/v1/sts/oss"
        case .lfs: "/lfs/{bucket}/{path}"
        case .companionForm: "/companion/s3/params"
        case .companionStart: "/companion/s3/multipart"
        case .companionPart: "/companion/s3/multipart/{id}/{number}"
        case .companionComplete: "/companion/s3/multipart/{id}/complete"
        case .companionSession: "/companion/s3/sts"
        }
    }

    /// The bytes of a request below `own/`.
    func request(for asker: Asker) throws -> RawRequest {
        let (bucket, client) = (asker.bucket, asker.user.client)
        let uploads = "/v1/multipart-uploads"
        let upload = asker.upload?.id ?? ""
        let part = "/companion/s3/multipart/\(upload)"
        let place = [(name: "Sluice-Bucket", value: bucket), (name: "Sluice-Prefix", value: "own/")]
        switch self {
        case .way(let way): return try way.request(for: ["own/k"], by: asker)
        case .upload: return try client.request("POST", "/v1/presigned-urls", .upload("own/k", to: bucket))
        case .listing:
            return try client.request(
                "POST", "/v1/presigned-urls",
                ["action": "ListObjects", "bucket": "\(bucket)", "prefix": "own/", "list": [:]])
        case .deletion:
            return try client.request(
                "POST", "/v1/presigned-urls", ["action": "DeleteObject", "bucket": "\(bucket)", "key": "own/k"])
        case .byTicket:
            let ticket = try #require(asker.ticket)
            return try APIClient(port: client.port).request("GET", "/v1/objects/\(bucket)/own/k?ticket=\(ticket)")
        case .start:
            return try client.request(
                "POST", uploads, ["bucket": "\(bucket)", "key": "own/k", "contentType": "text/plain"])
        case .complete:
            return try client.request(
                "POST", "\(uploads)/\(upload):complete", ["parts": [["partNumber": 1, "etag": "e1"]]])
        case .container: return try client.request("GET", "/v1/sts/aws/\(bucket)/own/?actions=GetObject")
        case .credentialsURI:
            return try client.request("GET", "/v1/sts/oss?bucket=\(bucket)&prefix=own%2F&actions=GetObject")
        case .lfs:
            let object: JSON = ["oid": .string(String(repeating: "ab", count: 32)), "size": 10]
            var request = try client.request(
                "POST", "/lfs/\(bucket)/own/objects/batch", ["operation": "download", "objects": [object]])
            request.headers = request.headers.map {
                $0.name == "Content-Type" ? (name: $0.name, value: "application/vnd.git-lfs+json") : $0
            }
            return request
        case .companionForm:
            return try client.request(
                "GET", "/companion/s3/params?filename=a.txt&type=text%2Fplain", headers: place)
        case .companionStart:
            let file: JSON = ["filename": "a.txt", "type": "text/plain"]
            return try client.request("POST", "/companion/s3/multipart", file, headers: place)
        case .companionPart: return try client.request("GET", "\(part)/1?key=own%2Fupload", headers: place)
        case .companionComplete:
            let parts: JSON = ["parts": [["PartNumber": 1, "ETag": "e1"]]]
            return try client.request("POST", "\(part)/complete?key=own%2Fupload", parts, headers: place)
        case .companionSession: return try client.request("GET", "/companion/s3/sts", headers: place)
        }
    }

    /// Asks, and reads what the answer says.
    func outcome(for asker: Asker) async throws -> Outcome {
        let request = try request(for: asker)
        return outcome(
            of: try await request.answer(fromPort: asker.user.client.port), to: request,
            fromPort: asker.user.client.port)
    }

    /// Reads what an answer says. Checks it against the contract.
    func outcome(of raw: RawResponse, to request: RawRequest, fromPort port: UInt16) -> Outcome {
        Deployment.keepSecrets(of: raw, from: port)
        expectContractKept(request.exchange(raw))
        let answer = Answer(raw)
        guard answer.status < 400 else {
            return answer.status == 503 && answer["Retry-After"] == "60" ? .unavailable : .refused(answer.status)
        }
        let status: Int? =
            switch self {
            case .way(.inBatches), .way(.byPart): answer.json["results"].items.first?["status"].integer
            case .lfs: answer.json["objects"].items.first?["error"]["code"].integer
            case .credentialsURI: answer.json["StatusCode"].integer
            default: nil
            }
        guard let status, status >= 400 else { return .issued }
        return status == 503 ? .unavailable : .refused(status)
    }
}

extension Deployment {
    /// Makes a bucket that opens every delivery; returns the identifiers of its credential, which may open sessions,
    /// and of the one of its CDN.
    func makeOpenBucket(_ name: String, endpoint: String) async throws -> (credential: String, ofCDN: String) {
        let secret = "secret-\(UUID().uuidString)"
        keepSecret(secret)
        let role: JSON = [
            "roleARN": "arn:aws:iam::123456789012:role/uploader", "service": "aws", "endpoint": "\(endpoint)",
            "region": "eu-west-1",
        ]
        let signer = try await create(
            "storage-credentials",
            [
                "name": "of \(name)", "accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "\(secret)",
                "sessionRole": role,
            ])
        let keyPair: JSON = ["id": "K2JCJMDEHXQW5F", "privateKey": "\(TestKey.pem)"]
        let signerOfCDN = try await create(
            "storage-credentials", ["name": "of the CDN of \(name)", "keyPair": keyPair])
        let signing: JSON = ["scheme": "cloudfront", "credentialID": signerOfCDN["id"]]
        let protocols: JSON = ["aws-remote-signing", "aws-container-credentials", "git-lfs", "uppy-companion"]
        try await create(
            "buckets",
            [
                "name": "\(name)", "endpoint": "\(endpoint)", "region": "eu-west-1", "addressing": "path",
                "credentialID": signer["id"], "allowsRedirects": true, "protocols": protocols,
                "publicEndpoints": ["cdn": ["url": "https://cdn.example", "signing": signing]],
            ])
        return (try #require(signer["id"].text), try #require(signerOfCDN["id"].text))
    }

    /// Makes the grants under which a user may ask for every delivery in a bucket.
    func allowEverything(to principal: String, in bucket: String) async throws {
        try await create("grants", Self.askingGrant(principal, in: bucket))
        try await grant(["ListObjects", "DeleteObject"], to: principal, in: bucket)
    }
}

extension PostgresConnection {
    /// Adds an upload in parts that is open, as if a store had begun it; returns its identifier and its key.
    func addUpload(of principal: String, in bucket: String) async throws -> (id: String, key: String) {
        let id = UUID().uuidString.lowercased()
        try await runScript(
            """
            INSERT INTO multipart_uploads
                (id, principal, bucket, object_key, content_type, state, store_upload_id, expires_at, check_at)
            VALUES ('\(id)', '\(principal)', '\(bucket)', 'own/upload', 'text/plain', 'open', 'u1',
                now() + interval '1 hour', now() + interval '1 hour')
            """)
        return (id, "own/upload")
    }
}
