import ArgumentParser
import FoundationEssentials
import LocalFiles

/// Flags that give settings on the command line or name a file with them. Several commands share them.
struct SettingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("JSON file with settings; also SLUICE_CONFIG.", valueName: "file"))
    var config: String?

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "Set a setting by its key, such as listen=127.0.0.1:9090; not for secrets; repeatable.",
            valueName: "key=value"))
    var assignments: [String] = []

    /// The path of the configuration file; `nil` if there is none.
    var file: String? {
        config ?? ProcessInfo.processInfo.environment["SLUICE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Says why a configuration file cannot be used. The reader's own error might quote a value of the file.
    static func complaint(about file: String) -> String {
        "The configuration file '\(file)' \(FileStatus.readingFlaw(of: file) ?? "is not one JSON object")."
    }

    /// Opens the settings. Flags override the environment, which overrides the file.
    func reader() async throws -> SettingReader {
        try await reader(file: file)
    }

    /// Opens the settings with another file than the one that the options name.
    func reader(file: String?) async throws -> SettingReader {
        do {
            return try SettingReader(
                assignments: assignments, environment: ProcessInfo.processInfo.environment, file: file)
        } catch {
            throw ValidationError(Self.complaint(about: file ?? ""))
        }
    }
}
