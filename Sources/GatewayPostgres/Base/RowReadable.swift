import LibPQ

/// A value read from the next columns of a row, in the order in which its table or statement lists them.
protocol RowReadable: Sendable {
    init(_ row: inout PostgresRow) throws(PostgresError)
}

extension Statement where Row: RowReadable {
    /// Creates a statement whose rows say how they are read.
    init(
        _ text: String, onlyReads: Bool = false, encode: @escaping @Sendable (Parameters) -> [any PostgresValue]
    ) {
        self.init(text, onlyReads: onlyReads, encode: encode) { row throws(PostgresError) in
            try Row(&row)
        }
    }
}
