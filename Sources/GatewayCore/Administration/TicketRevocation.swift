/// Ends all tickets of a principal at once.
public protocol TicketRevocation: Sendable {
    /// Removes the tickets that speak for a principal and have not ended; in force on every gateway once it returns.
    ///
    /// - Returns: How many there were; where there was none, nothing changed.
    /// - Throws: `unavailable`, `slowDown`.
    func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int
}
