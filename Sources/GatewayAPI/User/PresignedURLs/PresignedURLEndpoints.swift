import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `POST /v1/presigned-urls` and `POST /v1/presigned-urls/batch`.
final class PresignedURLEndpoints: Sendable {
    /// Body limit of a batch, in bytes: 2 KiB for each of 1,000 items.
    static let maxBatchBytes = 2 << 20
    /// Number of batch items that are read before other tasks have a turn.
    private static let itemsPerTurn = 64

    let useCase: PresignedURLs
    let metrics: RequestMetrics
    /// Limits the rate of URLs; each item of a batch counts.
    private let rate: LimitRate

    init(useCase: PresignedURLs, metrics: RequestMetrics, rate: LimitRate) {
        self.rate = rate
        self.useCase = useCase
        self.metrics = metrics
    }

    /// Issues one URL.
    @Sendable func issue(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let context = request.context(of: caller)
        let issued = try await useCase.issue(wanted(request, in: context), in: context)
        var response = ServerResponse.json(.created, capacity: 960) { issued.write(to: &$0) }
        response.setRateLimit(issued.quotas)
        return response
    }

    private func wanted(_ request: APIRequest, in context: RequestContext) throws -> IssueRequest {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let fields = try IssueRequest.Fields(&body)
        try body.end()
        return try useCase.request(fields, in: context)
    }

    /// Issues up to 1,000 URLs. Each item succeeds or fails by itself.
    @Sendable func issueBatch(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let items = try body.required("items", body.values("items", atMost: PresignedURLs.maxBatch))
        try body.end()
        try rate.check(items: items.count, of: caller, for: request)
        let context = request.context(of: caller)
        var wishes: [Result<IssueRequest, GatewayError>] = []
        wishes.reserveCapacity(items.count)
        for (place, item) in items.enumerated() {
            // A thousand items take long to read; other tasks have their turns in between.
            if place % Self.itemsPerTurn == Self.itemsPerTurn - 1 { await Task.yield() }
            wishes.append(Result { () throws(GatewayError) in try wanted(item, at: place, in: context) })
        }
        let answers = wishes.answered(by: await useCase.issue(wishes.compactMap { try? $0.get() }, in: context))
        return .batch(answers, to: request, countedBy: metrics)
    }

    private func wanted(
        _ item: JSONNode, at place: Int, in context: RequestContext
    ) throws(GatewayError) -> IssueRequest {
        var body = try JSONObject(item)
        let fields = try IssueRequest.Fields(&body)
        try body.end()
        return try useCase.request(fields, at: place, in: context)
    }
}
