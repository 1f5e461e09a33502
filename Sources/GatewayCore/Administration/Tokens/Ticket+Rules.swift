extension Ticket: ValidatedRow {
    /// Returns the ticket. Its rules concern what a user asks for; ``Tickets``, which alone makes tickets, has them.
    public func validated() throws(GatewayError) -> Ticket { self }
}
