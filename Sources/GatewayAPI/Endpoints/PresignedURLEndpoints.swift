import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import StrictJSON

/// `POST /v1/presigned-urls` and `POST /v1/presigned-urls/batch`.
final class PresignedURLEndpoints: Sendable {
    /// Body limit of a batch, in bytes: 2 KiB for each of 1,000 items.
    static let maxBatchBytes = 2 << 20
    /// Items of a batch that are read before others have a turn.
    private static let itemsPerTurn = 64

    let useCase: PresignedURLs
    let metrics: RequestMetrics
    /// How long a request may wait to be recorded.
    let timeout: Duration
    /// What each item of a batch counts by.
    private let rate: RequestRate?

    init(useCase: PresignedURLs, metrics: RequestMetrics, timeout: Duration, rate: RequestRate?) {
        self.rate = rate
        self.useCase = useCase
        self.metrics = metrics
        self.timeout = timeout
    }

    /// Issues one URL.
    @Sendable func issue(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let useCase = useCase.repeating(request.repeatable)
        let issued = try await useCase.issue(
            Self.wanted(request, of: useCase), for: caller, sourceAddress: request.sourceAddress, requestID: request.id,
            deadline: request.start.advanced(by: timeout)
        )
        metrics.issued(issued)
        var response = ServerResponse.json(.created, capacity: 960) { issued.write(to: &$0) }
        response.setRateLimit(issued.quotas)
        return response
    }

    private static func wanted(_ request: APIRequest, of useCase: PresignedURLs) throws -> IssueRequest {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let fields = try IssueRequest.Fields(&body)
        try body.end()
        return try useCase.request(fields)
    }

    /// Issues up to 1,000 URLs, each for itself.
    @Sendable func issueBatch(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let items = try body.required("items", body.values("items", atMost: PresignedURLs.maxBatch))
        try body.end()
        try rate?.take(items.count - 1, after: 1, from: caller.principal, at: request.start)
        let useCase = useCase.repeating(request.repeatable)
        var wishes: [Result<IssueRequest, GatewayError>] = []
        wishes.reserveCapacity(items.count)
        for (place, item) in items.enumerated() {
            // To read a thousand takes long: others go between.
            if place % Self.itemsPerTurn == Self.itemsPerTurn - 1 { await Task.yield() }
            wishes.append(Result { () throws(GatewayError) in try Self.wanted(item, at: place, of: useCase) })
        }
        var results = await useCase.issue(
            wishes.compactMap { try? $0.get() }, for: caller, sourceAddress: request.sourceAddress,
            requestID: request.id, deadline: request.start.advanced(by: timeout)
        )[...]
        let answers = wishes.map { wish -> Result<IssuedURL, GatewayError> in
            wish.flatMap { _ in results.popFirst() ?? .failure(.unavailable(retryAfter: 1)) }
        }
        for answer in answers { metrics.count(answer) }
        var response = ServerResponse.json(.ok, capacity: 64 + 768 * answers.count) { json in
            json.name("results")
            json.array(answers) { json, answer in
                switch answer {
                case .success(let issued): json.object { issued.write(to: &$0) }
                case .failure(let error): request.problem(for: error).write(to: &json, requestID: request.id)
                }
            }
        }
        response.setRateLimit(ofBatch: answers)
        return response
    }

    private static func wanted(
        _ item: JSONNode, at place: Int, of useCase: PresignedURLs
    ) throws(GatewayError) -> IssueRequest {
        var body = try JSONObject(item)
        let fields = try IssueRequest.Fields(&body)
        try body.end()
        return try useCase.request(fields, at: place)
    }
}

extension ServerResponse {
    /// Says what is left of each quota after the last item that it admitted.
    mutating func setRateLimit(ofBatch answers: [Result<IssuedURL, GatewayError>]) {
        setRateLimit(Self.lowestBalances(of: answers))
    }

    private static func lowestBalances(of answers: [Result<IssuedURL, GatewayError>]) -> [QuotaBalance] {
        var lowest: [QuotaBalance] = []
        for case .success(let issued) in answers {
            for balance in issued.quotas {
                guard let known = lowest.firstIndex(where: { $0.quota.id == balance.quota.id }) else {
                    lowest.append(balance)
                    continue
                }
                if balance.remainder.remaining < lowest[known].remainder.remaining { lowest[known] = balance }
            }
        }
        return lowest
    }
}

extension IssuedURL {
    /// Writes the members of the answer.
    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("method", method.rawValue)
        json.member("bucket", bucket.rawValue)
        json.member("key", key.rawValue)
        json.member("url", verbatim: url.reveal())
        json.name("headers")
        json.object { json in
            for header in headers { json.member(named: header.name, header.value) }
        }
        json.member("expiresAt", expiresAt)
        json.member("expiresIn", expiresIn)
        json.member("enforcedBy", enforcedBy.rawValue)
    }
}

extension RequestMetrics {
    /// Counts a URL.
    func issued(_ issued: IssuedURL) {
        self.issued(action: issued.method.action.rawValue, method: issued.method.rawValue)
    }

    /// Counts an item of a batch.
    func count(_ answer: Result<IssuedURL, GatewayError>) {
        switch answer {
        case .success(let issued): self.issued(issued)
        case .failure(let error): refused(code: error.code)
        }
    }
}

extension ServerResponse {
    /// Tells what is left of quotas.
    mutating func setRateLimit(_ balances: [QuotaBalance]) {
        guard !balances.isEmpty else { return }
        let items = balances.map(RateLimit.Item.init)
        head.headerFields[.rateLimit] = RateLimit.remaining(items)
        head.headerFields[.rateLimitPolicy] = RateLimit.policy(items)
    }
}

extension IssueRequest.Fields {
    /// Takes the members of a body.
    init(_ body: inout JSONObject) throws(GatewayError) {
        self.init()
        action = try body.string("action")
        method = try body.string("method")
        bucket = try body.string("bucket")
        key = try body.string("key")
        keyPrefix = try body.string("keyPrefix")
        keyExtension = try body.string("keyExtension")
        contentType = try body.string("contentType")
        contentMD5 = try body.string("contentMD5")
        checksumSHA256 = try body.string("checksumSHA256")
        contentLength = try body.integer("contentLength")
        expiresIn = try body.integer("expiresIn").map { Int($0) }
        if var response = try body.object("response") {
            self.response = try ResponseOverrides.Fields(&response)
            try response.end()
        }
        metadata = try body.dictionary("metadata", atMost: ObjectMetadata.maxCount)
        ifNoneMatch = try body.string("ifNoneMatch")
        process = try body.string("process")
        versionID = try body.string("versionId")
    }
}

extension ResponseOverrides.Fields {
    /// Takes the members of `response`.
    fileprivate init(_ json: inout JSONObject) throws(GatewayError) {
        self.init()
        contentDisposition = try json.string("contentDisposition")
        filename = try json.string("filename")
        contentType = try json.string("contentType")
        contentLanguage = try json.string("contentLanguage")
        cacheControl = try json.string("cacheControl")
        expires = try json.string("expires")
        contentEncoding = try json.string("contentEncoding")
    }
}
