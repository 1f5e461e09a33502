/// Takes from a user all that rows give it, and reports what outlives them. Grants that deny, and quotas, stay.
public struct Offboarding: Sendable {
    /// What gives a user access, or gave it.
    public struct Report: Sendable {
        /// The rows that are removed, or would be.
        public var rows: OffboardingRows
        /// URLs, forms and sessions that the user still holds, which nothing can revoke, and until when they work;
        /// `nil` if the ledger cannot be read at the moment.
        public var alive: BlastRadius?
    }

    /// Number of attempts where the rows change while any are to be removed.
    private static let attempts = 5

    private let store: any OffboardingStore
    private let reports: any LedgerReports

    /// Creates the use case from its parts.
    public init(store: any OffboardingStore, reports: any LedgerReports) {
        self.store = store
        self.reports = reports
    }

    /// Lists what gives the user access. Changes nothing.
    ///
    /// - Throws: `invalidArgument` if the principal is not a user, `slowDown`, `unavailable`.
    public func preview(of user: Principal) async throws(GatewayError) -> Report {
        try Self.check(user)
        let rows = try await store.rows(of: user)
        return Report(rows: rows, alive: await alive(of: user))
    }

    /// Removes what gives the user access, as one change.
    ///
    /// If nothing is left, the call succeeds whatever was seen, so that it can be repeated.
    /// - Parameters:
    ///   - user: The user.
    ///   - tag: ``OffboardingRows/tag`` of the rows that the admin saw; `nil` for whatever there is.
    ///   - change: The admin and request that remove the rows.
    /// - Returns: The rows removed, and what is alive after that, if the ledger can be read.
    /// - Throws: `invalidArgument` if the principal is not a user, `preconditionFailed` if the rows are others than
    ///   those seen, `slowDown`, `unavailable`.
    public func offboard(
        _ user: Principal, seenAs tag: String?, by change: ChangeContext
    ) async throws(GatewayError) -> Report {
        try Self.check(user)
        var attempt = 1
        while true {
            let rows = try await store.rows(of: user)
            guard tag == nil || tag == rows.tag || rows.count == 0 else { throw .preconditionFailed }
            do throws(GatewayError) {
                let count = try await store.remove(allOf: user, seenAs: rows.tag, by: change)
                // Somebody else may have removed them all in between.
                let removed = count == 0 ? OffboardingRows(counts: [:], rows: [], tag: rows.tag) : rows
                // Read after the change, so that nothing that was issued before it is missing.
                return Report(rows: removed, alive: await alive(of: user))
            } catch {
                guard case .preconditionFailed = error, tag == nil, attempt < Self.attempts else { throw error }
                attempt += 1
            }
        }
    }

    /// Reads what the user still holds. A ledger that fails or is slow must not hide that the rows are removed.
    private func alive(of user: Principal) async -> BlastRadius? {
        try? await reports.blastRadius(of: .principal(user), within: .unlimited, deadline: .now + Self.patience)
    }

    /// Time for reading what the user still holds.
    private static let patience = Duration.seconds(3)

    private static func check(_ user: Principal) throws(GatewayError) {
        try require(user.isUser, "principal", "Only a user can be offboarded.")
    }
}
