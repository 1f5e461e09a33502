import Foundation
import Testing

@Suite struct HelpTests {
    /// Otherwise a terminal of the usual width would break the lines a second time.
    @Test(arguments: [
        "get", "put", "ls", "rm", "share", "credentials", "serve", "migrate", "doctor", "qualify", "dev", "sign",
        "inspect", "rotate-master-key", "audit-quotas",
    ])
    func `the text of a command's help has room in eighty columns`(command: String) throws {
        func paragraphs(_ columns: Int) throws -> [String] {
            let run = try Command.run(
                [command, "--help"], environment: ["COLUMNS": "\(columns)", "PATH": "/usr/bin:/bin"])
            #expect(run.status == 0 && run.output.contains("USAGE:"), "\(run.errors)")
            // What the program composes has no lines of its own.
            return run.output.components(separatedBy: "USAGE:")[0].components(separatedBy: "\n\n").dropFirst()
                .filter { !$0.hasPrefix("Schemes:") }
        }
        #expect(try paragraphs(80) == paragraphs(200))
    }

    @Test(arguments: [
        "", "--help", "--version", "version", "help", "help get", "help --man", "help admin",
        "help admin grants create", "get --help", "serve --help", "admin --help", "admin grants list --help",
        "completion bash", "completion fish",
    ])
    func `a text that cannot be written gives a status`(line: String) throws {
        let run = try Command.run(
            ["-c", "exec \"$0\" \"$@\" >/dev/full", Command.program.path]
                + line.split(separator: " ").map(String.init),
            of: URL(fileURLWithPath: "/bin/sh"), environment: ["PATH": "/usr/bin:/bin"])
        #expect(run.status == 1, "\(run.status)")
        #expect(run.errors == "error: Standard output cannot be written: No space left on device.\n")
    }
}
