import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Operations on many grants at once: a batch of changes, an export of all grants, and an import.
///
/// None of this runs on a thread that serves connections, as all other connections of that thread would have to wait.
struct GrantBulkEndpoints: Sendable {
    /// Body limit of a batch, in bytes; it suffices for 10,000 items.
    static let maxBatchBytes = Route.longestBodyBytes
    /// Body limit of an import, in bytes.
    static let maxImportBytes: Int64 = 2 << 30
    /// Longest time for the comparison and the writes of an import, after its last line is read.
    static let importDeadline = Duration.seconds(1800)
    /// Longest time until the first line of an export.
    static let exportDeadline = Duration.seconds(120)

    let useCase: GrantBatches
    let newRow: @Sendable (Caller) throws -> NewRow
    let authenticate: Authenticate

    /// `POST /admin/v1/grants:apply`: applies `{writes, deletes}`.
    @concurrent @Sendable func apply(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let batch = try GrantBatchItems.read(&body, as: newRow(caller))
        let result = try await useCase.apply(batch, by: caller.change(in: request))
        return .json(.ok) { json in
            json.member("dryRun", batch.isDryRun)
            result.counts.write(to: &json)
            if let change = result.change { json.member("changeID", change) }
            json.objects("writes", result.writes) { json, write in
                if let id = write.id { json.member("id", id) }
                json.member("result", write.outcome.rawValue)
                if let revision = write.revision { json.member("etag", EntityTag(revision).text) }
            }
        }
    }

    /// `GET /admin/v1/grants:export`: sends all grants as a file.
    @Sendable func export(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let filters = try request.listFilters(Grant.filters, besides: ["format"])
        try Grant.check(filters)
        let format = try request.exportFormat()
        let reader = try await useCase.export(filters, within: request.reach(of: caller))
        return .records(format, name: "grants") { writer in
            while case let grants = try await reader.next(), !grants.isEmpty { try await writer.write(grants) }
        }
    }

    /// `POST /admin/v1/grants:import`: reads a file of grants.
    @concurrent @Sendable func importGrants(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["principal", "bucket", "prefix", "dryRun", "prune", "samples"])
        let options = GrantImportOptions(
            scope: try request.importScope(), prunes: try request.flag("prune"),
            isDryRun: try request.flag("dryRun"), sampleLimit: try request.sampleLimit())
        let parser: any RecordParser =
            switch try request.importFormat() {
            case .ndjson: NDJSONParser()
            case .csv: CSVParser<GrantColumns>()
            }
        let lines = GrantLines(
            request.bodyStream, maxBytes: Self.maxImportBytes, parser: parser, new: try newRow(caller),
            options: options)
        let result = try await useCase.importGrants(
            options, by: caller.change(in: request),
            renewing: { () async throws(GatewayError) in
                let caller = try await authenticate.caller(of: request)
                try RequireRole.check(caller, for: request)
                return caller.change(in: request)
            }
        ) { try await lines.next() }
        return .json(.ok) { json in
            json.member("dryRun", options.isDryRun)
            result.counts.write(to: &json)
            if let change = result.change { json.member("changeID", change) }
            json.objects("samples", result.samples) { $1.write(to: &$0) }
        }
    }
}

extension APIRequest {
    /// The body, in pieces.
    fileprivate var bodyStream: RequestBodyStream {
        switch body {
        case .stream(let stream): return stream
        case .collected(let bytes):
            let pieces = OncePiece(bytes)
            return RequestBodyStream { await pieces.take() }
        }
    }

    fileprivate func importScope() throws(GatewayError) -> GrantImportOptions.Scope {
        var scope = GrantImportOptions.Scope()
        if let principal = try query("principal") { scope.principal = try Principal(principal) }
        if let bucket = try query("bucket") { scope.bucket = try BucketName(bucket) }
        scope.prefix = try query("prefix").map { ExactText($0) }
        return scope
    }

    fileprivate func sampleLimit() throws(GatewayError) -> Int {
        guard let text = try query("samples") else { return 10 }
        guard let limit = Int(text), 0...100 ~= limit else {
            throw .invalidArgument(field: "samples", reason: "The value must be 0 to 100.")
        }
        return limit
    }
}

/// Gives a body that has arrived whole, as one piece.
private actor OncePiece {
    private var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func take() -> [UInt8]? {
        defer { bytes = [] }
        return bytes.isEmpty ? nil : bytes
    }
}

extension GrantCounts {
    fileprivate func write(to json: inout JSONWriter) {
        for outcome in GrantOutcome.allCases {
            json.name(outcome.rawValue)
            json.integer(self[outcome])
        }
    }
}

extension GrantImportResult.Sample {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("result", outcome.rawValue)
        if let line { json.member("line", line) }
        if let before {
            json.object("before") { before.write(to: &$0) }
        }
        if let after {
            json.object("after") { after.writeContent(to: &$0) }
        }
    }
}
