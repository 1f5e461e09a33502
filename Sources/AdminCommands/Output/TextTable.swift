import ContractModel
import Terminal

/// Formats JSON values as tables for people: rows in columns, or one row with one member per line.
enum TextTable {
    /// The columns to show for resources whose rows have more members than fit on a line.
    static let columns: [String: [String]] = [
        "buckets": ["name", "provider", "scheme", "endpoint", "region", "addressing", "maxTTL"],
        "credentials": ["id", "name", "kind", "accessKeyID", "createdAt"],
        "grants": ["id", "principal", "bucket", "prefix", "template", "actions", "effect", "conditions"],
        "groups": ["group", "member", "members", "createdAt"],
        "quotas": ["id", "principal", "bucket", "action", "metric", "period", "sharing", "limit"],
        "issuers": ["id", "issuer", "audiences", "algorithms", "principalPrefix", "rolesClaim"],
        "api-keys": ["id", "name", "principal", "groups", "roles", "adminScopes", "expiresAt"],
        "issuances": ["id", "issuedAt", "principal", "bucket", "key", "actions", "delivery", "expiresAt"],
        "tickets": ["id", "principal", "bucket", "prefix", "actions", "maxUses", "expiresAt"],
        "multipart-uploads": ["id", "principal", "bucket", "key", "state", "contentLength", "expiresAt"],
        "audit": ["changedAt", "actor", "operation", "kind", "resourceID", "requestID"],
        "gateways": [
            "id", "version", "lastSeenAt", "live", "policyPosition", "clockAheadMilliseconds", "masterKeyIDs",
        ],
    ]

    /// The fewest columns that a shortened cell has. With fewer, cells say nothing.
    private static let narrowest = 12

    /// Formats a page of rows.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - resource: Name of the resource, which selects the default columns.
    ///   - chosen: The columns that `--columns` names; `nil` for the default ones.
    ///   - known: The members of a row in the contract's order.
    ///   - stream: Where the table goes. A terminal has bold headings, and long cells are shortened to its width;
    ///     identifiers are not, because they are copied. If that does not suffice, each row is printed as lines.
    ///     Everything else gets whole cells.
    ///   - indent: What is before each line.
    static func rows(
        _ rows: [ContractValue], of resource: String, chosen: [String]?, known: [String], on stream: TerminalStream?,
        indent: String = ""
    ) -> String {
        let present = Set(rows.flatMap { $0.members.map(\.name) })
        let standing = (columns[resource] ?? []).filter { present.contains($0) }
        let others = known + present.subtracting(known).sorted()
        let names = chosen ?? (standing.isEmpty ? others.filter { present.contains($0) } : standing)
        var cells = [names.map { AdminNames.option($0).uppercased() }]
        cells += rows.map { row in names.map { (row[$0] ?? .null).summary.visible } }
        if let width = stream?.width {
            let isWhole = names.map { $0 == "id" || $0.hasSuffix("ID") || $0.hasSuffix("Id") }
            guard let fitting = shortened(cells, keeping: isWhole, to: width - indent.count) else {
                let blocks = cells.dropFirst().map { row in TextGrid.text(zip(names, row).map { [indent + $0, $1] }) }
                return blocks.joined(separator: indent + "--\n")
            }
            cells = fitting
        }
        var lines = TextGrid.text(cells).split(separator: "\n").map { "\(indent)\($0)" }
        if let stream, let heading = lines.first { lines[0] = stream.styled(heading, .bold) }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Shortens the widest cells until the lines fit; `nil` if they would have to be too short.
    private static func shortened(_ lines: [[String]], keeping isWhole: [Bool], to width: Int) -> [[String]]? {
        let widths = TextGrid.widths(of: lines)
        let gaps = 2 * max(0, widths.count - 1)
        func total(_ most: Int) -> Int { zip(widths, isWhole).reduce(gaps) { $0 + ($1.1 ? $1.0 : min($1.0, most)) } }
        var most = widths.max() ?? 0
        while most > narrowest, total(most) > width { most -= 1 }
        // One column is a table at any width.
        guard total(most) <= width || widths.count < 2 else { return nil }
        return lines.map { line in zip(line, isWhole).map { $1 ? $0 : $0.shortened(to: most) } }
    }

    /// Formats one row, one member per line. Nested rows follow as tables of their own.
    ///
    /// - Parameters:
    ///   - value: The row.
    ///   - shape: The members in the contract's order.
    ///   - stream: Where the lines go; as for ``rows(_:of:chosen:known:on:indent:)``.
    ///   - indent: What is before each line.
    static func members(
        of value: ContractValue, by shape: AnswerShape, on stream: TerminalStream?, indent: String = ""
    ) -> String {
        let known = shape.names
        let names = known.filter { value[$0] != nil } + value.members.map(\.name).filter { !known.contains($0) }
        var lines: [[String]] = []
        var blocks = ""
        for name in names {
            let member = value[name] ?? .null
            if member.isNested {
                blocks += "\(indent)\(name):\n"
                blocks += block(member, by: shape.inside(name), on: stream, indent: indent + "  ")
            } else {
                lines.append([indent + name, member.cell.visible])
            }
        }
        return TextGrid.text(lines) + blocks
    }

    private static func block(
        _ value: ContractValue, by shape: AnswerShape, on stream: TerminalStream?, indent: String
    ) -> String {
        guard case .array(let items) = value else { return members(of: value, by: shape, on: stream, indent: indent) }
        guard items.contains(where: { $0.members.contains { $0.value.isNested } }) else {
            return rows(items, of: "", chosen: nil, known: shape.names, on: stream, indent: indent)
        }
        return items.map { members(of: $0, by: shape, on: stream, indent: indent) }.joined(separator: indent + "--\n")
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

    /// The text of the value for one cell of a table. A row in it is named by its identifier, and a position in the log
    /// of policy by its number.
    fileprivate var summary: String {
        guard isNested else { return cell }
        if case .array(let items) = self { return items.map(\.summary).joined(separator: ", ") }
        if let name = self["id"] ?? self["sequence"] { return name.cell }
        if let action = self["action"], let outcome = self["outcome"] { return "\(action.cell) \(outcome.cell)" }
        return members.map { "\($0.name)=\($0.value.summary)" }.joined(separator: " ")
    }
}
