/// A statement: its text, how its parameters are encoded and how a row of its result is decoded.
///
/// Each connection prepares a statement once, when it first executes it.
public struct Statement<Parameters: Sendable, Row: Sendable>: Sendable {
    /// The text, with parameters `$1`, `$2`, ….
    public var text: String { key.text }

    /// Whether it changes nothing: its success is then believed in any case.
    public let onlyReads: Bool

    let key: StatementKey
    let encode: @Sendable (Parameters, inout PostgresParameters) throws(PostgresError) -> Void
    let decode: @Sendable (inout PostgresRow) throws(PostgresError) -> Row

    /// Makes a statement that returns rows.
    ///
    /// - Parameters:
    ///   - text: One statement of SQL. Parameters have the types of the Swift values; cast where the server wants another.
    ///   - onlyReads: Whether it changes nothing.
    ///   - encode: The values of `$1`, `$2`, … in order, of the same types each time.
    ///   - decode: Makes a value of one row.
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

    /// Makes a statement that returns rows and whose parameters are written one by one, for those that are many.
    ///
    /// - Parameters:
    ///   - text: One statement of SQL.
    ///   - onlyReads: Whether it changes nothing.
    ///   - write: Adds `$1`, `$2`, … in order, of the same types each time.
    ///   - decode: Makes a value of one row.
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

    /// What it means that it succeeded where it is no part of a transaction.
    var effect: Session.Effect { onlyReads ? .none : .lasting }
}

extension Statement where Row == Void {
    /// Makes a statement whose result, if any, is not read.
    public init(_ text: String, encode: @escaping @Sendable (Parameters) -> [any PostgresValue]) {
        self.init(text, encode: encode) { _ throws(PostgresError) in }
    }
}

extension Statement where Parameters == Void {
    /// Makes a statement without parameters that returns rows.
    public init(
        _ text: String, onlyReads: Bool = false,
        decode: @escaping @Sendable (inout PostgresRow) throws(PostgresError) -> Row
    ) {
        self.init(text, onlyReads: onlyReads, encode: { [] }, decode: decode)
    }
}

extension Statement where Parameters == Void, Row == Void {
    /// Makes a statement without parameters whose result, if any, is not read.
    public init(_ text: String) {
        self.init(text) {
            []
        } decode: { _ throws(PostgresError) in
        }
    }
}

/// A statement's text with its hash, computed once rather than at each execution.
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
