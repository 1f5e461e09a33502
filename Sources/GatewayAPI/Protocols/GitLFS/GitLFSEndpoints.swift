import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import StrictJSON

/// `/lfs/{bucket}/{path}`: the batch API of Git LFS, with basic transfers.
///
/// The path is a prefix of keys, which may be empty, and one of the operations: `objects/batch`, `objects/verify` and
/// those of locks, which do not exist here.
struct GitLFSEndpoints: Sendable {
    let useCase: GitLFSLinks
    let metrics: RequestMetrics
    /// Limits the rate of links; each object of a batch counts.
    let rate: LimitRate
    /// Origin under which clients reach this gateway; `nil` where the operator has not set it.
    let publicURL: String?

    /// Reads the credential: a token, or a password that is one. A verification without `Authorization` has it in
    /// `Sluice-Authorization`.
    @Sendable static func credential(_ request: APIRequest) throws(GatewayError) -> Secret<String> {
        var headers = request.headers
        if request.method == .post, !headers.contains(.authorization),
            request.match.target?.segments.suffix(2) == ["objects", "verify"]
        {
            headers[values: .authorization] = headers[values: .sluiceAuthorization]
        }
        return try BasicToken.token(in: headers)
    }

    /// Answers a POST.
    @Sendable func post(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let (prefix, operation) = try path(of: request)
        switch operation {
        case ["objects", "batch"]:
            try request.allowQuery([])
            do {
                return try await batch(request, caller, below: prefix)
            } catch let refusal as GitLFSRefusal {
                return GitLFSAnswer.refusal(refusal.status, refusal.message, request.id)
            }
        case ["objects", "verify"]: return try await verify(request, caller, below: prefix)
        default:
            return GitLFSAnswer.refusal(.notFound, "There is no such operation; locks are not supported.", request.id)
        }
    }

    /// Answers a GET, which only locks have.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        GitLFSAnswer.refusal(.notFound, "There is no such operation; locks are not supported.", request.id)
    }

    /// Splits the path, decoded once, into the prefix of keys and the last two segments, which name the operation.
    private func path(of request: APIRequest) throws -> (prefix: String, operation: [String]) {
        guard let segments = request.match.target?.segments.dropFirst(2), segments.count >= 2 else {
            throw APIError.noSuchRoute
        }
        let prefix = segments.dropLast(2)
        // An escaped slash may arrive escaped, or as the plain one that an intermediary made of it.
        guard !prefix.contains(where: { $0.utf8.contains(UInt8(ascii: "/")) }) else {
            throw GatewayError.invalidArgument(field: "path", reason: "The slashes of the path must not be escaped.")
        }
        return (prefix.map { $0 + "/" }.joined(), Array(segments.suffix(2)))
    }

    private func batch(_ request: APIRequest, _ caller: Caller, below prefix: String) async throws -> ServerResponse {
        let batch = try GitLFSBatch(request.jsonObject(orOf: GitLFSAnswer.mediaType))
        try rate.check(items: batch.objects.count, of: caller, for: request)
        let answers = try await useCase.answers(
            for: batch.objects, to: batch.operation, in: BucketName(request.parameter(0)), below: prefix,
            context: request.context(of: caller), timeout: APIRequest.recordTimeout)
        return answer(request, batch, answers)
    }

    private func answer(
        _ request: APIRequest, _ batch: GitLFSBatch, _ answers: [Result<MissingUploads.Outcome, GatewayError>]
    ) -> ServerResponse {
        let links = answers.compactMap { answer -> Result<IssuedURL, GatewayError>? in
            switch answer {
            case .success(.link(let link)): .success(link)
            case .success(.present): nil
            case .failure(let error): .failure(error)
            }
        }
        request.noteItems(answers, countedBy: metrics)
        var response = GitLFSAnswer.object(capacity: 64 + 1024 * answers.count) { json in
            json.member("transfer", "basic")
            json.member("hash_algo", "sha256")
            json.objects("objects", zip(batch.objects, answers)) { json, item in
                let (object, answer) = item
                json.member("oid", object.oid)
                json.member("size", object.size)
                switch answer {
                case .success(.present(let stored)) where stored.size != object.size:
                    json.error(.unprocessableContent, "Another object of \(stored.size) bytes has this name.")
                case .success(.present): break
                case .success(.link(let link)):
                    json.member("authenticated", true)
                    write(link, of: request, to: &json)
                case .failure(let error):
                    let problem = request.problem(for: error)
                    json.error(problem.lfsStatus, problem.lfsMessage)
                }
            }
        }
        response.setRateLimit(ofBatch: links)
        return response
    }

    private func write(_ link: IssuedURL, of request: APIRequest, to json: inout JSONWriter) {
        json.object("actions") { json in
            json.object(link.method == .put ? "upload" : "download") { json in
                json.member("href", link.url.reveal())
                // Every client states the length of what it sends by itself.
                json.header(link.headers.filter { $0.name != "content-length" }.map { ($0.name, $0.value) })
                json.member("expires_in", link.expiresIn)
            }
            guard link.method == .put, let publicURL, let path = request.match.target?.rawPath else { return }
            json.object("verify") { json in
                json.member(
                    "href", "\(publicURL)\(path.dropLast("batch".utf8.count))verify?issuance=\(link.id.lowercaseText)")
                // Without a credential in the answer the client would send none: it asks for none where the link of an
                // object says that it is authenticated. The credential has a field of its own: clients that add an
                // Authorization to each request (`http.extraheader`) add it to these as well, and two of that name are
                // refused, also by proxies such as nginx.
                // The address has no end, so that the client calls it also after an upload that outlasts its link.
                json.header(request.headers[.authorization].map { [("Sluice-Authorization", $0)] } ?? [])
            }
        }
    }

    /// Confirms an upload by a HEAD, and records what was found.
    private func verify(_ request: APIRequest, _ caller: Caller, below prefix: String) async throws -> ServerResponse {
        try request.allowQuery(["issuance"])
        let object = try GitLFSObject(request.jsonObject(orOf: GitLFSAnswer.mediaType))
        guard let id = try request.query("issuance").flatMap(UUID.init(uuidString:)) else {
            throw GatewayError.notFound(.issuance)
        }
        switch try await useCase.verify(
            object, issuedAs: id, in: request.parameter(0), below: prefix, by: caller)
        {
        case .arrived: return GitLFSAnswer.object { _ in }
        case .absent: return GitLFSAnswer.refusal(.notFound, "The object is not at the store.", request.id)
        case .different:
            return GitLFSAnswer.refusal(
                .conflict, "The object at the store is not the one that was announced.", request.id)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func error(_ status: HTTPResponse.Status, _ message: String) {
        object("error") { json in
            json.member("code", status.code)
            json.member("message", message)
        }
    }

    fileprivate mutating func header(_ fields: [(name: String, value: String)]) {
        object("header") { json in
            for field in fields { json.member(named: field.name, field.value) }
        }
    }
}
