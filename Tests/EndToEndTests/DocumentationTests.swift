import ContractTesting
import Foundation
import Testing

/// What the README and the pages of `docs/` print, run as it is printed.
///
/// The blocks of a page run in order in one shell, each twice, so that a reader may paste a block again. The shell has
/// a network of its own, in which the printed ports are free. `Documentation/run_page.bash` makes what a page
/// presupposes.
@Suite struct DocumentationTests {
    @Test("what is printed runs as it is printed, and again", arguments: PageWalk.all)
    func walk(_ walk: PageWalk) async throws {
        try await Self.requireNamespaces()
        let blocks = try walk.pages.flatMap { try PageBlock.all(of: $0) }
            .filter { $0.isForShells && !$0.isLeftOut }
        let root = try Self.makeRoot(blocks)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let script = try #require(
            Bundle.module.url(forResource: "Documentation/run_page", withExtension: "bash"), "the script is a resource")
        let process = try RunningProcess(
            Self.namespaces + ["/bin/bash", script.path(percentEncoded: false), walk.world, root, Program.path],
            environment: [:])
        let status = await process.exitStatus()
        try #require(status == 0, "\(process.output.suffix(2000))\n\(process.errors.suffix(4000))")

        let outputs = Self.outputs(in: process.output)
        #expect(outputs.count == blocks.count)
        for (text, promised) in walk.promises {
            let found = blocks.indices.filter { blocks[$0].text.contains(text) }
            try #require(found.count == 1, "\(found.count) blocks have: \(text)")
            let runs = outputs[Self.name(found[0], blocks[found[0]])] ?? []
            #expect(runs.count == (blocks[found[0]].runsOnce || blocks[found[0]].language == "json" ? 1 : 2))
            for run in runs {
                for words in promised { #expect(run.contains(words), "\(text): \(words) is not in: \(run)") }
            }
        }
    }

    @Test func `every block of every page is run, or left out for a reason`() throws {
        let walked = Set(PageWalk.all.flatMap(\.pages))
        var leftOut = Set<PageBlock.Exception>()
        for page in try Self.pages() {
            for block in try PageBlock.all(of: page) {
                let exceptions = (PageBlock.leftOut + PageBlock.once).filter { $0.page == page && $0.isAbout(block) }
                leftOut.formUnion(exceptions)
                if block.isForShells {
                    #expect(walked.contains(page) || block.isLeftOut, "\(page): \(block.text)")
                } else {
                    #expect(PageBlock.samples[block.language] != nil, "\(page): ```\(block.language)")
                }
            }
        }
        let stale = Set(PageBlock.leftOut + PageBlock.once).subtracting(leftOut)
        #expect(stale.isEmpty, "no block is like these: \(stale)")
    }

    /// `script/ha backup` runs these commands twice on one day.
    @Test func `a backup that fails is not taken for the one before`() async throws {
        let blocks = try PageBlock.all(of: "docs/backup.md")
        let commands = try #require(blocks.first { $0.text.contains("pg_dump --format=custom --file") }).text
        #expect(commands.contains("taken=$(date +%FT%H%M%S)\n"), "a second one of a day needs another name")
        let programs = ["pg_dump", "pg_basebackup", "pg_verifybackup"]
        for broken in programs {
            let stand = programs.map { "\($0)() { echo \($0); return \($0 == broken ? 1 : 0); }\n" }.joined()
            let process = try RunningProcess(
                ["/bin/bash", "-c", stand + commands], environment: ["PATH": "/usr/bin:/bin"])
            #expect(await process.exitStatus() == 1, "\(broken)")
            #expect(process.output.hasSuffix("\(broken)\n"), "\(process.output)")
        }
    }

    @Test func `every variable that sets tests is in CONTRIBUTING`() throws {
        let repository = ContractDocument.repository
        let page = try String(contentsOf: repository.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
        let variable = #/SLUICE_TEST_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_])/#
        let named = Set(page.matches(of: variable).map { String($0.output) })
        // Such as `…_REGION`, for several stores.
        let endings = page.matches(of: #/…(_[A-Z_]+)/#).map { String($0.output.1) }
        // A script or a test sets these for what it runs.
        let own: Set = ["SLUICE_TEST_CONTRACT", "SLUICE_TEST_WORLD", "SLUICE_TEST_WRITE_STATEMENTS"]
        var read: Set<String> = []
        for folder in ["Tests", "clients", "script"] {
            let files = FileManager.default.enumerator(
                at: repository.appending(path: folder), includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
            while let file = files?.nextObject() as? URL {
                guard let text = try? String(contentsOf: file, encoding: .utf8), text.contains("SLUICE_TEST_") else {
                    continue
                }
                read.formUnion(text.matches(of: variable).map { String($0.output) })
            }
        }
        #expect(read.contains("SLUICE_TEST_SEED"))
        let missing = read.subtracting(named).subtracting(own)
            .filter { name in !endings.contains { name.hasSuffix($0) } }
        #expect(missing.isEmpty, "\(missing.sorted())")
    }

    /// The pages for people in the repository, by their paths.
    private static func pages() throws -> [String] {
        let repository = ContractDocument.repository
        return try ["", "docs/", "docs/protocols/", "sql/", "openapi/"].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: repository.appending(path: folder).path())
                .filter { $0.hasSuffix(".md") }.map { folder + $0 }
        }
    }

    /// The name of a block's file.
    private static func name(_ index: Int, _ block: PageBlock) -> String {
        let digits = String(100 + index).dropFirst()
        return "\(digits)." + (block.runsOnce ? "once" : block.language)
    }

    /// What each run of each block printed, by the name of its file.
    private static func outputs(in text: String) -> [String: [String]] {
        var outputs: [String: [String]] = [:]
        var name = ""
        for section in "\n\(text)".components(separatedBy: "\n=== ").dropFirst() {
            let title = String(section.prefix { $0 != "\n" })
            if title == "end" { break }
            if title != "again" { name = title }
            outputs[name, default: []].append(String(section.dropFirst(title.count)))
        }
        return outputs
    }

    /// Makes a directory for the blocks of pages, and for what they write.
    private static func makeRoot(_ blocks: [PageBlock]) throws -> String {
        let path = "/tmp/sluice-pages-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: "\(path)/blocks", withIntermediateDirectories: true)
        // PostgreSQL runs as another user where the tests run as root.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        for (index, block) in blocks.enumerated() {
            try Data(block.text.utf8).write(to: URL(filePath: "\(path)/blocks/\(name(index, block))"))
        }
        return path
    }

    /// A network of its own, and processes that end with the command.
    private static let namespaces =
        ["/usr/bin/unshare"] + (NSUserName() == "root" ? [] : ["--map-current-user", "--keep-caps"])
        + ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]

    private static func requireNamespaces() async throws {
        let attempt = try RunningProcess(namespaces + ["/bin/true"], environment: [:])
        try Surroundings.require(
            await attempt.exitStatus() == 0, orElse: "unshare makes no network of its own here: \(attempt.errors)")
    }
}
