import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

extension PostgresAdminStore<Ticket>: TicketRevocation {
    /// Removes the tickets of a principal that a gateway may still accept, in one change. Returns how many there were.
    func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int {
        try await revocations.perform(TicketTable.noteRevocation, (principal, change))
        return try await deleteAll(TicketTable.revoke, of: principal.rawValue, by: change)
    }

    /// When all tickets of a principal were last revoked; `nil` if they never were.
    func lastRevocation(of principal: Principal) async throws(GatewayError) -> Date? {
        try await revocations.execute(TicketTable.lastRevocation, principal.rawValue).first
    }

    private var revocations: StorePool {
        StorePool(pool: pool, logger: logger, complaint: "revocations of tickets cannot be read or noted")
    }
}
