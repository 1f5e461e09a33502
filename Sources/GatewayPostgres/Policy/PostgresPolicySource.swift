import Foundation
public import GatewayCore
public import LibPQ
public import Logging

/// Policy as it is committed in PostgreSQL: each answer is of one statement, and so of one snapshot.
public struct PostgresPolicySource: PolicySource {
    /// Settings that sessions of the pool should have. The planner knows nothing of the arrays' sizes and must not take
    /// a table that was empty at first for one that stays so; with these it keeps to one plan of nested loops over
    /// indexes.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("default_transaction_isolation", "read committed"), ("statement_timeout", "10s"),
        ("idle_in_transaction_session_timeout", "1s"), ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off"),
        ("enable_bitmapscan", "off"), ("jit", "off"),
    ]

    /// A reader that is further behind forgets everything rather than going through more of the log.
    static let maxLines: Int64 = 1000

    private let pool: PostgresPool
    private let keys: MasterKeyRing
    private let patience: Duration
    private let schema: SchemaFit?
    private let logger: Logger

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway, its sessions with ``sessionSettings``; the server is the one that is written
    ///     to.
    ///   - keys: What opens secrets.
    ///   - patience: How long one answer of the database is waited for, a free connection included. A caller may wait
    ///     for two: one that others asked for, and the own.
    ///   - schema: Told where the schema is not the one that this program was built for.
    ///   - logger: Told of secrets that do not open.
    public init(
        pool: PostgresPool, keys: MasterKeyRing, patience: Duration = .seconds(3), schema: SchemaFit? = nil,
        logger: Logger
    ) {
        self.pool = pool
        self.keys = keys
        self.patience = patience
        self.schema = schema
        self.logger = logger
    }

    /// Reads the rows of scopes and the position they are current at; answers in the order asked.
    ///
    /// A credential or issuer whose secret does not open is answered as if it did not exist, and logged: what others
    /// asked for in the same call is not to suffer.
    public func load(
        _ keys: [PolicyKey], literalGrantLimit: Int
    ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        var question = PolicyQuestion(literalGrantLimit: Int64(clamping: max(0, min(literalGrantLimit, 1 << 30))))
        let places = keys.map { question.add($0) }
        let rows = try await read(PolicyStatements.load, question)
        guard (places.max() ?? -1) < rows.count else { throw .noRow(of: "a key of policy") }
        return PolicyLoad(position: rows[0].position, rows: zip(keys, places).map { answer(to: $0, in: rows[$1]) })
    }

    /// Reads the literal grants at exact places; answers in the order asked.
    public func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]]> {
        let rows = try await read(PolicyStatements.grantsAtPlaces, places)
        let position = rows[0].position
        var grants = [[Grant]](repeating: [], count: places.count)
        for row in rows {
            if let grant = row.grant, grants.indices ~= row.place - 1 { grants[row.place - 1].append(grant) }
        }
        return PolicyLoad(position: position, rows: grants)
    }

    /// Reads the literal grants that cover a prefix or lie below it.
    public func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        let question = AroundQuestion(principals, in: bucket, around: prefix, limit: Int64(limit))
        let rows = try await read(PolicyStatements.grantsAround, question)
        return PolicyLoad(position: rows[0].position, rows: rows.compactMap(\.grant))
    }

    /// Reads which scopes changed after a position.
    public func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        let question = ChangesQuestion(position: position, maxLines: Self.maxLines)
        let row = try await read(PolicyStatements.changes, question)[0]
        guard let scopes = row.scopes else { return .restart(at: row.position) }
        return .scopes(Set(scopes.map { PolicyScope(rawValue: $0) }), upTo: row.position)
    }

    /// Reads rows, one at least: each has the position that it is current at, which there is only where the schema
    /// fits.
    private func read<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters
    ) async throws(GatewayError) -> [Row] {
        do throws(PostgresError) {
            let rows = try await pool.execute(statement, parameters, deadline: .now + patience)
            if !rows.isEmpty { return rows }
        } catch {
            logger.report(error, "policy cannot be read", in: pool.outage)
            throw error.asPolicyFailure
        }
        schema?.breaks(SchemaFit.otherSchema)
        throw .otherSchema(retryAfter: 1)
    }

    private func answer(to key: PolicyKey, in row: LoadedRow) -> PolicyRows {
        switch key {
        case .principal: .principal(row.principal)
        case .bucket: .bucket(row.bucket)
        case .credential: .credential(open(row.credential, row.credential?.id) { try $0.opened(with: keys) })
        case .issuer: .issuer(open(row.issuer, row.issuer?.id) { try $0.opened(with: keys) })
        case .apiKey: .apiKey(row.apiKey)
        case .ticket: .ticket(open(row.ticket, row.ticket?.id) { try $0.opened(with: keys) })
        }
    }

    private func open<Row, Opened>(_ row: Row?, _ id: UUID?, _ open: (Row) throws -> Opened) -> Opened? {
        guard let row else { return nil }
        do {
            return try open(row)
        } catch {
            let name = id?.uuidString.lowercased() ?? ""
            logger.error("a secret does not open", metadata: ["row.id": "\(name)", "reason": "\(error)"])
            return nil
        }
    }
}

extension PolicyQuestion {
    /// Asks for the rows of a key, too; gives the place of the answer.
    fileprivate mutating func add(_ key: PolicyKey) -> Int {
        switch key {
        case .principal(let principal): Self.append(principal, to: &principals)
        case .bucket(let name): Self.append(name, to: &buckets)
        case .credential(let id): Self.append(id, to: &credentials)
        case .issuer(let issuer): Self.append(issuer.rawValue, to: &issuers)
        case .apiKey(let prefix): Self.append(prefix, to: &apiKeys)
        case .ticket(let name): Self.append(name, to: &tickets)
        }
    }

    private static func append<Element>(_ element: Element, to list: inout [Element]) -> Int {
        list.append(element)
        return list.count - 1
    }
}
