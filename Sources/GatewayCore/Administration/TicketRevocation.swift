/// Revokes all tickets of a principal at once.
public protocol TicketRevocation: Sendable {
    /// Removes the unexpired tickets of a principal. Once the call returns, this is in force on every gateway.
    ///
    /// - Returns: The number of tickets removed; if it is 0, nothing changed.
    /// - Throws: `unavailable`, `slowDown`.
    func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int
}
