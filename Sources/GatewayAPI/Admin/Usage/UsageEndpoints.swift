import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Sums over the ledger: usage, refusals, unused grants, and the reach of a leaked credential or a wrong grant.
struct UsageEndpoints: Sendable {
    let useCase: LedgerReporting

    /// `GET /admin/v1/usage`.
    @Sendable func usage(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(
            IssuanceFilter.parameterNames.subtracting(["alive"]).union(["by", "groupBy", "pageSize", "pageToken"]))
        let page = try request.listQuery([:], for: caller)
        let query = UsageQuery(
            try IssuanceFilter(request, for: caller), by: try request.word("by", UsageQuery.Step.self) ?? .hour,
            try request.words("groupBy", UsageQuery.Dimension.self), pageSize: page.pageSize,
            pageToken: page.pageToken)
        let found = try await useCase.usage(query)
        return .json(.ok) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/denials`.
    @Sendable func denials(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([
            "from", "to", "principal", "bucket", "code", "by", "groupBy", "pageSize", "pageToken",
        ])
        let page = try request.listQuery([:], for: caller)
        let query = DenialQuery(
            from: try request.instant("from"), to: try request.instant("to"),
            principal: try request.parsed("principal") { text throws(GatewayError) in try Principal(text) },
            bucket: try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) },
            code: try request.query("code"), by: try request.word("by", DenialQuery.Step.self) ?? .minute,
            try request.query("groupBy") == nil
                ? Set(DenialQuery.Dimension.allCases) : try request.words("groupBy", DenialQuery.Dimension.self),
            pageSize: page.pageSize, pageToken: page.pageToken, reach: page.reach)
        let found = try await useCase.denials(query)
        return .json(.ok) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/settling-backlog`.
    @Sendable func settlingBacklog(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let backlog = try await useCase.settlingBacklog()
        return .json(.ok) { backlog.write(to: &$0) }
    }

    /// `GET /admin/v1/grants:unused`.
    @Sendable func unusedGrants(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([
            "from", "unusedSince", "includeUsed", "principal", "bucket", "pageSize", "pageToken",
        ])
        let page = try request.listQuery([:], for: caller)
        let query = GrantUseQuery(
            from: try request.instant("from"), unusedSince: try request.instant("unusedSince"),
            includesUsed: try request.flag("includeUsed"),
            principal: try request.parsed("principal") { text throws(GatewayError) in try Principal(text) },
            bucket: try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) },
            pageSize: page.pageSize, pageToken: page.pageToken, reach: page.reach)
        let found = try await useCase.grantUse(query)
        return .json(.ok) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/grants/{id}/blast-radius`.
    @Sendable func blastRadiusOfGrant(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let id = try request.rowID(of: .grant)
        let radius = try await useCase.blastRadius(ofGrant: id, within: request.reach(of: caller))
        return .json(.ok) { radius.write(to: &$0) }
    }

    /// `GET /admin/v1/storage-credentials/{id}/blast-radius`.
    @Sendable func blastRadiusOfCredential(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let id = try request.rowID(of: .storageCredential)
        let radius = try await useCase.blastRadius(ofCredential: id, within: request.reach(of: caller))
        return .json(.ok) { radius.write(to: &$0) }
    }
}
