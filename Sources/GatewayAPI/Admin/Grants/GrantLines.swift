import GatewayCore
import HTTPServing

/// Reads the lines of an import from the body, on demand.
actor GrantLines {
    /// Number of lines that are read and handed on at once.
    private static let batchSize = 2000

    private let body: RequestBodyStream.AsyncIterator
    private let maxBytes: Int64
    private var parser: any RecordParser
    private let new: NewRow
    private let options: GrantImportOptions
    private var isEmpty = true
    private var isOver = false

    /// Reads a body.
    ///
    /// - Parameters:
    ///   - body: The bytes.
    ///   - maxBytes: Body limit of the route, for the error where the body is longer.
    ///   - parser: Parses the format of the body.
    ///   - new: The values that the gateway sets on each line.
    ///   - options: Limits what a line may contain.
    init(
        _ body: RequestBodyStream, maxBytes: Int64, parser: any RecordParser, new: NewRow,
        options: GrantImportOptions
    ) {
        self.body = body.makeAsyncIterator()
        self.maxBytes = maxBytes
        self.parser = parser
        self.new = new
        self.options = options
    }

    /// Returns the next lines; `nil` after the last.
    func next() async throws -> [ProposedGrant]? {
        var grants: [ProposedGrant] = []
        while !isOver, grants.count < Self.batchSize {
            for record in try await nextRecords() {
                do throws(GatewayError) {
                    try options.check(line: record.line)
                    grants.append(try grant(of: record))
                } catch {
                    throw GatewayError.line(record.line, error)
                }
            }
        }
        if !grants.isEmpty { isEmpty = false }
        try options.checkEnd(hasLines: !isEmpty)
        return grants.isEmpty ? nil : grants
    }

    private func nextRecords() async throws -> [BodyRecord] {
        var body = body
        do {
            if let piece = try await body.next() { return try parser.take(piece) }
        } catch let error as RequestBodyError {
            throw ServerFailure(error, maxBytes: maxBytes)
        }
        isOver = true
        return try parser.finish()
    }

    private func grant(of record: BodyRecord) throws(GatewayError) -> ProposedGrant {
        var body = try JSONObject(record.value)
        let id = try body.uuid("id")
        if id != nil { try Self.requireRule(in: body) }
        body.passOver(Grant.ownMembers)
        let grant = try Grant(&body, as: new)
        try body.end()
        try options.scope.check(grant)
        return ProposedGrant(place: record.line, id: id, grant: try Validated(grant))
    }

    /// Refuses a line that names the grant that it replaces, but not what the grant allows: what was left out must not
    /// widen the grant.
    private static func requireRule(in body: JSONObject) throws(GatewayError) {
        var body = body
        for name in ["effect", "conditions"] where body.value(name) == nil {
            throw body.invalid(name, "'\(name)' is required with 'id'.")
        }
    }
}
