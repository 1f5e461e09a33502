import AdminCommands
import ArgumentParser

/// `sluice completion`: what a shell runs to complete lines of the program.
struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the script that completes commands, options and values in a shell.",
        discussion: """
            For this session:
            bash   source <(sluice completion bash)
            zsh    source <(sluice completion zsh)
            fish   sluice completion fish | source

            If SLUICE_ADMIN_KEY or SLUICE_ADMIN_KEY_FILE is set, names of buckets and
            groups and identifiers of rows are completed as well. They come from the
            gateway at SLUICE_ADMIN_URL, at most 100 of them, and within a second or not
            at all.
            """)

    @Argument(help: "The shell.")
    var shell: CompletionScript

    func run() throws { try writeLine(shell.text) }
}
