public import GatewayCore
public import LibPQ
public import Logging

/// Reads the committed policy in PostgreSQL. Each answer comes from one statement, and so from one snapshot.
public struct PostgresPolicySource: PolicySource {
    /// Settings for the sessions of the pool. The planner does not know the sizes of the arrays, and must not assume
    /// that a table that was empty at first stays empty. With these settings it keeps to one plan of nested loops over
    /// indexes.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("statement_timeout", "10s"),
        ("idle_in_transaction_session_timeout", "1s"), ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off"),
        ("enable_bitmapscan", "off"),
    ]

    /// Maximum number of log lines to read. A reader that is further behind discards everything it holds instead.
    static let maxLines: Int64 = 1000

    private let pool: StorePool
    private let areaPool: StorePool
    private let keys: MasterKeyRing
    private let schema: SchemaFit?
    private let onSetback: @Sendable () -> Void
    private let logger: Logger

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway, with ``sessionSettings``, to the server that takes the writes.
    ///   - areaPool: Connections like those of the pool, for reading the grants below a prefix: one such read can take
    ///     as long as thousands of others, which must not wait for it. By default, the pool.
    ///   - keys: Master keys that open secrets.
    ///   - patience: Time allowed for one answer of the database, including the wait for a free connection. A caller
    ///     may wait for two answers: one that others asked for, and its own.
    ///   - schema: Told when this program does not fit the schema.
    ///   - onSetback: Called when the database is seen to have gone back in time.
    ///   - logger: Receives messages about rows that cannot be read, about secrets that do not open, and about a
    ///     database that went back in time.
    public init(
        pool: PostgresPool, areaPool: PostgresPool? = nil, keys: MasterKeyRing, patience: Duration = .seconds(3),
        schema: SchemaFit? = nil, onSetback: @escaping @Sendable () -> Void = {}, logger: Logger
    ) {
        func reading(from pool: PostgresPool) -> StorePool {
            StorePool(pool: pool, logger: logger, complaint: "policy cannot be read", patience: patience)
        }
        self.pool = reading(from: pool)
        self.areaPool = reading(from: areaPool ?? pool)
        self.keys = keys
        self.schema = schema
        self.onSetback = onSetback
        self.logger = logger
    }

    /// Reads the rows of scopes and the position at which they are current. Answers keep the order of the keys.
    ///
    /// A secret that does not open is logged. The answer says so for an issuer and a ticket; a credential is treated as
    /// missing. Rows that this version cannot read are logged, and the answer says so. Other keys of the same call are
    /// not affected by either.
    public func load(
        _ keys: [PolicyKey], literalGrantLimit: Int
    ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        var question = PolicyQuestion(literalGrantLimit: Int64(clamping: max(0, min(literalGrantLimit, 1 << 30))))
        let places = keys.map { question.add($0) }
        let rows = try await read(PolicyStatements.load, question, on: pool)
        guard (places.max() ?? -1) < rows.count else { throw .noRow(of: "a key of policy") }
        return PolicyLoad(position: rows[0].position, rows: zip(keys, places).map { answer(to: $0, in: rows[$1]) })
    }

    /// Reads the literal grants at exact places. Answers keep the order of the places.
    public func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]?]> {
        let rows = try await read(PolicyStatements.grantsAtPlaces, places, on: pool)
        let position = rows[0].position
        var grants = [[Grant]?](repeating: [], count: places.count)
        for row in rows where places.indices ~= row.place - 1 {
            switch row.grant {
            case .success(let grant?): grants[row.place - 1]?.append(grant)
            case .success(nil): break
            case .failure(let error):
                tell(of: error, in: .principal(places[row.place - 1].principal))
                grants[row.place - 1] = nil
            }
        }
        return PolicyLoad(position: position, rows: grants)
    }

    /// Reads the literal grants that cover a prefix or lie below it.
    public func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        let question = AroundQuestion(principals, in: bucket, around: prefix, limit: Int64(limit))
        let rows = try await read(PolicyStatements.grantsAround, question, on: areaPool)
        return PolicyLoad(position: rows[0].position, rows: try grants(in: rows, of: principals))
    }

    /// Reads the first literal grants, in all buckets or around a prefix of one.
    public func firstGrants(
        of principals: [Principal], in bucket: BucketName?, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        let question = AroundQuestion(principals, in: bucket, around: prefix, limit: Int64(limit))
        let rows = try await read(PolicyStatements.firstGrants, question, on: areaPool)
        return PolicyLoad(position: rows[0].position, rows: try grants(in: rows, of: principals))
    }

    /// Reads which scopes changed after a position.
    public func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        let question = ChangesQuestion(position: position, maxLines: Self.maxLines)
        let row = try await read(PolicyStatements.changes, question, on: pool)[0]
        if row.wentBack == true {
            logger.warning(
                "the database went back in time: it was restored, or a failover lost changes; all policy is read anew",
                metadata: ["position": "\(row.position.sequence)", "position.before": "\(position?.sequence ?? 0)"])
            onSetback()
        }
        guard let scopes = row.scopes else { return .restart(at: row.position) }
        return .scopes(Set(scopes.map { PolicyScope(rawValue: $0) }), upTo: row.position)
    }

    /// Reads at least one row. Each row holds the position at which it is current, which exists only if this program
    /// fits the schema.
    private func read<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, on pool: StorePool
    ) async throws(GatewayError) -> [Row] {
        let rows = try await pool.execute(statement, parameters)
        guard rows.isEmpty else { return rows }
        schema?.breaks(.other)
        throw .otherSchema(retryAfter: 1)
    }

    private func answer(to key: PolicyKey, in row: LoadedRow) -> PolicyRows {
        do throws(PostgresError) {
            switch key {
            case .principal: return .principal(try row.principal.get())
            case .bucket: return .bucket(try row.bucket.get())
            case .credential: return credential(try row.credential.get())
            case .issuer: return issuer(try row.issuer.get())
            case .apiKey: return .apiKey(try row.apiKey.get())
            case .ticket: return ticket(try row.ticket.get())
            }
        } catch {
            tell(of: error, in: key)
            return .unreadable
        }
    }

    /// Returns the grants of principals that one decision rests on. It rests on none of them if one cannot be read.
    private func grants(
        in rows: [LiteralGrantRow], of principals: [Principal]
    ) throws(GatewayError) -> [Grant] {
        var grants: [Grant] = []
        for row in rows {
            switch row.grant {
            case .success(let grant?): grants.append(grant)
            case .success(nil): break
            case .failure(let error):
                let key = PolicyKey.principal(principals[row.place - 1])
                tell(of: error, in: key)
                throw .unreadable(key)
            }
        }
        return grants
    }

    /// Logs that rows cannot be read. The reason names the row, unless the key does.
    private func tell(of error: PostgresError, in key: PolicyKey) {
        logger.error(
            "rows of policy cannot be read", metadata: ["scope": "\(key.scope.rawValue)", "reason": "\(error)"])
    }

    private func credential(_ row: SealedStorageCredential?) -> PolicyRows {
        .credential(row.flatMap { open($0) })
    }

    private func issuer(_ row: Stored<SealedIssuer>?) -> PolicyRows {
        guard let row else { return .issuer(nil) }
        return open(row.row).map { .issuer(Stored(row: $0, revision: row.revision)) } ?? .unopened
    }

    private func ticket(_ row: SealedTicket?) -> PolicyRows {
        guard let row else { return .ticket(nil) }
        return open(row).map { .ticket($0) } ?? .unopened
    }

    private func open<Row: SealedRow>(_ row: Row) -> Row.Opened? {
        do throws(MasterKeyError) {
            return try row.opened(with: keys)
        } catch {
            logger.error(
                "a secret does not open", metadata: ["row.id": "\(row.id.lowercaseText)", "reason": "\(error)"])
            return nil
        }
    }
}

extension PolicyQuestion {
    /// Adds a key to the question. Returns the index of its answer.
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
