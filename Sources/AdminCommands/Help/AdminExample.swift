import ContractModel

/// Writes the contract's examples as command lines.
enum AdminExample {
    /// Returns a line that the command takes.
    static func line(of command: AdminOperation) -> String {
        var words = ["sluice admin"] + command.words
        for parameter in command.path { words.append(samples[parameter.name] ?? samples["id"] ?? "") }
        guard let value = command.json?.examples.first?.value else {
            if !command.fileTypes.isEmpty { words.append("--file \(command.words[0]).ndjson") }
            if command.answersFile { words.append("--output \(command.words[0]).ndjson") }
            return words.joined(separator: " ")
        }
        for member in value.members { words += options(member, within: "") }
        return words.joined(separator: " ")
    }

    private static let samples = [
        "bucket": "photos", "group": "group:staff", "member": "user:alice", "principal": "user:alice",
        "id": "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69",
    ]

    private static func options(_ member: ContractValue.Member, within outer: String) -> [String] {
        let name = outer + member.name
        switch member.value {
        case .object(let members) where outer.isEmpty && !members.isEmpty:
            return members.flatMap { options($0, within: name + ".") }
        case .null: return ["--unset \(AdminNames.option(name))"]
        case .bool(let flag): return ["--\(AdminNames.option(name))\(flag ? "" : "=false")"]
        case .string(let text): return ["--\(AdminNames.option(name)) \(quoted(text))"]
        case .array(let items) where !items.isEmpty && items.allSatisfy { $0.text != nil }:
            return ["--\(AdminNames.option(name)) \(quoted(items.compactMap(\.text).joined(separator: ",")))"]
        default: return ["--\(AdminNames.option(name)) \(quoted(member.value.json()))"]
        }
    }

    /// Quotes a text as one word of a shell.
    private static func quoted(_ text: String) -> String {
        let plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:,@%+="
        if !text.isEmpty, text.allSatisfy({ plain.contains($0) }) { return text }
        return "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
