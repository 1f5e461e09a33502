import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes

/// `/admin/v1/issuances`: the rows of the ledger.
struct IssuanceEndpoints: Sendable {
    let reader: any IssuanceReader

    /// `GET /admin/v1/issuances`.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(IssuanceFilter.parameterNames.union(["pageSize", "pageToken"]))
        let page = try request.listQuery([:], for: caller)
        let query = IssuanceQuery(
            try IssuanceFilter(request, for: caller), pageSize: page.pageSize, pageToken: page.pageToken)
        let found = try await reader.shownIssuances(query)
        return .json(.ok, capacity: 1024 * (found.items.count + 1)) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/issuances/{id}`.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let id = try request.rowID(of: .issuance)
        let row = try await reader.issuance(id, within: request.reach(of: caller))
        return .json(.ok) { row.write(to: &$0) }
    }

    /// `GET /admin/v1/issuances:export`.
    @Sendable func export(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(IssuanceFilter.parameterNames.union(["format"]))
        let format = try request.exportFormat()
        let query = IssuanceQuery(try IssuanceFilter(request, for: caller), pageSize: 1000)
        // If nothing can be read, the status says so. After this, the only sign of an error is a body that ends early.
        let first = try await reader.shownIssuances(query)
        return .records(format, name: "issuances") { [reader] writer in
            var page = first
            while true {
                try await writer.write(page.items)
                guard let token = page.nextPageToken else { return }
                var next = query
                next.pageToken = token
                page = try await reader.shownIssuances(next)
            }
        }
    }
}
