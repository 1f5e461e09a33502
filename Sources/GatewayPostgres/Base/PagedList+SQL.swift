/// Parts of the page statement, whose parameters are those of ``PageRequest/narrowedParameters`` and then
/// ``PageRequest/onlyPrincipals``.
extension PagedList {
    /// The condition that a row is of the list and passes the filters.
    var passes: String {
        let conditions = filters.map { filter in
            let value = parameter(of: filter.name)
            return "(\(value)::text IS NULL OR \(filter.condition(value + filter.form.rawValue)))"
        }
        return ((restriction.map { [$0] } ?? []) + conditions).joined(separator: "\n    AND ")
    }

    /// The condition that a row passes the filters and comes after the previous page.
    var isListed: String {
        let columns = order.map(\.name).joined(separator: ", ")
        let last = order.map { after($0.name) + $0.form.rawValue }.joined(separator: ", ")
        return """
            \(passes)
                AND (\(nextParameter)::text IS NULL OR (\(columns)) \(isDescending ? "<" : ">") (\(last)))
            """
    }

    /// What `ORDER BY` sorts by.
    var sorting: String { order.map { isDescending ? "\($0.name) DESC" : $0.name }.joined(separator: ", ") }

    /// Returns the parameter of a filter, such as `$2`.
    func parameter(of filter: String) -> String { "$\(Self.place(of: filter, in: filters))" }

    /// Returns the parameter with the value of a column at the end of the previous page.
    func after(_ column: String) -> String { "$\(filters.count + Self.place(of: column, in: order))" }

    /// The first parameter after those of the filters.
    var nextParameter: String { "$\(filters.count + 1)" }

    /// The parameters for the number of rows, ``PageRequest/reach`` and ``PageRequest/onlyPrincipals``.
    var limit: String { "$\(filters.count + order.count + 1)" }
    var reach: String { "$\(filters.count + order.count + 2)" }
    var onlyPrincipals: String { "$\(filters.count + order.count + 3)" }

    /// Counts from 1.
    private static func place(of name: String, in columns: [ListColumn]) -> Int {
        guard let index = columns.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("the list has no column \(name)")
        }
        return index + 1
    }
}
