import GatewayCore
import Signing
import StrictJSON

/// The columns of grants in CSV.
struct GrantColumns: CSVColumns {
    /// The columns of an export, in order. An import may leave out columns that can be empty.
    enum Column: String, CaseIterable, Sendable {
        case id
        case principal
        case bucket
        /// `bucket` for the whole bucket, `prefix` or `template`. An empty cell must not open a bucket. In a file
        /// without the column, the text of `prefix` tells, which therefore must not be empty.
        case kind
        /// The prefix or the template.
        case prefix
        /// Separated by spaces, like all lists.
        case actions
        /// `allow` or `deny`. An empty cell must not turn a deny into an allow. In a file without the column, all
        /// grants allow.
        case effect
        case contentTypes
        case maxBytes
        case requireContentMD5
        case maxTTL
        case sourceCIDRs
        case forceDownload
        case allowResponseContentType
        case allowVersions
        case notBefore
        case notAfter
        case note
        case createdBy
        case createdAt
    }

    fileprivate enum Kind: String, CaseIterable {
        case bucket
        case prefix
        case template
    }

    private static let required: [Column] = [.principal, .bucket, .actions]
    /// Required where lines name the grants that they replace: a column that was left out must not widen a grant.
    private static let rule: [Column] = [
        .effect, .contentTypes, .maxBytes, .requireContentMD5, .maxTTL, .sourceCIDRs, .forceDownload,
        .allowResponseContentType, .allowVersions, .notBefore, .notAfter,
    ]

    private let columns: [Column]

    var count: Int { columns.count }

    init(header: [String]) throws(GatewayError) {
        var columns: [Column] = []
        for name in header {
            guard let column = Column(rawValue: name) else {
                throw .invalidArgument(field: String(name.prefix(64)), reason: "The column does not exist.")
            }
            guard !columns.contains(column) else {
                throw .invalidArgument(field: name, reason: "Two columns have this name.")
            }
            columns.append(column)
        }
        let telling: [Column] = columns.contains(.kind) ? [] : [.prefix]
        if let missing = (Self.required + telling).first(where: { !columns.contains($0) }) {
            throw .invalidArgument(field: missing.rawValue, reason: "The column is missing.")
        }
        if columns.contains(.id), let missing = Self.rule.first(where: { !columns.contains($0) }) {
            throw .invalidArgument(field: missing.rawValue, reason: "The column is required with the column 'id'.")
        }
        self.columns = columns
    }

    func value(of fields: [String]) throws(GatewayError) -> JSONValue {
        var members: [JSONValue.Member] = []
        var conditions: [JSONValue.Member] = []
        var kind: Kind?
        var prefix = ""
        for (column, text) in zip(columns, fields) {
            switch column {
            case .kind: kind = try Self.kind(text)
            case .prefix: prefix = text
            case .createdBy, .createdAt: continue
            case .effect where text.isEmpty:
                throw .invalidArgument(field: "effect", reason: "The value must be 'allow' or 'deny'.")
            case _ where text.isEmpty: continue
            case .id, .principal, .bucket, .effect, .notBefore, .notAfter, .note:
                members.append(.init(name: column.rawValue, value: .string(text)))
            case .actions: members.append(.init(name: column.rawValue, value: Self.list(text)))
            case .contentTypes, .sourceCIDRs: conditions.append(.init(name: column.rawValue, value: Self.list(text)))
            case .maxBytes, .maxTTL: conditions.append(.init(name: column.rawValue, value: .number(text)))
            case .requireContentMD5, .forceDownload, .allowResponseContentType, .allowVersions:
                conditions.append(.init(name: column.rawValue, value: .bool(try Self.flag(text, column))))
            }
        }
        if kind == nil { kind = try Self.kind(ofPrefix: prefix) }
        members.append(try Self.member(kind, prefix))
        members.append(.init(name: "conditions", value: .object(conditions)))
        return .object(members)
    }

    private static func kind(_ text: String) throws(GatewayError) -> Kind {
        guard let kind = Kind(rawValue: text) else {
            throw .invalidArgument(
                field: "kind", reason: "The value must be 'bucket' (the whole bucket), 'prefix' or 'template'.")
        }
        return kind
    }

    private static func kind(ofPrefix text: String) throws(GatewayError) -> Kind {
        guard !text.isEmpty else {
            throw .invalidArgument(
                field: "prefix",
                reason: "A prefix or template is required. For a whole bucket, add the column 'kind' with 'bucket'.")
        }
        return KeySyntax.beginsVariable(in: text) ? .template : .prefix
    }

    private static func member(_ kind: Kind?, _ prefix: String) throws(GatewayError) -> JSONValue.Member {
        guard (kind == .bucket) == prefix.isEmpty else {
            throw .invalidArgument(
                field: "prefix", reason: "A prefix or template is required, except where 'kind' is 'bucket'.")
        }
        return .init(name: kind == .template ? "template" : "prefix", value: .string(prefix))
    }

    private static func list(_ text: String) -> JSONValue {
        .array(text.utf8.split(separator: UInt8(ascii: " ")).map { .string(String(Substring($0))) })
    }

    /// Reads a boolean. Spreadsheets write booleans in capitals.
    private static func flag(_ text: String, _ column: Column) throws(GatewayError) -> Bool {
        switch text {
        case "true", "TRUE": return true
        case "false", "FALSE": return false
        default: throw .invalidArgument(field: column.rawValue, reason: "The value must be 'true' or 'false'.")
        }
    }
}

extension Grant: ExportedRow {
    /// An export can be imported again.
    static let formulas = CSVWriter.Formulas.unchanged

    static var columns: [String] { GrantColumns.Column.allCases.map(\.rawValue) }

    var cells: [String] { GrantColumns.Column.allCases.map(cell) }

    private func cell(_ column: GrantColumns.Column) -> String {
        switch column {
        case .id: id.lowercaseText
        case .principal: principal.rawValue
        case .bucket: bucket.rawValue
        case .kind:
            (prefix.isTemplate ? GrantColumns.Kind.template : prefix.text.isEmpty ? .bucket : .prefix).rawValue
        case .prefix: prefix.text
        case .actions: actions.map(\.rawValue).sorted().joined(separator: " ")
        case .effect: effect.rawValue
        case .contentTypes: conditions.contentTypes?.joined(separator: " ") ?? ""
        case .maxBytes: conditions.maxBytes.map { String($0) } ?? ""
        case .requireContentMD5: conditions.requireContentMD5.map { String($0) } ?? ""
        case .maxTTL: conditions.maxTTL.map { String($0) } ?? ""
        case .sourceCIDRs: conditions.sourceCIDRs?.joined(separator: " ") ?? ""
        case .forceDownload: conditions.forceDownload.map { String($0) } ?? ""
        case .allowResponseContentType: conditions.allowResponseContentType.map { String($0) } ?? ""
        case .allowVersions: conditions.allowVersions.map { String($0) } ?? ""
        case .notBefore: notBefore.map(Timestamp.text) ?? ""
        case .notAfter: notAfter.map(Timestamp.text) ?? ""
        case .note: note
        case .createdBy: createdBy
        case .createdAt: Timestamp.text(of: createdAt)
        }
    }
}
