import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import StrictJSON

/// `POST /v1/aws/s3/sign`: signs requests to S3 stores that clients of Iceberg are about to send.
struct RemoteSigningEndpoints: Sendable {
    let useCase: RemoteSignatures

    private static let maxHeaders = 100

    /// Signs a request.
    @Sendable func sign(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let region = try body.required("region", body.string("region"))
        let method = try body.required("method", body.string("method"))
        let uri = try body.required("uri", body.string("uri"))
        let headers = try Self.headers(&body)
        if let provider = try body.string("provider"), provider != "s3" {
            throw body.invalid("provider", "The only provider here is 's3'.")
        }
        // What a store would read from a body is not judged here; requests whose effect depends on it are refused.
        _ = try (body.string("body"), body.value("properties"))
        try body.end()
        let wanted: RequestToSign
        do throws(StringToSignRefusal) {
            wanted = try RequestToSign(method: method, url: uri, headers: headers)
        } catch {
            throw GatewayError.invalidArgument(field: "uri", reason: "\(error.detail) (\(error.rawValue))")
        }
        let signed = try await useCase.sign(wanted, region: region, in: request.context(of: caller))
        var response = ServerResponse.json(.ok) { json in
            json.member("uri", uri)
            json.object("headers") { json in
                for header in headers + signed.allHeaders {
                    json.name(header.name)
                    json.strings([header.value])
                }
            }
        }
        // Clients keep a signature for further requests with the same method and URL if, and only if, this says so.
        response.head.headerFields[.cacheControl] = wanted.isRepeatable ? "private" : "no-cache"
        response.setRateLimit(signed.quotas)
        return response
    }

    /// Takes the headers of the request: for each name a list, which must hold one value.
    private static func headers(_ body: inout JSONObject) throws(GatewayError) -> [NamedValue] {
        guard case .object(let members) = try body.required("headers", body.value("headers")) else {
            throw body.invalid("headers", "The value must be an object.")
        }
        guard members.count <= maxHeaders else {
            throw body.invalid("headers", "At most \(maxHeaders) headers are allowed.")
        }
        var headers: [NamedValue] = []
        for member in members {
            guard case .array(let values) = member.value, case .string(let value)? = values.first, values.count == 1
            else { throw body.invalid("headers", "Each header must have a list of one text.") }
            headers.append(NamedValue(member.name, value))
        }
        return headers
    }
}

extension RemoteSignature {
    /// All headers that the client must add to its request.
    fileprivate var allHeaders: [NamedValue] {
        headers + (authorization.map { [NamedValue("authorization", $0.reveal())] } ?? [])
    }
}

/// The form of refusals that clients of Iceberg read.
enum RemoteSigningAnswer {
    /// Makes the answer for a refusal.
    @Sendable static func refusal(_ problem: Problem, _: String) -> ServerResponse {
        var answer = ServerResponse.json(problem.kind.status) { json in
            json.object("error") { json in
                json.member("message", problem.detail ?? problem.kind.title)
                json.member("type", problem.code)
                json.member("code", problem.kind.status.code)
            }
        }
        problem.addHeaders(to: &answer)
        return answer
    }
}
