import LibPQ

/// The parameters of a statement: the name of each in SQL, and its value in a request.
struct ParameterList<Request: Sendable>: Sendable {
    private var values: [@Sendable (Request) -> any PostgresValue] = []

    /// Adds a parameter.
    ///
    /// - Parameter value: Returns the value in a request, of the same type each time.
    /// - Returns: The name in SQL; `$1` for the first.
    mutating func add(_ value: @escaping @Sendable (Request) -> any PostgresValue) -> String {
        values.append(value)
        return "$\(values.count)"
    }

    /// Returns the values in a request, in the order in which they were added.
    func encode(_ request: Request) -> [any PostgresValue] {
        values.map { $0(request) }
    }
}
