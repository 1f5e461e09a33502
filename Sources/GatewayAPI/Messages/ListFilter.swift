import FoundationEssentials
import GatewayCore

/// A query parameter that narrows a list, with the form of its values.
struct ListFilter: Sendable {
    private enum Form: Sendable {
        case text
        case uuid
        case instant
        case action
        case share
        case principal
        case words([String])
    }

    /// The name of the parameter.
    let name: String
    private let form: Form

    /// Any text, compared exactly.
    static func text(_ name: String) -> ListFilter { ListFilter(name: name, form: .text) }

    /// A UUID.
    static func uuid(_ name: String) -> ListFilter { ListFilter(name: name, form: .uuid) }

    /// A time in the form of RFC 3339.
    static func instant(_ name: String) -> ListFilter { ListFilter(name: name, form: .instant) }

    /// An action, in any of the forms that grants accept.
    static func action(_ name: String) -> ListFilter { ListFilter(name: name, form: .action) }

    /// A share of a whole, from a hundredth to all of it.
    static func share(_ name: String) -> ListFilter { ListFilter(name: name, form: .share) }

    /// A principal with its kind, such as `user:alice`.
    static func principal(_ name: String) -> ListFilter { ListFilter(name: name, form: .principal) }

    /// One of the words of a type.
    static func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Word.Type
    ) -> ListFilter where Word.RawValue == String {
        ListFilter(name: name, form: .words(Word.allCases.map(\.rawValue)))
    }

    /// The value in the canonical form with which stores compare.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for a value that no row can match.
    func value(_ text: String) throws(GatewayError) -> String {
        switch form {
        case .text: return text
        case .uuid:
            guard let id = UUID(uuidString: text) else {
                throw .invalidArgument(field: name, reason: "The value must be a UUID.")
            }
            return id.lowercaseText
        case .instant:
            do throws(GatewayError) {
                return Timestamp.text(of: try Timestamp.instant(from: text))
            } catch .invalidArgument(_, let reason) {
                throw .invalidArgument(field: name, reason: reason)
            }
        case .action:
            guard let action = try? Action(parsing: text) else {
                throw .invalidArgument(field: name, reason: "The action must be \(Action.words).")
            }
            return action.rawValue
        case .share:
            guard let share = Double(text), 0.01...1 ~= share else {
                throw .invalidArgument(field: name, reason: "The value must be a number from 0.01 to 1.")
            }
            return "\(share)"
        case .principal:
            do throws(GatewayError) {
                return try Principal(text).rawValue
            } catch .invalidArgument(_, let reason) {
                throw .invalidArgument(field: name, reason: reason)
            }
        case .words(let words):
            guard words.contains(where: { $0.utf8.elementsEqual(text.utf8) }) else {
                let list = words.map { "'\($0)'" }.joined(separator: ", ")
                throw .invalidArgument(field: name, reason: "The value must be one of \(list).")
            }
            return text
        }
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
