import LibPQ

/// Describes a column of a table: its name in SQL, its name in the audit, and the value that is written to it.
struct Column<Row: Sendable>: Sendable {
    let name: String
    /// Name of its member in audit documents; `nil` if the documents must not hold it or hold it in another form.
    let member: String?
    let form: ColumnForm
    /// Whether updates leave the column unchanged.
    let isFixed: Bool
    /// Makes the value to write from a row; `nil` if the database sets the column.
    let value: (@Sendable (Row) -> any PostgresValue)?

    init(
        _ name: String, as member: String? = nil, _ form: ColumnForm = .plain, isFixed: Bool = false,
        value: (@Sendable (Row) -> any PostgresValue)? = nil
    ) {
        self.name = name
        self.member = member
        self.form = form
        self.isFixed = isFixed
        self.value = value
    }
}

/// Describes how SQL reads and writes a column that needs more than its name and a parameter.
struct ColumnForm: Sendable {
    /// Makes the expression that reads the column of a row.
    var read: @Sendable (_ column: String) -> String = { $0 }
    /// Makes the expression that writes a parameter to the column.
    var write: @Sendable (_ parameter: String) -> String = { $0 }

    /// Reads and writes the column without conversion.
    static let plain = ColumnForm()
    /// Reads and writes `jsonb` as text.
    static let json = ColumnForm(read: { "\($0)::text" }, write: { "\($0)::text::jsonb" })
    /// Reads and writes a `jsonb` object as text. An empty object is read as NULL.
    static let sparseJSON = ColumnForm(read: { "nullif(\($0), '{}')::text" }, write: { "\($0)::text::jsonb" })
    /// Reads an array of words as one text, separated by commas, so that rows can be gathered into an array.
    static let joinedWords = ColumnForm(read: { "array_to_string(\($0), ',')" })
}
