import Configuration
import FoundationEssentials
import GatewayCore
import LocalFiles
import Synchronization

/// Reads settings from flags, the environment and a file, in this order of precedence, and collects the mistakes.
struct SettingReader {
    private let reader: ConfigReader
    private let failures: ConversionFailures
    private(set) var mistakes: [String] = []
    /// The settings that were read and are set, with their values; of secrets, only that they are set.
    private(set) var given: [SettingName: String] = [:]

    /// Variables that are not settings: the one that names the file, and those that commands read which call a gateway.
    private static let otherVariables = [
        "SLUICE_CONFIG", "SLUICE_ADMIN_URL", "SLUICE_ADMIN_KEY", "SLUICE_ADMIN_KEY_FILE",
        "SLUICE_URL", "SLUICE_KEY", "SLUICE_KEY_FILE",
    ]

    /// Opens the sources.
    ///
    /// - Parameters:
    ///   - assignments: Values given on the command line, each as `key=value`.
    ///   - environment: Environment variables. A name that begins with `SLUICE_` and no command reads is a mistake.
    ///   - file: Path of a JSON file; `nil` if there is none.
    init(assignments: [String], environment: [String: String], file: String?) throws {
        let variables = Self.variables(assignments, &mistakes)
        var providers: [any ConfigProvider] = [
            EnvironmentVariablesProvider(environmentVariables: variables).prefixKeys(with: ["sluice"]),
            EnvironmentVariablesProvider(environmentVariables: environment.filter { !$0.value.isEmpty })
                .prefixKeys(with: ["sluice"]),
        ]
        if let file {
            let settings = try SettingsFile(file)
            mistakes += settings.flaws.map { "\(file): \($0)" }
            providers.append(settings.provider)
        }
        failures = ConversionFailures()
        reader = ConfigReader(providers: providers, accessReporter: failures)
        let known = Set(SettingName.allCases.map(\.variable) + Self.otherVariables)
        for name in environment.keys.sorted()
        where name.hasPrefix("SLUICE_") && !name.hasPrefix("SLUICE_TEST_") && !known.contains(name) {
            let hint = SettingName.nearest(to: name).map { "; did you mean \($0.variable)?" } ?? ""
            mistakes.append("\(name): there is no such setting\(hint)")
        }
    }

    /// Reads the values of the command line, by variable, and notes mistakes. The last value of a setting counts.
    private static func variables(_ assignments: [String], _ mistakes: inout [String]) -> [String: String] {
        var variables: [String: String] = [:]
        for assignment in assignments {
            let key = String(assignment.prefix { $0 != "=" })
            let value = assignment.dropFirst(key.count + 1)
            guard let name = SettingName(rawValue: key) else {
                // What has no value or does not look like a key may be a secret, whose key was forgotten.
                let isKey =
                    assignment.contains("=")
                    && key.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789.-".utf8.contains)
                mistakes.append("--set: " + (isKey ? SettingName.flaw(ofKey: key) : "a setting has the form key=value"))
                continue
            }
            if let file = name.secretFile {
                // The file of the URL holds the password alone.
                let other = name == .databaseURL ? "use '--config'" : "name a file with \(file.variable)"
                mistakes.append(
                    """
                    --set \(name.rawValue): other users of this machine can see secrets on a command line. \
                    Set \(name.variable) in the environment, or \(other)
                    """)
                continue
            }
            guard !value.isEmpty else {
                mistakes.append("--set \(name.rawValue): the value is missing")
                continue
            }
            variables[name.variable] = String(value)
        }
        return variables
    }

    /// Reads a text; `nil` if it is not set.
    mutating func text(_ name: SettingName) -> String? {
        let value = reader.string(forKey: name.configKey)
        noteFailure(name, expected: "a text")
        note(value, of: name)
        return value
    }

    /// Reads a list of texts; empty if it is not set.
    mutating func list(_ name: SettingName) -> [String] {
        let value = reader.stringArray(forKey: name.configKey) ?? []
        noteFailure(name, expected: "a list")
        let items = value.map { $0.trimmed() }.filter { !$0.isEmpty }
        note(items.isEmpty ? nil : items.joined(separator: ","), of: name)
        return items
    }

    /// Reads a whole number within a range; `nil` if it is not set.
    mutating func integer(_ name: SettingName, in range: ClosedRange<Int>) -> Int? {
        let value = reader.int(forKey: name.configKey)
        noteFailure(name, expected: "a whole number")
        note(value.map(String.init), of: name)
        guard let value else { return nil }
        guard range.contains(value) else {
            refuse(name, "must be from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return value
    }

    /// Reads one of a few words; `nil` if it is not set.
    mutating func choice<Value>(_ name: SettingName, _ values: KeyValuePairs<String, Value>) -> Value? {
        guard let word = text(name) else { return nil }
        guard let value = values.first(where: { $0.key == word })?.value else {
            refuse(name, "must be one of \(values.map(\.key).joined(separator: ", "))")
            return nil
        }
        return value
    }

    /// Reads a secret from a setting, or from the file that another setting names. Also returns which of the two it
    /// came from. `nil` if neither is set, or if a mistake was noted.
    mutating func secret(_ name: SettingName, orIn file: SettingName) -> (text: Secret<String>, from: SettingName)? {
        let given = text(name)
        guard let held = secret(in: file) else { return given.map { (Secret($0), name) } }
        guard given == nil else {
            refuse(name, "must not be set together with \(file.variable)")
            return nil
        }
        return (held, file)
    }

    /// Reads the file that a setting names, without one line break at its end. `nil` if the setting is not set, or if a
    /// mistake was noted.
    mutating func secret(in name: SettingName) -> Secret<String>? {
        guard let path = text(name) else { return nil }
        guard var text = try? String(contentsOf: URL(filePath: path), encoding: .utf8) else {
            refuse(name, "'\(path)' \(FileStatus.readingFlaw(of: path) ?? "is not text in UTF-8")")
            return nil
        }
        if text.unicodeScalars.last == "\n" {
            text.unicodeScalars.removeLast()
            if text.unicodeScalars.last == "\r" { text.unicodeScalars.removeLast() }
        }
        guard !text.isEmpty, !text.utf8.contains(0) else {
            refuse(name, "'\(path)' is empty, or contains a NUL")
            return nil
        }
        return Secret(text)
    }

    /// Notes a mistake.
    mutating func refuse(_ name: SettingName, _ reason: String) {
        mistakes.append("\(name.variable): \(reason)")
    }

    private mutating func note(_ value: String?, of name: SettingName) {
        given[name] = value.map { name.secretFile == nil ? $0 : "(secret)" }
    }

    private mutating func noteFailure(_ name: SettingName, expected: String) {
        if failures.take() { refuse(name, "must be \(expected)") }
    }
}

extension SettingName {
    fileprivate var configKey: ConfigKey {
        ConfigKey(rawValue.split(separator: ".").map(String.init))
    }
}

/// Remembers whether the last reading failed. The library itself only returns no value.
private final class ConversionFailures: AccessReporter {
    private let hasFailed = Mutex(false)

    func report(_ event: AccessEvent) {
        let outcomes = event.providerResults.map { $0.result.map { _ in } } + [event.result.map { _ in }]
        let hasFailed = outcomes.contains { if case .failure = $0 { true } else { false } }
        guard hasFailed || event.conversionError != nil else { return }
        self.hasFailed.withLock { $0 = true }
    }

    func take() -> Bool {
        hasFailed.withLock { failed in
            defer { failed = false }
            return failed
        }
    }
}
