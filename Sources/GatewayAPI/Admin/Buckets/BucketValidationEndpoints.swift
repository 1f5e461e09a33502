import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `POST /admin/v1/buckets/{bucket}:validate`.
struct BucketValidationEndpoints: Sendable {
    let useCase: BucketValidations

    /// Tests a bucket and its credential at the store.
    @Sendable func validate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try request.jsonObjectIfAny().end()
        let validation = try await useCase.validate(request.bucketName(), by: caller.change(in: request))
        return .json(.ok, capacity: 2048) { validation.write(to: &$0) }
    }
}

extension BucketValidation {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("valid", isValid)
        json.member("probeKey", probeKey.rawValue)
        json.member("probeLeft", leavesProbe)
        if let clockDifference { json.member("clockDifference", clockDifference) }
        json.objects("steps", findings) { $1.write(to: &$0) }
    }
}

extension BucketValidation.Finding {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("step", step.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("origin", origin)
        json.member("endpoint", endpoint?.rawValue)
        if let status { json.member("status", status) }
        json.member("code", failure?.code)
        json.member("reason", failure?.word)
        if let duration { json.member("milliseconds", Int64((duration / .milliseconds(1)).rounded(.up))) }
        json.member("advice", advice)
    }
}
