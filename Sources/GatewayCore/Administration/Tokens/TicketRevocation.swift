public import FoundationEssentials

/// Revokes all tickets of a principal at once.
public protocol TicketRevocation: Sendable {
    /// Removes the tickets of a principal that a gateway may still accept: those that have not expired by the clock
    /// that is furthest behind. Once the call returns, this is in force on every gateway.
    ///
    /// ``lastRevocation(of:)`` tells of it before the tickets are looked up, so that a ticket which is made at the same
    /// time is either removed or finds out.
    ///
    /// - Returns: The number of tickets removed; if it is 0, no policy changed.
    /// - Throws: `unavailable`, `slowDown`.
    func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int

    /// When all tickets of a principal were last revoked, also by an offboarding; `nil` if they never were.
    ///
    /// - Throws: `unavailable`, `slowDown`.
    func lastRevocation(of principal: Principal) async throws(GatewayError) -> Date?
}
