import ContractModel

/// Formats JSON values as tables for people: rows in columns, or one row with one member per line.
enum TextTable {
    /// The columns to show for resources whose rows have more members than fit on a line.
    private static let columns: [String: [String]] = [
        "buckets": ["name", "provider", "scheme", "endpoint", "region", "addressing", "maxTTL"],
        "credentials": ["id", "name", "kind", "accessKeyID", "createdAt"],
        "grants": ["id", "principal", "bucket", "prefix", "template", "actions", "effect", "conditions"],
        "groups": ["group", "member", "members", "createdAt"],
        "quotas": ["id", "principal", "bucket", "action", "metric", "period", "sharing", "limit"],
        "issuers": ["id", "issuer", "audiences", "algorithms", "principalPrefix", "mayConferRoles"],
        "api-keys": ["id", "name", "principal", "groups", "roles", "expiresAt"],
        "issuances": ["id", "issuedAt", "principal", "bucket", "key", "actions", "delivery", "expiresAt"],
        "tickets": ["id", "principal", "bucket", "prefix", "actions", "maxUses", "expiresAt"],
        "multipart-uploads": ["id", "principal", "bucket", "key", "state", "contentLength", "expiresAt"],
        "audit": ["changedAt", "actor", "operation", "kind", "resourceID", "requestId"],
    ]

    /// The maximum length of a cell on a terminal, in characters. Output to a file is not shortened.
    private static let longestCell = 48

    /// Formats a page of rows.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - resource: Name of the resource, which selects the default columns.
    ///   - chosen: The columns that `--columns` names; `nil` for the default ones.
    ///   - known: The members of a row in the contract's order.
    ///   - isTerminal: Whether the output goes to a terminal, where long cells are shortened.
    static func rows(
        _ rows: [ContractValue], of resource: String, chosen: [String]?, known: [String], isTerminal: Bool
    ) -> String {
        let present = Set(rows.flatMap { $0.members.map(\.name) })
        let standing = (columns[resource] ?? []).filter { present.contains($0) }
        let others = known + present.subtracting(known).sorted()
        let names = chosen ?? (standing.isEmpty ? others.filter { present.contains($0) } : standing)
        let cells = rows.map { row in names.map { cell(row[$0] ?? .null, isTerminal) } }
        return grid([names.map { AdminNames.option($0).uppercased() }] + cells)
    }

    /// Formats one row, one member per line. Nested rows follow as tables of their own.
    static func members(of value: ContractValue, known: [String], indent: String = "") -> String {
        let names = known.filter { value[$0] != nil } + value.members.map(\.name).filter { !known.contains($0) }
        var lines: [[String]] = []
        var blocks = ""
        for name in names {
            let member = value[name] ?? .null
            if member.isNested {
                blocks += "\(indent)\(name):\n" + block(member, indent: indent + "  ")
            } else {
                lines.append([indent + name, member.cell.visible])
            }
        }
        return grid(lines) + blocks
    }

    private static func block(_ value: ContractValue, indent: String) -> String {
        guard case .array(let items) = value else { return members(of: value, known: [], indent: indent) }
        guard items.contains(where: { $0.members.contains { $0.value.isNested } }) else {
            let table = rows(items, of: "", chosen: nil, known: [], isTerminal: false)
            return table.split(separator: "\n").map { indent + $0 + "\n" }.joined()
        }
        return items.map { members(of: $0, known: [], indent: indent) }.joined(separator: indent + "--\n")
    }

    private static func cell(_ value: ContractValue, _ isTerminal: Bool) -> String {
        let text = value.cell.visible
        return isTerminal && text.count > longestCell ? text.prefix(longestCell - 1) + "…" : text
    }

    private static func grid(_ lines: [[String]]) -> String {
        let count = lines.first?.count ?? 0
        let widths = (0..<count).map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            var text = ""
            for (column, cell) in line.enumerated() {
                text += cell
                if column < line.count - 1 { text += String(repeating: " ", count: widths[column] - cell.count + 2) }
            }
            return text + "\n"
        }.joined()
    }
}

extension ContractValue {
    /// Whether the value is too large for a cell.
    fileprivate var isNested: Bool {
        switch self {
        case .object(let members): !members.isEmpty
        case .array(let items): items.contains { !$0.members.isEmpty }
        default: false
        }
    }

    /// The text of the value for one cell.
    var cell: String {
        switch self {
        case .null: "-"
        case .string(let text): text.isEmpty ? "''" : text
        case .array(let items) where !items.contains { !$0.members.isEmpty }:
            items.isEmpty ? "-" : items.map(\.cell).joined(separator: ",")
        case .object(let members) where members.isEmpty: "-"
        default: json()
        }
    }
}

extension String {
    /// The text with control characters escaped, since a terminal would obey them.
    var visible: String {
        guard unicodeScalars.contains(where: \.isObeyed) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isObeyed {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether a terminal obeys the character. These are control characters, and marks that change the direction of
    /// text.
    fileprivate var isObeyed: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        default: false
        }
    }
}
