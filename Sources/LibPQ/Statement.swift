/// A statement: its text, the encoder of its parameters and the decoder of its rows.
///
/// Each connection prepares a statement when it first executes it.
public struct Statement<Parameters: Sendable, Row: Sendable>: Sendable {
    /// The SQL text, with parameters `$1`, `$2` and so on.
    public var text: String { key.text }

    /// Whether the statement changes nothing. If so, its success needs no confirmation of a commit.
    public let onlyReads: Bool

    let key: StatementKey
    let encode: @Sendable (Parameters, inout PostgresParameters) throws(PostgresError) -> Void
    let decode: @Sendable (inout PostgresRow) throws(PostgresError) -> Row

    /// Creates a statement that returns rows.
    ///
    /// - Parameters:
    ///   - text: One SQL statement. Parameters have the types of the Swift values; cast them if the server needs
    ///     another type.
    ///   - onlyReads: Whether the statement changes nothing.
    ///   - encode: Returns the values of `$1`, `$2` and so on, with the same types each time.
    ///   - decode: Reads one row.
    public init(
        _ text: String, onlyReads: Bool = false,
        encode: @escaping @Sendable (Parameters) -> [any PostgresValue],
        decode: @escaping @Sendable (inout PostgresRow) throws(PostgresError) -> Row
    ) {
        self.init(text, onlyReads: onlyReads) { values, parameters throws(PostgresError) in
            for value in encode(values) { try value.encode(into: &parameters) }
        } decode: { row throws(PostgresError) in
            try decode(&row)
        }
    }

    /// Creates a statement that returns rows and writes its parameters one by one, for statements with many parameters.
    ///
    /// - Parameters:
    ///   - text: One SQL statement.
    ///   - onlyReads: Whether the statement changes nothing.
    ///   - write: Adds `$1`, `$2` and so on in order, with the same types each time.
    ///   - decode: Reads one row.
    public init(
        _ text: String, onlyReads: Bool = false,
        write: @escaping @Sendable (Parameters, inout PostgresParameters) throws(PostgresError) -> Void,
        decode: @escaping @Sendable (inout PostgresRow) throws(PostgresError) -> Row
    ) {
        key = StatementKey(text)
        self.onlyReads = onlyReads
        encode = write
        self.decode = decode
    }

    /// The effect of success outside a transaction.
    var effect: WriteEffect { onlyReads ? .none : .lasting }
}

extension Statement where Row == Void {
    /// Creates a statement whose result, if any, is not read.
    public init(_ text: String, encode: @escaping @Sendable (Parameters) -> [any PostgresValue]) {
        self.init(text, encode: encode) { _ throws(PostgresError) in }
    }
}

extension Statement where Row: PostgresValue {
    /// Creates a statement whose rows are single values.
    public init(
        _ text: String, onlyReads: Bool = false, encode: @escaping @Sendable (Parameters) -> [any PostgresValue]
    ) {
        self.init(text, onlyReads: onlyReads, encode: encode) { row throws(PostgresError) in
            try row.next()
        }
    }
}

extension Statement where Parameters == Void {
    /// Creates a statement without parameters that returns rows.
    public init(
        _ text: String, onlyReads: Bool = false,
        decode: @escaping @Sendable (inout PostgresRow) throws(PostgresError) -> Row
    ) {
        self.init(text, onlyReads: onlyReads, encode: { [] }, decode: decode)
    }
}

extension Statement where Parameters == Void, Row: PostgresValue {
    /// Creates a statement without parameters whose rows are single values.
    public init(_ text: String, onlyReads: Bool = false) {
        self.init(text, onlyReads: onlyReads, encode: { [] })
    }
}

extension Statement where Parameters == Void, Row == Void {
    /// Creates a statement without parameters whose result, if any, is not read.
    public init(_ text: String) {
        self.init(text) {
            []
        } decode: { _ throws(PostgresError) in
        }
    }
}

/// The text of a statement with its hash, which is computed only once.
struct StatementKey: Sendable, Hashable {
    let text: String
    private let fingerprint: Int

    init(_ text: String) {
        self.text = text
        fingerprint = text.hashValue
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(fingerprint)
    }
}
