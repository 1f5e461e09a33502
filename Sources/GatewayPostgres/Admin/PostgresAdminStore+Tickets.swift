public import GatewayCore
import LibPQ

extension PostgresAdminStore<Ticket>: TicketRevocation {
    /// Removes the live tickets of a principal in one change. Returns how many there were.
    public func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int {
        try await deleteAll(TicketTable.revoke, of: principal.rawValue, by: change)
    }
}
