import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `GET /v1/access`.
struct AccessEndpoints: Sendable {
    let useCase: AccessOverview

    /// Shows the caller's own grants and what is left of its quotas, also for one bucket or around a prefix.
    @Sendable func show(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["bucket", "prefix"])
        let bucket = try request.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }
        let prefix = try request.parsed("prefix") { (text) throws(GatewayError) in try KeyPrefix(literal: text) }
        guard bucket != nil || prefix == nil else {
            throw GatewayError.invalidArgument(field: "bucket", reason: "'bucket' is required with 'prefix'.")
        }
        let access = try await useCase.access(of: caller, in: bucket, around: ExactText(prefix?.text ?? ""))
        return .json(.ok) { json in
            json.member("principal", caller.principal.rawValue)
            json.objects("grants", access.grants) { $1.write(to: &$0) }
            json.member("isTruncated", access.isTruncated)
            json.objects("quotas", access.quotas) { $1.write(to: &$0) }
        }
    }
}

extension AccessOverview.EffectiveGrant {
    /// Writes the meaning of the grant for its user, but not whom else it reaches or who created it.
    fileprivate func write(to json: inout JSONWriter) {
        json.member("bucket", grant.bucket.rawValue)
        json.member("prefix", prefix.rawValue)
        grant.writeRule(to: &json)
    }
}

extension QuotaBalance {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", quota.id)
        quota.writeRule(to: &json)
        remainder.write(to: &json)
    }
}
