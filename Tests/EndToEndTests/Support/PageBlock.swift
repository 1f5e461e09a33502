import ContractTesting
import Foundation

/// A block of code on a page of the documentation.
struct PageBlock {
    /// A block that is not treated as the others are.
    struct Exception: Hashable {
        /// The path of the page in the repository.
        let page: String
        /// A part of the block.
        let text: String
        let reason: String

        func isAbout(_ block: PageBlock) -> Bool { page == block.page && block.text.contains(text) }
    }

    /// The path of the page in the repository.
    let page: String
    /// The word after the fence, or nothing.
    let language: String
    let text: String

    /// The blocks of a page, in order.
    static func all(of page: String) throws -> [PageBlock] {
        let lines = try String(contentsOf: ContractDocument.repository.appending(path: page), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        var blocks: [PageBlock] = []
        var open: (language: String, lines: [Substring])?
        for line in lines {
            guard line.hasPrefix("```") else {
                open?.lines.append(line)
                continue
            }
            if let block = open {
                let text = block.lines.joined(separator: "\n") + "\n"
                blocks.append(PageBlock(page: page, language: block.language, text: text))
                open = nil
            } else {
                open = (String(line.dropFirst(3)), [])
            }
        }
        return blocks
    }

    /// Whether `run_page.bash` runs such blocks.
    var isForShells: Bool { ["sh", "json"].contains(language) }
    /// Whether the block is not run.
    var isLeftOut: Bool { Self.leftOut.contains { $0.isAbout(self) } }
    /// Whether the block is run, but not repeated.
    var runsOnce: Bool { Self.once.contains { $0.isAbout(self) } }

    /// The languages whose blocks are not run, with the reason.
    static let samples = [
        "": "drawings and texts",
        "swift": "apps on Apple's systems, with SDKs that Linux does not have",
        "objc": "apps on Apple's systems, with SDKs that Linux does not have",
        "kotlin": "apps on Android",
        "js": "pages in a browser, one with the SDK of Alibaba OSS; BrowserTests upload as the other does",
        "ini": "a file of the reader's; ProtocolClientTests write the same one",
        "python": "needs the reader's store; IcebergClientTests do the same",
        "sql": "`docs/operations.md` prints the same statements for a shell",
    ]

    /// Blocks for a shell that are not run.
    static let leftOut = [
        Exception(
            page: "README.md", text: "script/server",
            reason: "builds a release and runs the tests; this is one of them, and `sluice dev` is what it starts"),
        Exception(
            page: "docs/administration.md", text: "sluice qualify YOUR-BUCKET",
            reason: "needs the store of the reader's bucket; QualifyCommandTests run it at stores"),
        Exception(
            page: "docs/kubernetes.md", text: "kubectl apply",
            reason: "needs a cluster of Kubernetes; script/check-ops holds the manifests to their schemas"),
        Exception(
            page: "docs/operations.md", text: "script/package --lock",
            reason: "builds a release, and compares it with databases that the reader brings"),
        Exception(
            page: "docs/backup.md", text: "pg_dump --format=custom --file",
            reason: "needs a server that archives; script/ha backup runs it"),
        Exception(
            page: "docs/backup.md", text: "docker compose",
            reason: "needs an engine for containers, and a volume of the reader's"),
        Exception(
            page: "docs/backup.md", text: "ops/patroni/roles.sql",
            reason: "needs a server without these roles; script/ha backup runs it"),
        Exception(
            page: "docs/backup.md", text: "pg_restore", reason: "needs a dump; script/ha backup runs it"),
        Exception(
            page: "docs/backup.md", text: "recovery.signal",
            reason: "needs a base backup; script/ha backup runs it"),
        Exception(
            page: "docs/backup.md", text: "pg_ctlcluster",
            reason: "stops and starts a server of the reader's; script/ha backup runs it"),
        Exception(
            page: "docs/backup.md", text: "ALTER SYSTEM RESET",
            reason: "needs what was restored; script/ha backup runs it"),
        Exception(
            page: "docs/updates.md", text: "docker compose",
            reason: "needs an engine for containers, and a volume of the reader's"),
        Exception(
            page: "docs/updates.md", text: "systemctl enable --now sluice.socket",
            reason: "needs systemd; script/check-package does it"),
        Exception(
            page: "docs/links.md", text: "v1/cdn-cookies",
            reason: "needs a bucket with a key of CloudFront; CDNCookieTests ask for cookies"),
        Exception(
            page: "docs/protocols/README.md", text: "sluice admin buckets update",
            reason: "needs the reader's bucket; ProtocolClientTests open protocols"),
        Exception(
            page: "docs/protocols/aws-credentials.md", text: "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            reason: "needs the reader's store; ProtocolClientTests run the clients"),
        Exception(
            page: "docs/protocols/aws-credentials.md", text: "AWS_WEB_IDENTITY_TOKEN_FILE",
            reason: "needs the reader's store; ProtocolClientTests run the clients"),
        Exception(
            page: "docs/protocols/iceberg.md", text: "--protocols aws-remote-signing",
            reason: "needs the reader's bucket; IcebergClientTests open the protocol"),
        Exception(
            page: "docs/protocols/git-lfs.md", text: "--protocols git-lfs",
            reason: "needs the reader's bucket; GitLFSClientTests open the protocol"),
        Exception(
            page: "docs/protocols/git-lfs.md", text: "git config -f .lfsconfig",
            reason: "needs the reader's repository; GitLFSClientTests write the same"),
        Exception(
            page: "docs/protocols/git-lfs.md", text: "Benchmarks/git-lfs/run",
            reason: "loads the machine, and needs another server from PyPI"),
        Exception(page: "docs/performance.md", text: "script/bench", reason: "builds a release and loads the machine"),
        Exception(
            page: "CONTRIBUTING.md", text: "script/stores/radosgw start",
            reason: "script/test starts the stores, and the tests run beside them"),
        Exception(page: "CONTRIBUTING.md", text: "SLUICE_TEST_STOPS", reason: "runs these tests for hours"),
        Exception(page: "CONTRIBUTING.md", text: "script/ha test", reason: "kills and freezes databases for minutes"),
        Exception(page: "CONTRIBUTING.md", text: "script/bench", reason: "builds a release and loads the machine"),
    ]

    /// Blocks for a shell that run once.
    static let once = [
        Exception(
            page: "docs/operations.md", text: "CREATE DATABASE", reason: "there is one such database on a server"),
        Exception(
            page: "docs/operations.md", text: "sluice serve\n",
            reason: "the gateway keeps its terminal, and its port, until it ends"),
    ]
}
