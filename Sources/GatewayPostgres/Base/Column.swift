import LibPQ

/// A column of a table: what it is called in SQL and in the audit, and what of a value it is written with.
struct Column<Row: Sendable>: Sendable {
    let name: String
    /// Its member in documents of the audit; `nil` for what they must not hold or what has another form there.
    let member: String?
    let form: ColumnForm
    /// Whether updates leave it as it is.
    let isFixed: Bool
    /// What it is written with; `nil` where the database sets it.
    let value: (@Sendable (Row) -> any PostgresValue)?

    /// Describes a column.
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

/// How a column is read and written in SQL, where that takes more than its name and a parameter.
struct ColumnForm: Sendable {
    /// Makes the expression that reads the column of a row.
    var read: @Sendable (_ column: String) -> String = { $0 }
    /// Makes the expression that writes a parameter to the column.
    var write: @Sendable (_ parameter: String) -> String = { $0 }

    /// The column as it is.
    static let plain = ColumnForm()
    /// `jsonb`, read and written as text.
    static let json = ColumnForm(read: { "\($0)::text" }, write: { "\($0)::text::jsonb" })
    /// An object in `jsonb`, read and written as text; an empty one is read as NULL.
    static let sparseJSON = ColumnForm(read: { "nullif(\($0), '{}')::text" }, write: { "\($0)::text::jsonb" })
    /// An array of words, read as one text with commas between them, so that rows can be gathered into an array.
    static let joinedWords = ColumnForm(read: { "array_to_string(\($0), ',')" })
}
