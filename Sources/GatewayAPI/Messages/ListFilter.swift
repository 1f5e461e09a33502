import GatewayCore

/// A query parameter that narrows a list, with the form of its values.
struct ListFilter: Sendable {
    /// The name of the parameter.
    let name: String
    private let canonical: @Sendable (String) throws(GatewayError) -> String

    private init(_ name: String, _ canonical: @escaping @Sendable (String) throws(GatewayError) -> String) {
        self.name = name
        self.canonical = canonical
    }

    /// Any text, compared exactly.
    static func text(_ name: String) -> ListFilter { ListFilter(name) { $0 } }

    /// A UUID.
    static func uuid(_ name: String) -> ListFilter {
        ListFilter(name) { (text) throws(GatewayError) in try TextForm.uuid(text).lowercaseText }
    }

    /// A time in the form of RFC 3339.
    static func instant(_ name: String) -> ListFilter {
        ListFilter(name) { (text) throws(GatewayError) in Timestamp.text(of: try TextForm.instant(text)) }
    }

    /// An action, in any of the forms that grants accept.
    static func action(_ name: String) -> ListFilter {
        ListFilter(name) { (text) throws(GatewayError) in try TextForm.action(text).rawValue }
    }

    /// A share of a whole, from a hundredth to all of it.
    static func share(_ name: String) -> ListFilter {
        ListFilter(name) { (text) throws(GatewayError) in "\(try TextForm.share(text))" }
    }

    /// A principal with its kind, such as `user:alice`.
    static func principal(_ name: String) -> ListFilter {
        ListFilter(name) { (text) throws(GatewayError) in try TextForm.principal(text).rawValue }
    }

    /// One of the words of a type.
    static func word<Word: RawRepresentable & CaseIterable & Sendable>(
        _ name: String, _ type: Word.Type
    ) -> ListFilter where Word.RawValue == String {
        ListFilter(name) { (text) throws(GatewayError) in
            let word: Word = try TextForm.word(text)
            return word.rawValue
        }
    }

    /// The value in the canonical form with which stores compare.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for a value that no row can match.
    func value(_ text: String) throws(GatewayError) -> String {
        try GatewayError.naming(name) { () throws(GatewayError) in try canonical(text) }
    }
}

extension APIRequest {
    /// Reads the filters of a list from the query.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for parameters other than these filters and `others`.
    func listFilters(
        _ filters: [ListFilter], besides others: Set<String> = ["pageSize", "pageToken"]
    ) throws(GatewayError) -> [String: String] {
        try allowQuery(others.union(filters.map(\.name)))
        var values: [String: String] = [:]
        for filter in filters {
            if let text = try query(filter.name) { values[filter.name] = try filter.value(text) }
        }
        return values
    }

    /// Reads the page of a list query; the filters were read before. The query reaches what the caller may see.
    func listQuery(_ filters: [String: String], for caller: Caller) throws(GatewayError) -> ListQuery {
        var pageSize = 100
        if let text = try query("pageSize") {
            guard let size = Int(text), 1...1000 ~= size else {
                throw .invalidArgument(field: "pageSize", reason: "The page size must be 1 to 1,000.")
            }
            pageSize = size
        }
        return ListQuery(
            filters: filters, pageSize: pageSize, pageToken: try query("pageToken"), reach: reach(of: caller))
    }
}
