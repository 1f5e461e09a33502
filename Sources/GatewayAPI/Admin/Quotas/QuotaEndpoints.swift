import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/quotas`: the rows, and operations that read and reset their use.
struct QuotaEndpoints: Sendable {
    let rows: AdminEndpoints<Quota>
    let counters: QuotaCounters

    /// `GET /admin/v1/quotas/{id}`: one row, with its use.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let stored = try await rows.store.get(
            request.rowID(of: .quota).lowercaseText, within: request.reach(of: caller))
        let summary = try await counters.summaries(of: [stored.id])[stored.id]
        var response = ServerResponse.json(.ok) { json in
            stored.row.write(to: &json)
            summary?.write(to: &json)
        }
        response.head.headerFields[.eTag] = EntityTag(of: stored).text
        return response
    }

    /// `GET /admin/v1/quotas`: rows, each with its use.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let page = try await rows.store.list(request.listQuery(request.listFilters(Quota.filters), for: caller))
        let summaries = page.items.isEmpty ? [:] : try await counters.summaries(of: page.items.map(\.id))
        return .json(.ok) { json in
            page.write(to: &json) { quota, json in
                quota.write(to: &json)
                summaries[quota.id]?.write(to: &json)
            }
        }
    }

    /// `GET /admin/v1/quotas/{id}/usage`: how much each principal used, the largest first.
    @Sendable func usage(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let query = try request.listQuery(request.listFilters([.principal("holder")]), for: caller)
        let id = try request.rowID(of: .quota)
        let quota = try await rows.store.get(id.lowercaseText, within: request.reach(of: caller)).row
        let page = try await counters.uses(of: id, query)
        return .json(.ok) { json in
            page.write(to: &json) { use, json in
                json.member("holder", use.holder.rawValue)
                json.member("used", use.used)
                json.member("reserved", use.reserved)
                json.member("remaining", max(0, quota.limit - use.used))
            }
        }
    }

    /// `POST /admin/v1/quotas/{id}:reset`: sets counters of the current period to zero.
    @Sendable func reset(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let holder = try body.principal("holder")
        let isForAll = try body.bool("all") ?? false
        try body.end()
        let reset = try await counters.reset(
            request.rowID(of: .quota), of: QuotaHolders(holder: holder, isForAll: isForAll),
            by: caller.change(in: request))
        return .json(.ok) { json in
            json.member("holders", reset.holders)
            json.member("released", reset.released)
        }
    }
}

extension QuotaUseSummary {
    /// Writes the member `use`.
    fileprivate func write(to json: inout JSONWriter) {
        json.object("use") { json in
            json.member("startsAt", periodStart)
            json.member("resetsAt", resetsAt)
            json.member("used", used)
            json.member("highest", highest)
            json.member("holders", holders)
        }
    }
}
