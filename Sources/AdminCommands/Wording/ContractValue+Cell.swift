import ContractModel

extension ContractValue {
    /// The text of the value for one line.
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
