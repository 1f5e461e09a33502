import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `GET /admin/v1/access`: what a principal may do, or who may reach a key or a prefix.
struct AccessReviewEndpoints: Sendable {
    let useCase: AccessReview

    /// Answers the question that the parameters ask.
    @Sendable func review(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["principal", "bucket", "key", "prefix", "expandGroups", "pageSize", "pageToken"])
        let principal = try request.parsed("principal") { (text) throws(GatewayError) in try Principal(text) }
        let bucket = try request.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }
        let key = try request.parsed("key") { (text) throws(GatewayError) in try ObjectKey(text) }
        let prefix = try request.query("prefix")
        let expandsGroups = try request.flag("expandGroups")
        guard key == nil || prefix == nil else { throw Self.invalid("prefix", "Send either 'key' or 'prefix'.") }
        guard key != nil || !expandsGroups else { throw Self.invalid("expandGroups", "'expandGroups' needs 'key'.") }
        if let key {
            guard let bucket else { throw Self.needsBucket }
            return try await reachers(
                of: key, in: bucket, only: principal, expandsGroups: expandsGroups, request, caller)
        }
        if let prefix {
            guard let bucket else { throw Self.needsBucket }
            guard principal == nil else {
                throw Self.invalid("principal", "With 'prefix', omit 'principal'; or omit 'prefix'.")
            }
            return try await surroundings(of: prefix, in: bucket, request, caller)
        }
        guard let principal else {
            throw Self.invalid("principal", "Send 'principal', or 'bucket' with 'key' or 'prefix'.")
        }
        return try await access(of: principal, in: bucket, request, caller)
    }

    private func access(
        of principal: Principal, in bucket: BucketName?, _ request: APIRequest, _ caller: Caller
    ) async throws -> ServerResponse {
        var filters = ["principal": principal.rawValue]
        filters["bucket"] = bucket?.rawValue
        let access = try await useCase.access(of: principal, in: bucket, request.listQuery(filters, for: caller))
        return .json(.ok, capacity: 4096) { json in
            json.member("principal", principal.rawValue)
            json.member("bucket", bucket?.rawValue)
            json.objects("members", access.members) { json, member in
                json.member("principal", member.principal.rawValue)
                json.member("origin", member.origin.rawValue)
            }
            access.grants.write(to: &json) { $0.write(to: &$1) }
            json.objects("quotas", access.quotas) { $1.write(to: &$0) }
        }
    }

    private func reachers(
        of key: ObjectKey, in bucket: BucketName, only principal: Principal?, expandsGroups: Bool,
        _ request: APIRequest, _ caller: Caller
    ) async throws -> ServerResponse {
        let filters = [
            "bucket": bucket.rawValue, "key": key.rawValue, "members": expandsGroups ? "true" : "false",
        ]
        let page = try await useCase.access(
            to: key, in: bucket, of: principal, includesMembers: expandsGroups, request.listQuery(filters, for: caller))
        return .json(.ok, capacity: 4096) { json in
            json.member("principal", principal?.rawValue)
            json.member("bucket", bucket.rawValue)
            json.member("key", key.rawValue)
            page.write(to: &json) { $0.write(to: &$1) }
        }
    }

    private func surroundings(
        of prefix: String, in bucket: BucketName, _ request: APIRequest, _ caller: Caller
    ) async throws -> ServerResponse {
        guard case .literal(let text) = try KeyPrefix(literal: prefix),
            prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/")
        else { throw Self.invalid("prefix", "The value must be empty or end in '/'; for one key, send 'key'.") }
        let filters = ["bucket": bucket.rawValue, "prefix": prefix]
        let page = try await useCase.access(around: text, in: bucket, request.listQuery(filters, for: caller))
        return .json(.ok, capacity: 4096) { json in
            json.member("bucket", bucket.rawValue)
            json.member("prefix", prefix)
            page.write(to: &json) { $0.write(to: &$1) }
        }
    }

    private static let needsBucket = invalid("bucket", "'bucket' is required with 'key' and 'prefix'.")

    private static func invalid(_ field: String, _ reason: String) -> GatewayError {
        .invalidArgument(field: field, reason: reason)
    }
}
