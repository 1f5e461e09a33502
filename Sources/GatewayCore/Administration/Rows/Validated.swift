/// A row that obeys the rules of its kind. Stores take no other rows, so nobody who writes one can pass the rules by.
public struct Validated<Row: ValidatedRow>: Sendable {
    /// The row, in the form in which it is stored.
    public let row: Row

    /// Checks a row.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public init(_ row: Row) throws(GatewayError) {
        self.row = try row.validated()
    }

    /// Takes a row that differs from a checked or stored one only in what no rule is about.
    init(unchecked row: Row) {
        self.row = row
    }
}
