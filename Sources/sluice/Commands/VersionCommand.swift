import ArgumentParser

/// `sluice version`: the same as `sluice --version`.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Show the version.")

    func run() throws { try writeLine(ProgramVersion.current) }
}
