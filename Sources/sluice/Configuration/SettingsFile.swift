import Configuration
import FoundationEssentials
import StrictJSON

/// A file with settings: one JSON object. Objects in it group settings, and dots in a name stand for groups.
struct SettingsFile {
    /// The values that are not groups, by the names that lead to them, joined with dots.
    let members: [(key: String, value: JSONValue)]

    /// Reads a file.
    ///
    /// - Throws: An error if the file cannot be read, or is not one JSON object.
    init(_ path: String) throws {
        let document = try JSONReader.read(Array(try Data(contentsOf: URL(filePath: path))))
        guard case .object = document else { throw JSONError.malformed("An object was expected", at: 0) }
        members = Self.members(of: document, below: "")
    }

    private static func members(of value: JSONValue, below prefix: String) -> [(key: String, value: JSONValue)] {
        guard case .object(let members) = value else { return [(prefix, value)] }
        return members.sorted { $0.name < $1.name }.flatMap {
            Self.members(of: $0.value, below: prefix.isEmpty ? $0.name : "\(prefix).\($0.name)")
        }
    }

    /// The value of a setting; `nil` if there is none.
    subscript(name: SettingName) -> JSONValue? { members.first { $0.key == name.rawValue }?.value }

    /// Keys that are not settings, and those that are there twice. Without this check, they would have no effect.
    var flaws: [String] {
        let known = Set(SettingName.allCases.map(\.rawValue))
        var seen: Set<String> = []
        return members.compactMap { key, _ in
            guard seen.insert(key).inserted else { return "the setting '\(key)' is there twice" }
            return known.contains(key) ? nil : SettingName.flaw(ofKey: key)
        }
    }

    /// The values, for a reader of settings. Those that are `null` count as absent.
    var provider: InMemoryProvider {
        let values = members.compactMap { key, value in
            Self.content(of: value).map { content in
                let names = key.split(separator: ".").map(String.init)
                return (AbsoluteConfigKey(names), ConfigValue(content, isSecret: false))
            }
        }
        return InMemoryProvider(values: Dictionary(values) { first, _ in first })
    }

    private static func content(of value: JSONValue) -> ConfigContent? {
        switch value {
        case .null: nil
        case .bool(let flag): .bool(flag)
        case .string(let text): .string(text)
        case .number(let digits):
            if let whole = Int(digits) ?? Double(digits).flatMap({ Int(exactly: $0) }) {
                .int(whole)
            } else {
                .double(Double(digits) ?? 0)
            }
        // No setting is a list of truth values, so the reader refuses what is no list of texts by the setting's name.
        case .array, .object: value.strings.map { .stringArray($0) } ?? .boolArray([])
        }
    }
}
