import GatewayCore

extension PolicyScope {
    /// Returns the scope of a row as an SQL expression.
    ///
    /// - Parameters:
    ///   - kind: The kind of row.
    ///   - name: An SQL expression for the row's name.
    static func sql(_ kind: Kind, _ name: String) -> String {
        "'\(kind.rawValue)' || \(name)"
    }
}
