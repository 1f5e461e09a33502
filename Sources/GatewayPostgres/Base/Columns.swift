import LibPQ

/// The columns of a table, in the order in which a row is decoded.
///
/// What is selected, inserted, updated and shown in the audit follows from this one list. `Row` is what is written.
struct Columns<Row: Sendable>: Sendable {
    private let all: [Column<Row>]

    /// Lists the columns; the first is the identifier.
    init(_ columns: Column<Row>...) {
        all = columns
    }

    private init(_ columns: [Column<Row>]) {
        all = columns
    }

    /// How many there are.
    var count: Int { all.count }

    /// These columns and more behind them.
    func adding(_ more: Column<Row>...) -> Columns {
        Columns(all + more)
    }

    /// These columns without one.
    func without(_ name: String) -> Columns {
        Columns(all.filter { $0.name != name })
    }

    /// The columns of a row, as decoders read them.
    ///
    /// - Parameters:
    ///   - row: Its name in the statement.
    ///   - others: Expressions that are read in the place of columns, by the columns' names.
    func selected(of row: String, replacing others: [String: String] = [:]) -> String {
        all.map { others[$0.name] ?? $0.form.read("\(row).\($0.name)") }.joined(separator: ", ")
    }

    /// The columns of a row as the table has them, for an inner query whose rows an outer one reads with
    /// ``selected(of:replacing:)``.
    func stored(of row: String) -> String {
        all.map { "\(row).\($0.name)" }.joined(separator: ", ")
    }

    /// The columns of many rows, each gathered into an array under its own name, in the form in which decoders read it.
    func gathered(of row: String) -> String {
        all.map { "array_agg(\($0.form.read("\(row).\($0.name)"))) AS \($0.name)" }.joined(separator: ", ")
    }

    /// Names and values of the members of a row `r` in the audit, for `jsonb_build_object`.
    var document: String {
        all.compactMap { column in column.member.map { "'\($0)', r.\(column.name)" } }.joined(separator: ", ")
    }

    /// What a new row is written with.
    var inserted: WrittenColumns<Row> {
        WrittenColumns(all.filter { $0.value != nil })
    }

    /// What a row is written with that replaces another: the identifier, which finds it, and all that may change.
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

    /// Makes a statement that writes a row over the one with its identifier, and gives it a new revision.
    func update(_ table: String) -> Statement<Row, Void> {
        let written = updated
        let assignments = written.assignments + ", revision = gen_random_uuid()"
        return Statement("UPDATE \(table) SET \(assignments) WHERE \(written.isIdentified)") {
            written.parameters(of: $0)
        }
    }
}

/// Columns that a statement writes: the n-th has the parameter `$n`.
struct WrittenColumns<Row: Sendable>: Sendable {
    private let columns: [Column<Row>]

    fileprivate init(_ columns: [Column<Row>]) {
        self.columns = columns
    }

    /// The names.
    var names: String {
        columns.map(\.name).joined(separator: ", ")
    }

    /// The expressions that they are written with.
    var values: String {
        columns.indices.map { columns[$0].form.write("$\($0 + 1)") }.joined(separator: ", ")
    }

    /// For `UPDATE`: all but the identifier.
    var assignments: String {
        columns.indices.dropFirst().map { "\(columns[$0].name) = \(columns[$0].form.write("$\($0 + 1)"))" }
            .joined(separator: ", ")
    }

    /// The condition that a row has the identifier.
    var isIdentified: String { "\(columns[0].name) = $1" }

    /// The parameter of a column.
    func parameter(of name: String) -> String {
        guard let index = columns.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("the column \(name) is not written")
        }
        return "$\(index + 1)"
    }

    /// The parameter behind those of the columns.
    var nextParameter: String { "$\(columns.count + 1)" }

    /// The values of the parameters.
    func parameters(of row: Row) -> [any PostgresValue] {
        columns.compactMap { $0.value?(row) }
    }
}
