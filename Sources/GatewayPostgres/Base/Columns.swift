import LibPQ

/// The columns of a table, in the order in which a row is decoded.
///
/// This one list determines the columns that are selected, inserted, updated and shown in the audit. `Row` is the type
/// of the values to write.
struct Columns<Row: Sendable>: Sendable {
    private let all: [Column<Row>]

    /// Lists the columns; the first is the identifier.
    init(_ columns: Column<Row>...) {
        all = columns
    }

    private init(_ columns: [Column<Row>]) {
        all = columns
    }

    /// The number of columns.
    var count: Int { all.count }

    /// Returns these columns followed by more.
    func adding(_ more: Column<Row>...) -> Columns {
        Columns(all + more)
    }

    /// Returns these columns without the named one.
    func without(_ name: String) -> Columns {
        Columns(all.filter { $0.name != name })
    }

    /// Lists the columns of a row in the form that decoders read.
    ///
    /// - Parameters:
    ///   - row: Name of the row in the statement.
    ///   - others: Expressions to read in place of columns, by column name.
    func selected(of row: String, replacing others: [String: String] = [:]) -> String {
        all.map { others[$0.name] ?? $0.form.read("\(row).\($0.name)") }.joined(separator: ", ")
    }

    /// Lists the columns of a row in the form that the table holds. An inner query selects these; the outer query reads
    /// its rows with ``selected(of:replacing:)``.
    func stored(of row: String) -> String {
        all.map { "\(row).\($0.name)" }.joined(separator: ", ")
    }

    /// Gathers each column of many rows into an array under the column's name, in the form that decoders read.
    func gathered(of row: String) -> String {
        all.map { "array_agg(\($0.form.read("\(row).\($0.name)"))) AS \($0.name)" }.joined(separator: ", ")
    }

    /// Names and values of the audit members of a row `r`, as arguments of `jsonb_build_object`. The function
    /// `offboarding_rows` has the same members.
    var document: String {
        all.compactMap { column in column.member.map { "'\($0)', r.\(column.name)" } }.joined(separator: ", ")
    }

    /// The columns that an insert writes.
    var inserted: WrittenColumns<Row> {
        WrittenColumns(all.filter { $0.value != nil })
    }

    /// The columns that an update uses: the identifier, which finds the row, and all columns that may change.
    var updated: WrittenColumns<Row> {
        WrittenColumns(all.filter { $0.value != nil && !$0.isFixed })
    }

    /// Makes a statement that inserts a row.
    func insert(into table: String) -> Statement<Row, Void> {
        let written = inserted
        return Statement("INSERT INTO \(table) (\(written.names)) VALUES (\(written.values))") {
            written.parameters(of: $0)
        }
    }

    /// Makes a statement that overwrites the row with the same identifier and gives it a new revision.
    func update(_ table: String) -> Statement<Row, Void> {
        let written = updated
        let assignments = written.assignments + ", revision = gen_random_uuid()"
        return Statement("UPDATE \(table) SET \(assignments) WHERE \(written.isIdentified)") {
            written.parameters(of: $0)
        }
    }
}

/// Columns that a statement writes. The n-th column has the parameter `$n`.
struct WrittenColumns<Row: Sendable>: Sendable {
    private let columns: [Column<Row>]

    fileprivate init(_ columns: [Column<Row>]) {
        self.columns = columns
    }

    /// The names of the columns, separated by commas.
    var names: String {
        columns.map(\.name).joined(separator: ", ")
    }

    /// The expressions to write, separated by commas.
    var values: String {
        columns.indices.map { columns[$0].form.write("$\($0 + 1)") }.joined(separator: ", ")
    }

    /// Assignments for `UPDATE`: all columns but the identifier.
    var assignments: String {
        columns.indices.dropFirst().map { "\(columns[$0].name) = \(columns[$0].form.write("$\($0 + 1)"))" }
            .joined(separator: ", ")
    }

    /// The condition that selects the row by its identifier.
    var isIdentified: String { "\(columns[0].name) = $1" }

    /// Returns the parameter of a column, such as `$2`.
    func parameter(of name: String) -> String {
        guard let index = columns.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("the column \(name) is not written")
        }
        return "$\(index + 1)"
    }

    /// The first parameter after those of the columns.
    var nextParameter: String { "$\(columns.count + 1)" }

    /// Returns the values of the parameters, in order.
    func parameters(of row: Row) -> [any PostgresValue] {
        columns.compactMap { $0.value?(row) }
    }
}
