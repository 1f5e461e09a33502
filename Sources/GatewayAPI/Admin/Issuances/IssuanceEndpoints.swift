import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes

/// `/admin/v1/issuances` and what adds them up.
struct LedgerEndpoints: Sendable {
    let reader: any IssuanceReader
    let reports: any LedgerReports

    /// `GET /admin/v1/issuances`.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(IssuanceFilter.parameterNames.union(["pageSize", "pageToken"]))
        let page = try request.listQuery([:])
        let query = IssuanceQuery(
            try IssuanceFilter(request), pageSize: page.pageSize, pageToken: page.pageToken)
        let found = try await reader.issuances(query)
        return .json(.ok, capacity: 1024 * (found.items.count + 1)) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/issuances/{id}`.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        guard let id = UUID(uuidString: request.parameter(0)) else { throw GatewayError.notFound(.issuance) }
        let row = try await reader.issuance(id)
        return .json(.ok) { row.write(to: &$0) }
    }

    /// `GET /admin/v1/issuances:export`.
    @Sendable func export(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(IssuanceFilter.parameterNames.union(["format"]))
        let form = try request.word("format", ExportForm.self) ?? .ndjson
        let query = IssuanceQuery(try IssuanceFilter(request), pageSize: 1000)
        // What cannot be read at all is told by the status; after that only by an end that comes too early.
        let first = try await reader.issuances(query)
        let fields: HeaderFields = [
            .contentType: form.mediaType, .cacheControl: "no-store",
            .contentDisposition: "attachment; filename=\"issuances.\(form.rawValue)\"",
        ]
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: fields),
            body: .stream(length: nil) { [reader] writer in
                if let header = form.header { try await writer.write(header) }
                var page = first
                while true {
                    let bytes = form.rows(page.items)
                    if !bytes.isEmpty { try await writer.write(bytes) }
                    guard let token = page.nextPageToken else { return }
                    var next = query
                    next.pageToken = token
                    page = try await reader.issuances(next)
                }
            })
    }

    /// `GET /admin/v1/usage`.
    @Sendable func usage(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(
            IssuanceFilter.parameterNames.subtracting(["alive"]).union(["by", "groupBy", "pageSize", "pageToken"]))
        let page = try request.listQuery([:])
        let query = UsageQuery(
            try IssuanceFilter(request), by: try request.word("by", UsageQuery.Step.self) ?? .hour,
            try request.words("groupBy", UsageQuery.Dimension.self), pageSize: page.pageSize,
            pageToken: page.pageToken)
        let found = try await reports.usage(query)
        return .json(.ok) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/denials`.
    @Sendable func denials(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["from", "to", "principal", "bucket", "code", "pageSize", "pageToken"])
        let page = try request.listQuery([:])
        let query = DenialQuery(
            from: try request.instant("from"), to: try request.instant("to"),
            principal: try request.parsed("principal") { text throws(GatewayError) in try Principal(text) },
            bucket: try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) },
            code: try request.query("code"), pageSize: page.pageSize, pageToken: page.pageToken)
        let found = try await reports.denials(query)
        return .json(.ok) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/grants:unused`.
    @Sendable func unusedGrants(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([
            "from", "unusedSince", "includeUsed", "principal", "bucket", "pageSize", "pageToken",
        ])
        let page = try request.listQuery([:])
        let query = GrantUseQuery(
            from: try request.instant("from"), unusedSince: try request.instant("unusedSince"),
            includesUsed: try request.flag("includeUsed"),
            principal: try request.parsed("principal") { text throws(GatewayError) in try Principal(text) },
            bucket: try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) },
            pageSize: page.pageSize, pageToken: page.pageToken)
        let found = try await reports.grantUse(query)
        return .json(.ok) { found.write(to: &$0) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/grants/{id}/blast-radius`.
    @Sendable func blastRadiusOfGrant(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        guard let id = UUID(uuidString: request.parameter(0)) else { throw GatewayError.notFound(.grant) }
        let radius = try await reports.blastRadius(of: .grant(id))
        return .json(.ok) { radius.write(to: &$0) }
    }

    /// `GET /admin/v1/storage-credentials/{id}/blast-radius`.
    @Sendable func blastRadiusOfCredential(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        guard let id = UUID(uuidString: request.parameter(0)) else { throw GatewayError.notFound(.storageCredential) }
        let radius = try await reports.blastRadius(of: .credential(id))
        return .json(.ok) { radius.write(to: &$0) }
    }
}

extension IssuanceFilter {
    /// Query parameters that narrow.
    static let parameterNames: Set<String> = [
        "from", "to", "principal", "bucket", "prefix", "action", "delivery", "grant", "credential", "alive",
    ]

    /// Takes the query parameters of a request.
    init(_ request: APIRequest) throws(GatewayError) {
        self.init()
        from = try request.instant("from")
        to = try request.instant("to")
        principal = try request.parsed("principal") { text throws(GatewayError) in try Principal(text) }
        bucket = try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) }
        prefix = try request.query("prefix").map { ExactText($0) }
        action = try request.parsed("action") { text throws(GatewayError) in try Action(parsing: text) }
        delivery = try request.word("delivery", Delivery.self)
        grantID = try request.identifier("grant")
        credentialID = try request.identifier("credential")
        isAlive = try request.flag("alive")
    }
}

extension APIRequest {
    /// A query parameter that is read as a value; the parameter's own name stands in the error.
    func parsed<Value>(
        _ name: String, _ parse: (String) throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value? {
        guard let text = try query(name) else { return nil }
        do {
            return try parse(text)
        } catch .invalidArgument(_, let reason) {
            throw .invalidArgument(field: name, reason: reason)
        }
    }

    /// A query parameter that is an instant.
    func instant(_ name: String) throws(GatewayError) -> Date? {
        try parsed(name) { text throws(GatewayError) in try Timestamp.instant(from: text) }
    }

    /// A query parameter that is an identifier.
    func identifier(_ name: String) throws(GatewayError) -> UUID? {
        guard let text = try query(name) else { return nil }
        guard let id = UUID(uuidString: text) else {
            throw .invalidArgument(field: name, reason: "A UUID is expected.")
        }
        return id
    }

    /// A query parameter that is `true` or `false`; the latter where it is absent.
    func flag(_ name: String) throws(GatewayError) -> Bool {
        switch try query(name) {
        case nil, "false": false
        case "true": true
        default: throw .invalidArgument(field: name, reason: "One of 'true', 'false' is expected.")
        }
    }

    /// A query parameter that is one of a fixed set of words.
    func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Word? where Word.RawValue == String {
        guard let text = try query(name) else { return nil }
        return try Self.word(text, of: name)
    }

    /// A query parameter that lists words of a fixed set, with commas between them.
    func words<Word: RawRepresentable & CaseIterable & Hashable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Set<Word> where Word.RawValue == String {
        guard let text = try query(name), !text.isEmpty else { return [] }
        var words: Set<Word> = []
        for piece in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            words.insert(try Self.word(String(Substring(piece)), of: name))
        }
        return words
    }

    private static func word<Word: RawRepresentable & CaseIterable>(
        _ text: String, of name: String
    ) throws(GatewayError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: text) else {
            let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw .invalidArgument(field: name, reason: "One of \(words) is expected.")
        }
        return word
    }
}
