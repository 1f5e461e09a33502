/// A kind of row with rules that every new state of a row obeys.
public protocol ValidatedRow: ManagedRow {
    /// Refuses a row that could not work; returns the row in the form in which it is stored.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    func validated() throws(GatewayError) -> Self
}
