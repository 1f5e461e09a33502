public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Keeps multipart uploads in PostgreSQL.
///
/// What parts need is asked and reserved for many requests in one statement. One by one, a statement each, 64 callers
/// got 2,500 parts a second on two cores.
public struct PostgresMultipartUploads: MultipartUploadRows {
    private let pool: PostgresPool
    private let now: @Sendable () -> Date
    private let finds: Gathering<UUID, [UUID: MultipartUpload]>
    private let reservations: Gathering<PartRequest, [PartRequest: PartReservation]>
    /// Reservations at uploads that somebody else has locked.
    private let patientReservations: Gathering<PartRequest, [PartRequest: Result<PartReservation, GatewayError>]>
    private let logger: Logger

    /// Requests in one statement. More would make single parts wait longer for the many of others.
    private static let requestsAtOnce = 32

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway; may be shared.
    ///   - logger: Receives a line when parts that were not issued stay reserved.
    ///   - now: Returns the current time, for the identifiers of audit rows.
    public init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.pool = pool
        self.logger = logger
        self.now = now
        finds = Gathering(joinsCurrent: false, maxItems: Self.requestsAtOnce) { ids throws(GatewayError) in
            let uploads = try await Self.execute(MultipartUploadTable.find, Array(ids), in: pool)
            return Dictionary(uploads.map { ($0.id, $0) }) { first, _ in first }
        }
        reservations = Gathering(joinsCurrent: false, maxItems: Self.requestsAtOnce) { requests throws(GatewayError) in
            try await Self.reserve(Array(requests), waits: false, in: pool)
        }
        patientReservations = Gathering(joinsCurrent: false, maxItems: Self.requestsAtOnce) {
            (requests) async throws(GatewayError) in
            let answers = await Self.reserveOneByOne(requests, in: pool)
            // A caller who hangs up fails nobody else: whoever waits with this one asks again.
            if Task.isCancelled { throw .slowDown(retryAfter: 1, cause: "the caller has hung up") }
            return answers
        }
    }

    private static func reserve(
        _ requests: [PartRequest], waits: Bool, in pool: PostgresPool
    ) async throws(GatewayError) -> [PartRequest: PartReservation] {
        var reserved: [PartRequest: PartReservation] = [:]
        for row in try await execute(MultipartUploadTable.reserve, (requests, waits), in: pool) {
            reserved[requests[Int(row.place) - 1]] = row.answer
        }
        return reserved
    }

    /// Reserves at each upload by a statement of its own, so that one which stays locked fails no other. Two of them
    /// wait at the same time, which leaves connections to others; who comes later waits for them, at most for the time
    /// that a connection waits for locks.
    private static func reserveOneByOne(
        _ requests: Set<PartRequest>, in pool: PostgresPool
    ) async -> [PartRequest: Result<PartReservation, GatewayError>] {
        typealias Answers = [PartRequest: Result<PartReservation, GatewayError>]
        return await withTaskGroup(of: Answers.self) { group in
            var answers: Answers = [:]
            for (place, ofUpload) in Dictionary(grouping: requests, by: \.upload).values.enumerated() {
                if place >= 2, let found = await group.next() { answers.merge(found) { first, _ in first } }
                group.addTask {
                    do throws(GatewayError) {
                        return try await reserve(ofUpload, waits: true, in: pool).mapValues { .success($0) }
                    } catch {
                        return Dictionary(uniqueKeysWithValues: ofUpload.map { ($0, .failure(error)) })
                    }
                }
            }
            for await found in group { answers.merge(found) { first, _ in first } }
            return answers
        }
    }

    /// Adds an upload, in the state `starting`.
    public func insert(_ upload: MultipartUpload) async throws(GatewayError) {
        _ = try await execute(MultipartUploadTable.insert, upload)
    }

    /// Reads an upload by its identifier; `nil` if there is none.
    public func find(_ id: UUID) async throws(GatewayError) -> MultipartUpload? {
        try await finds.run([id])[id]
    }

    /// Records the store's identifier of an upload and opens the upload. If it was given up meanwhile, the returned
    /// state says that it must be aborted instead.
    public func open(_ id: UUID, as storeUploadID: String) async throws(GatewayError) -> MultipartUpload.State {
        guard let state = try await execute(MultipartUploadTable.open, (id, storeUploadID)).first else {
            throw .noRow(of: "an upload that is opened")
        }
        return state
    }

    /// Changes the state of an upload if its current state is one of `states`. Returns whether it was.
    public func move(
        _ id: UUID, from states: Set<MultipartUpload.State>, to change: MultipartChange
    ) async throws(GatewayError) -> Bool {
        try await !execute(MultipartUploadTable.move, (id, states, change)).isEmpty
    }

    /// Tests whether the credential of an admin still stands.
    public func prove(_ admin: ChangeContext) async throws(GatewayError) {
        if let proof = admin.proof { _ = try await execute(PolicyLogTable.prove, proof) }
    }

    /// Changes the state of an upload if it is `state`, and adds an audit row saying that an admin has the upload
    /// aborted. Returns whether it was.
    public func abort(
        _ id: UUID, from state: MultipartUpload.State, to change: MultipartChange, by admin: ChangeContext
    ) async throws(GatewayError) -> Bool {
        let entry = try UUID.new(at: now())
        return try await !execute(MultipartUploadTable.abort, (id, state, change, entry, admin)).isEmpty
    }

    /// Records parts that are about to be issued, all or none. Without parts, it only adds up the reserved ones.
    public func reserve(_ parts: [ReservedPart], of id: UUID) async throws(GatewayError) -> PartReservation {
        let request = PartRequest(upload: id, parts: parts)
        // Only whoever's upload is locked waits.
        if let answer = try await reservations.run([request])[request] { return answer }
        guard let answer = try await patientReservations.run([request])[request] else {
            throw .noRow(of: "parts that are reserved")
        }
        return try answer.get()
    }

    /// Removes parts that were not issued, even if the caller hangs up. What was issued beside them is answered,
    /// whether this succeeds or not: a part that stays reserved counts towards the length of its upload for
    /// an hour.
    public func release(_ issuances: [UUID]) async {
        await toTheEnd {
            do throws(PostgresError) {
                _ = try await pool.execute(MultipartUploadTable.release, issuances)
            } catch {
                logger.report(
                    error, "parts that were not issued stay reserved", in: pool.outage,
                    metadata: ["count": "\(issuances.count)"])
            }
        }
    }

    /// Reads a page of uploads, newest first.
    public func list(_ query: ListQuery) async throws(GatewayError) -> Page<MultipartUpload> {
        let listing = MultipartUploadTable.listing
        let request = try listing.request(query)
        if let state = query.filters["state"], MultipartUpload.State(rawValue: state) == nil {
            throw .invalidArgument(field: "state", reason: "No upload can be in this state.")
        }
        return listing.page(try await execute(MultipartUploadTable.page, request), of: query) { [$0.id.lowercaseText] }
    }

    private func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters
    ) async throws(GatewayError) -> [Row] {
        try await Self.execute(statement, parameters, in: pool)
    }

    private static func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, in pool: PostgresPool
    ) async throws(GatewayError) -> [Row] {
        do throws(PostgresError) {
            return try await pool.execute(statement, parameters)
        } catch {
            throw error.asGatewayError
        }
    }
}
