import Foundation
import Glibc
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// `sluice put`, `get`, `ls`, `rm` and `share` against a gateway and stores that verify signatures.
@Suite(.storeBenches) struct ObjectCommandTests {
    /// A directory with the files of one test, and the state of its commands.
    private final class Folder: Sendable {
        let path: String

        init() throws {
            path = "/tmp/sluice-objects-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ name: String, _ bytes: [UInt8]) throws -> String {
            let file = "\(path)/\(name)"
            try FileManager.default.createDirectory(
                atPath: URL(filePath: file).deletingLastPathComponent().path(), withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(filePath: file))
            return file
        }

        func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)"))) }

        var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

        /// Where commands keep what an interrupted transfer needs.
        var memory: String { "\(path)/state/sluice/transfers" }

        /// The one file there, and its members.
        func kept() throws -> (file: URL, members: [String: Any]) {
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: memory).first)
            let file = URL(filePath: "\(memory)/\(name)")
            let json = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
            return (file, try #require(json as? [String: Any]))
        }
    }

    private struct Run {
        let status: Int32
        let output: String
        let errors: String

        var json: JSON { (try? JSON(Array(output.utf8))) ?? .null }
    }

    /// Starts a command as the bench's user.
    private func start(_ bench: StoreBench, _ folder: Folder, _ command: [String]) throws -> RunningProcess {
        try RunningProcess(
            command,
            environment: [
                "SLUICE_URL": "http://127.0.0.1:\(bench.user.client.port)", "SLUICE_KEY": bench.user.client.token,
                "XDG_STATE_HOME": "\(folder.path)/state", "PATH": "\(folder.path)/bin:/usr/bin:/bin",
            ], folder: URL(filePath: folder.path))
    }

    private func run(_ bench: StoreBench, _ folder: Folder, _ arguments: [String]) async throws -> Run {
        let process = try start(bench, folder, [Program.path] + arguments)
        let run = Run(status: await process.exitStatus(), output: process.output, errors: process.errors)
        for text in [run.output, run.errors] { #expect(!text.contains(bench.user.client.token)) }
        if arguments.first != "share" { #expect(!(run.output + run.errors).contains("Signature")) }
        return run
    }

    private static func bytes(_ count: Int, seed: Int = 1) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761 &+ seed) >> 7) }
    }

    private static let mebibyte = 1 << 20

    @Test("a file goes up, is confirmed, comes down and is shared", arguments: StoreKind.allCases)
    func roundTrip(kind: StoreKind) async throws {
        let (bench, folder) = (try StoreBench.at(kind), try Folder())
        let key = bench.freshKey("a b+c%41 ü.png")
        let body = Self.bytes(100_000)
        _ = try folder.write("cat.png", body)
        let put = try await run(bench, folder, ["put", "cat.png", "\(bench.bucket)/\(key)", "--json"])
        try #require(put.status == 0, "\(put.errors)")
        #expect(put.json["state"] == "landed" && put.json["size"] == .number(body.count) && put.errors == "")
        let stored = try await bench.downloadLink(key).use()
        #expect(stored.body == body && stored["Content-Type"] == "image/png")

        let get = try await run(bench, folder, ["get", "\(bench.bucket)/\(key)", "down.png", "--json"])
        try #require(get.status == 0, "\(get.errors)")
        #expect(try folder.read("down.png") == body && get.json["checked"] == "md5")
        #expect(!folder.files.contains { $0.hasSuffix(".sluice-part") })
        let again = try await run(bench, folder, ["get", "\(bench.bucket)/\(key)", "down.png"])
        #expect(again.status == 1 && again.errors.contains("--force"))
        _ = try folder.write("down.png", Self.bytes(7))
        let forced = try await run(bench, folder, ["get", "--force", "\(bench.bucket)/\(key)", "down.png"])
        #expect(try forced.status == 0 && folder.read("down.png") == body, "\(forced.errors)")
        #expect(!folder.files.contains { $0.hasSuffix(".sluice-part") })
        // A directory is never replaced, whatever the key is called.
        let kept = try folder.write("there/down.png/kept", [1])
        let copy = bench.freshKey("down.png")
        #expect(try await run(bench, folder, ["put", "cat.png", "\(bench.bucket)/\(copy)"]).status == 0)
        let blocked = try await run(bench, folder, ["get", "\(bench.bucket)/\(copy)", "there", "--force"])
        #expect(blocked.status == 1 && FileManager.default.fileExists(atPath: kept), "\(blocked.errors)")
        let stream = try await run(bench, folder, ["get", "sluice://\(bench.bucket)/\(key)", "-"])
        #expect(stream.status == 0 && stream.errors == "")

        let share = try await run(
            bench, folder, ["share", "\(bench.bucket)/\(key)", "--expires", "10m", "--download", "Katze.png"])
        try #require(share.status == 0, "\(share.errors)")
        let url = share.output.split(separator: "\n").joined()
        bench.deployment.keepSecret(url)
        let shared = try await Link(["method": "GET", "url": "\(url)", "headers": [:]]).use()
        #expect(shared.body == body && shared["Content-Disposition"]?.contains("Katze.png") == true)
    }

    @Test("a file of several parts goes up, and an empty one too", arguments: StoreKind.allCases)
    func parts(kind: StoreKind) async throws {
        let (bench, folder) = (try StoreBench.at(kind), try Folder())
        let key = bench.freshKey("large.bin")
        let body = Self.bytes(11 * Self.mebibyte + 7)
        _ = try folder.write("large.bin", body)
        let put = try await run(
            bench, folder, ["put", "large.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--json"])
        try #require(put.status == 0, "\(put.errors)")
        #expect(put.json["parts"] == 3 && put.json["state"].text != nil)
        let get = try await run(bench, folder, ["get", "\(bench.bucket)/\(key)", "down.bin"])
        #expect(get.status == 0 && (try? folder.read("down.bin")) == body, "\(get.errors)")
        _ = try folder.write("empty", [])
        let empty = try await run(bench, folder, ["put", "empty", "\(bench.bucket)/\(bench.freshKey("empty"))"])
        #expect(empty.status == 0, "\(empty.errors)")
    }

    /// A bench whose store is behind a proxy.
    private func behind(
        _ fate: @escaping @Sendable (_ line: String, _ earlier: [String]) -> FaultyProxy.Fate,
        _ body: @Sendable (StoreBench, FaultyProxy) async throws -> Void
    ) async throws {
        _ = try StoreBench.at(.radosgw)
        let port = try RawURL(try #require(StoreKind.radosgw.value("ENDPOINT"))).port
        let proxy = try FaultyProxy(to: port, fate: fate)
        defer { proxy.close() }
        try await StoreBench.with(
            .radosgw, settings: ["SLUICE_OUTBOUND_ALLOW": proxy.origin], options: ["endpoint": "\(proxy.origin)"]
        ) { try await body($0, proxy) }
    }

    /// Lets some parts of an upload arrive, and holds the others until a file exists.
    private func holdingParts(
        after count: Int, until marker: String, _ body: @Sendable (StoreBench, FaultyProxy) async throws -> Void
    ) async throws {
        try await behind(
            { line, earlier in
                guard Self.isPart(line), !FileManager.default.fileExists(atPath: marker) else { return .pass }
                return earlier.count(where: Self.isPart) < count ? .pass : .hold
            }, body)
    }

    private static func isCreation(_ line: String) -> Bool { line.hasPrefix("PUT") && line.contains("if-none-match") }
    private static func isPart(_ line: String) -> Bool { line.hasPrefix("PUT") && line.contains("partNumber=") }
    private static func isSecondPart(_ line: String) -> Bool { isPart(line) && line.contains("partNumber=2") }

    @Test("an upload that was killed goes on where it was, and sends nothing twice", arguments: [SIGKILL, SIGINT])
    func interrupted(signal: Int32) async throws {
        // Of the first run, three parts pass. From the fourth on, the store is silent until the second run.
        let folder = try Folder()
        let marker = "\(folder.path)/goes-on"
        try await holdingParts(after: 3, until: marker) { bench, proxy in
            let key = bench.freshKey("large.bin")
            let body = Self.bytes(31 * Self.mebibyte)
            _ = try folder.write("large.bin", body)
            let arguments = [
                Program.path, "put", "large.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--parallel", "2",
            ]
            let first = try start(bench, folder, arguments)
            try await waitUntil("three parts are there", seconds: 30) {
                proxy.lines.count { Self.isPart($0) } >= 5
            }
            first.signal(signal)
            let status = await first.exitStatus()
            #expect(signal == SIGKILL || status == 130, "\(first.errors)")
            if signal == SIGINT {
                #expect(first.errors.contains("3 of 7 parts") && first.errors.contains("--abort"), "\(first.errors)")
            }
            _ = try folder.write("goes-on", [])
            let before = proxy.lines.count { Self.isPart($0) }
            let second = try await run(bench, folder, Array(arguments.dropFirst()) + ["--json"])
            try #require(second.status == 0, "\(second.errors)")
            #expect(proxy.lines.count { Self.isPart($0) } - before == 4, "three of seven parts were there")
            #expect(try await bench.downloadLink(key).use().body == body)
            let uploads = "SELECT count(*) FROM multipart_uploads WHERE bucket = '\(bench.bucket)'"
            #expect(try await bench.deployment.number(uploads) == 1)
        }
    }

    @Test("an upload that is interrupted while the gateway asks the store is complete", arguments: [1, 6])
    func interruptedConfirmation(mebibytes: Int) async throws {
        let folder = try Folder()
        try await behind { line, _ in
            line.hasPrefix("HEAD") ? .hold : .pass
        } _: { bench, proxy in
            let (key, body) = (bench.freshKey("done.bin"), Self.bytes(mebibytes * Self.mebibyte))
            _ = try folder.write("done.bin", body)
            let put = try start(
                bench, folder, [Program.path, "put", "done.bin", "\(bench.bucket)/\(key)", "--part-size", "5M"])
            try await waitUntil("the gateway asks the store", seconds: 30) {
                proxy.lines.contains { $0.hasPrefix("HEAD") }
            }
            put.signal(SIGINT)
            #expect(await put.exitStatus() == 0, "\(put.errors)")
            #expect(put.errors.contains("could not confirm") && !put.errors.contains("Interrupted"), "\(put.errors)")
            #expect(try await bench.downloadLink(key).use().body == body)
            // Another run is another upload: nothing was left to go on with.
            let kept = (try? FileManager.default.subpathsOfDirectory(atPath: "\(folder.path)/state")) ?? []
            #expect(!kept.contains { $0.hasSuffix(".json") }, "\(kept)")
        }
    }

    @Test func `an upload does not go on with another content of the same length and time`() async throws {
        let folder = try Folder()
        let marker = "\(folder.path)/goes-on"
        try await holdingParts(after: 1, until: marker) { bench, proxy in
            let key = bench.freshKey("same.bin")
            let arguments = ["put", "same.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--parallel", "1"]
            let time = Date(timeIntervalSince1970: 1_700_000_000)
            let file = try folder.write("same.bin", Self.bytes(11 * Self.mebibyte))
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file)
            let first = try start(bench, folder, [Program.path] + arguments)
            try await waitUntil("a part is held", seconds: 30) { proxy.lines.count { Self.isPart($0) } >= 2 }
            first.signal(SIGINT)
            #expect(await first.exitStatus() == 130, "\(first.errors)")
            let body = Self.bytes(11 * Self.mebibyte, seed: 99)
            _ = try folder.write("same.bin", body)
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file)
            _ = try folder.write("goes-on", [])
            let second = try await run(bench, folder, arguments)
            #expect(second.status == 0, "\(second.errors)")
            #expect(try await bench.downloadLink(key).use().body == body)
        }
    }

    @Test func `an interrupted upload of standard input leaves nothing, and does not promise to go on`() async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            Self.isPart(line) && earlier.contains(where: Self.isPart) ? .hold : .pass
        } _: { bench, proxy in
            let target = "\(bench.bucket)/\(bench.freshKey("piped.bin"))"
            _ = try folder.write("large.bin", Self.bytes(11 * Self.mebibyte))
            let put = try start(
                bench, folder,
                ["/bin/sh", "-c", "exec \"$0\" put - \"$1\" --part-size 5M < large.bin", Program.path, target])
            try await waitUntil("a part is held", seconds: 30) { proxy.lines.count { Self.isPart($0) } >= 2 }
            put.signal(SIGINT)
            #expect(await put.exitStatus() == 130, "\(put.errors)")
            #expect(put.errors.contains("Standard input is not kept"), "\(put.errors)")
            #expect(!put.errors.contains("--abort") && !put.errors.contains("same command"), "\(put.errors)")
            let states = try await bench.deployment.session().texts("SELECT state FROM multipart_uploads")
            #expect(states == ["aborted"])
            let kept = try FileManager.default.subpathsOfDirectory(atPath: "\(folder.path)/state")
            #expect(!kept.contains { $0.hasSuffix(".json") }, "\(kept)")
        }
    }

    @Test func `an interrupted upload that cannot be kept in mind does not promise to go on`() async throws {
        let folder = try Folder()
        try await behind { line, _ in
            Self.isPart(line) ? .hold : .pass
        } _: { bench, proxy in
            let target = "\(bench.bucket)/\(bench.freshKey("large.bin"))"
            _ = try folder.write("large.bin", Self.bytes(11 * Self.mebibyte))
            let put = try start(
                bench, folder,
                [
                    "/usr/bin/env", "XDG_STATE_HOME=/proc/nothing", Program.path, "put", "large.bin", target,
                    "--part-size", "5M",
                ])
            try await waitUntil("a part is held", seconds: 30) { proxy.lines.contains { Self.isPart($0) } }
            put.signal(SIGINT)
            #expect(await put.exitStatus() == 130, "\(put.errors)")
            let ids = try await bench.deployment.session().texts("SELECT id::text FROM multipart_uploads")
            let id = try #require(ids.first)
            #expect(put.errors.contains("'sluice admin multipart-uploads delete \(id)'"), "\(put.errors)")
            #expect(!put.errors.contains("--abort") && !put.errors.contains("to go on"), "\(put.errors)")
        }
    }

    @Test func `the copy of standard input has no name, and waiting for more of it ends at once`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        // A pipe that has some bytes and does not end.
        let script = """
            mkdir tmp && mkfifo input && exec 3<>input && echo hello >&3 &&
                exec env TMPDIR="$PWD/tmp" "$0" put - "$1" <&3
            """
        let target = "\(bench.bucket)/\(bench.freshKey("piped.txt"))"
        let put = try start(bench, folder, ["/bin/sh", "-c", script, Program.path, target])
        let open = "/proc/\(put.processID)/fd"
        let files = FileManager.default
        try await waitUntil("the input is copied", seconds: 30) {
            let numbers = (try? files.contentsOfDirectory(atPath: open)) ?? []
            let names = numbers.compactMap { try? files.destinationOfSymbolicLink(atPath: "\(open)/\($0)") }
            return names.contains { $0.hasPrefix("\(folder.path)/tmp/sluice-put-") && $0.hasSuffix(" (deleted)") }
        }
        #expect(try files.contentsOfDirectory(atPath: "\(folder.path)/tmp") == [])
        put.signal(SIGINT)
        #expect(await put.exitStatus() == 130, "\(put.errors)")
        #expect(put.errors.contains("Nothing was sent"), "\(put.errors)")
    }

    @Test func `an interrupted upload is given up, and its parts are removed`() async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            Self.isPart(line) && earlier.contains(where: Self.isPart) ? .hold : .pass
        } _: { bench, proxy in
            let target = "\(bench.bucket)/\(bench.freshKey("large.bin"))"
            _ = try folder.write("large.bin", Self.bytes(11 * Self.mebibyte))
            let first = try start(bench, folder, [Program.path, "put", "large.bin", target, "--part-size", "5M"])
            try await waitUntil("a part is held", seconds: 30) { proxy.lines.count { Self.isPart($0) } >= 2 }
            first.signal(SIGKILL)
            _ = await first.exitStatus()
            // To give it up, the file is not needed any more.
            try FileManager.default.removeItem(atPath: "\(folder.path)/large.bin")
            let aborted = try await run(bench, folder, ["put", "large.bin", target, "--abort"])
            #expect(aborted.status == 0 && aborted.output.contains("aborted"), "\(aborted.errors)")
            let states = try await bench.deployment.session().texts("SELECT state FROM multipart_uploads")
            #expect(states == ["aborted"])
            let again = try await run(bench, folder, ["put", "large.bin", target, "--abort"])
            #expect(again.status == 0 && again.output.contains("no interrupted upload"))
        }
    }

    /// What happens to the file or its options between two runs.
    enum Change: String, CaseIterable {
        case nothing, bytes, length, type
        /// The parts are now longer than the file.
        case partSize
    }

    /// The upload that was killed is taken up only where nothing changed; otherwise nothing is left of it at the store.
    @Test("the run after an interrupted upload", arguments: Change.allCases, ["", "--restart", "--abort"])
    func nextRun(change: Change, option: String) async throws {
        let folder = try Folder()
        let marker = "\(folder.path)/goes-on"
        try await holdingParts(after: 1, until: marker) { bench, proxy in
            let key = bench.freshKey("next.bin")
            var arguments = ["put", "next.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--parallel", "1"]
            var body = Self.bytes(6 * Self.mebibyte)
            _ = try folder.write("next.bin", body)
            let first = try start(bench, folder, [Program.path] + arguments)
            try await waitUntil("a part is held", seconds: 30) { proxy.lines.count { Self.isPart($0) } >= 2 }
            first.signal(SIGKILL)
            _ = await first.exitStatus()
            switch change {
            case .nothing: break
            case .bytes: body = Self.bytes(6 * Self.mebibyte, seed: 99)
            case .length: body = Self.bytes(1000)
            case .type: arguments += ["--content-type", "image/png"]
            case .partSize: arguments = arguments.map { $0 == "5M" ? "16M" : $0 }
            }
            if change == .bytes || change == .length { _ = try folder.write("next.bin", body) }
            if !option.isEmpty { arguments.append(option) }
            _ = try folder.write("goes-on", [])
            let second = try await run(bench, folder, arguments)
            #expect(second.status == 0, "\(second.errors)")

            let states = try await bench.deployment.session().texts(
                "SELECT state FROM multipart_uploads WHERE object_key = '\(key)' ORDER BY created_at")
            switch (change, option) {
            case (_, "--abort"): #expect(states == ["aborted"])
            case (.length, _), (.partSize, _): #expect(states == ["aborted"])
            case (.nothing, ""): #expect(states == ["completed"])
            default: #expect(states == ["aborted", "completed"])
            }
            if option != "--abort" { #expect(try await bench.downloadLink(key).use().body == body) }
            let again = try await run(bench, folder, ["put", "next.bin", "\(bench.bucket)/\(key)", "--abort"])
            #expect(again.output.contains("no interrupted upload"), "\(again.output)")
        }
    }

    @Test func `a store that fails for a while is asked again; a link that it refuses is renewed once`() async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            guard line.hasPrefix("PUT"), let name = line.split(separator: "?").first else { return .pass }
            let before = earlier.count { $0.hasPrefix(name) }
            if name.hasSuffix("failing.bin"), before < 2 { return .answer(503) }
            if name.hasSuffix("expired.bin"), before < 1 { return .answer(403) }
            return name.hasSuffix("refused.bin") ? .answer(403) : .pass
        } _: { bench, proxy in
            for (name, status, attempts, links) in [
                ("failing.bin", 0, 3, 1), ("expired.bin", 0, 2, 2), ("refused.bin", 3, 2, 2),
            ] {
                let key = bench.freshKey(name)
                _ = try folder.write(name, Self.bytes(1000))
                let put = try await run(bench, folder, ["put", name, "\(bench.bucket)/\(key)"])
                #expect(put.status == status, "\(name): \(put.errors)")
                #expect(proxy.lines.count { $0.contains(name) && $0.hasPrefix("PUT") } == attempts, "\(name)")
                let issued = "SELECT count(*) FROM issuances WHERE object_key = '\(key)' AND method = 'PUT'"
                #expect(try await bench.deployment.number(issued) == links, "\(name)")
            }
        }
    }

    @Test func `a store that fails at the start of an upload in parts is asked again`() async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            let isStart = line.hasPrefix("POST") && line.contains("uploads")
            return isStart && !earlier.contains { $0.hasPrefix("POST") } ? .answer(503) : .pass
        } _: { bench, proxy in
            let key = bench.freshKey("large.bin")
            let body = Self.bytes(6 * Self.mebibyte)
            _ = try folder.write("large.bin", body)
            let put = try await run(bench, folder, ["put", "large.bin", "\(bench.bucket)/\(key)", "--part-size", "5M"])
            #expect(put.status == 0, "\(put.errors)")
            #expect(try await bench.downloadLink(key).use().body == body)
        }
    }

    /// How the answer to a creation gets lost, and in whose words the next one says that the object exists.
    enum LostCreation: CaseIterable {
        case cut, hidden, hiddenAtOSS

        var status: String { self == .hiddenAtOSS ? "409" : "412" }

        func fate(isFirst: Bool) -> FaultyProxy.Fate {
            switch (self, isFirst) {
            case (.cut, true): .cutAnswer(0)
            case (_, true): .hideAnswer(504)
            case (.hiddenAtOSS, false): .answer(409, body: "<Error><Code>FileAlreadyExists</Code></Error>")
            case (_, false): .pass
            }
        }
    }

    /// The first answer for each key is lost, or a proxy before the store did not wait for it.
    @Test(arguments: LostCreation.allCases)
    func `an object that was created although the answer was lost is known as one's own`(
        lost: LostCreation
    ) async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            guard Self.isCreation(line) else { return .pass }
            let key = line.prefix { $0 != "?" }
            return lost.fate(isFirst: !earlier.contains { Self.isCreation($0) && $0.hasPrefix(key) })
        } _: { bench, proxy in
            for (name, exists, status) in [("mine.bin", false, 0), ("other.bin", true, 5)] as [(String, Bool, Int32)] {
                let (key, body) = (bench.freshKey(name), Self.bytes(1000))
                // Of the same size, so that only the link tells them apart.
                let other = [UInt8](body.reversed())
                if exists { #expect(try await bench.uploadLink(key, for: other).use(other).status == 200) }
                _ = try folder.write(name, body)
                let put = try await run(bench, folder, ["put", name, "\(bench.bucket)/\(key)", "--create-only"])
                #expect(put.status == status, "\(name): \(put.status) \(put.errors)")
                #expect(status == 0 || put.errors.contains(lost.status), "\(put.errors)")
                #expect(proxy.lines.count { Self.isCreation($0) && $0.contains(name) } == 2, "\(name)")
            }
        }
    }

    /// What became of an upload whose completion had no answer, before the next run.
    enum Unanswered: CaseIterable {
        /// Nothing.
        case recent
        /// The object was deleted hours later.
        case deleted
        /// The run was killed before it had kept the tag of each part.
        case tagLost
    }

    @Test(arguments: Unanswered.allCases)
    func `an upload whose completion had no answer is done, unless that was long ago or cannot be known`(
        unanswered: Unanswered
    ) async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let proxy = try FaultyProxy(to: bench.user.client.port) { line, earlier in
            let isFirst = line.contains(":complete ") && !earlier.contains { $0.contains(":complete ") }
            return isFirst ? .hideAnswer(504) : .pass
        }
        defer { proxy.close() }
        let (key, body) = (bench.freshKey("unanswered.bin"), Self.bytes(6 * Self.mebibyte))
        _ = try folder.write("unanswered.bin", body)
        let arguments = [
            "put", "unanswered.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--url", proxy.origin, "--retries",
            "0",
        ]
        let first = try await run(bench, folder, arguments)
        #expect(first.status == 6, "\(first.errors)")
        let state = try folder.kept()
        var kept = state.members
        switch unanswered {
        case .recent: break
        case .deleted:
            let time = try #require(kept["completing"] as? Double)
            kept["completing"] = time - 7200
            #expect(try await bench.asOwner("DELETE", key).status == 204)
        case .tagLost: kept["tags"] = ["1": try #require((kept["tags"] as? [String: String])?["1"])]
        }
        try JSONSerialization.data(withJSONObject: kept).write(to: state.file)
        let links = proxy.lines.count { $0.contains("/parts ") }
        let second = try await run(bench, folder, arguments)
        #expect(second.status == 0, "\(second.errors)")
        #expect(try await bench.downloadLink(key).use().body == body)
        #expect((proxy.lines.count { $0.contains("/parts ") } == links) == (unanswered == .recent))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.memory) == [])
    }

    /// What became of a part that the store had taken.
    enum LostPart: CaseIterable {
        case replaced, gone
    }

    @Test(arguments: LostPart.allCases, [true, false])
    func `a part that the store no longer has is sent again by the next run`(
        lost: LostPart, hasAllTags: Bool
    ) async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            let isTaken = lost == .replaced || !Self.isSecondPart(line) || earlier.contains(where: Self.isSecondPart)
            return isTaken ? .pass : .answer(200, fields: ["ETag": "\"\(String(repeating: "0", count: 32))\""])
        } _: { bench, store in
            // The second part is replaced before anything is completed.
            let gateway = try FaultyProxy(to: bench.user.client.port) { line, earlier in
                let isFirst = line.contains(":complete ") && !earlier.contains { $0.contains(":complete ") }
                return isFirst && lost == .replaced ? .answer(503) : .pass
            }
            defer { gateway.close() }
            let (key, body) = (bench.freshKey("lost.bin"), Self.bytes(6 * Self.mebibyte))
            _ = try folder.write("lost.bin", body)
            let arguments = [
                "put", "lost.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--url", gateway.origin, "--retries",
                "0",
            ]
            let first = try await run(bench, folder, arguments)
            #expect(first.status == (lost == .replaced ? 6 : 2), "\(first.errors)")
            let state = try folder.kept()
            var kept = state.members
            let tags = try #require(kept["tags"] as? [String: String])
            #expect(tags.count == 2)
            if !hasAllTags {
                kept["tags"] = ["2": try #require(tags["2"])]
                try JSONSerialization.data(withJSONObject: kept).write(to: state.file)
            }
            if lost == .replaced {
                let other = Self.bytes(Self.mebibyte, seed: 99)
                let id = try #require(kept["id"] as? String)
                let links = try await bench.user.client.call(
                    "POST", "/v1/multipart-uploads/\(id)/parts",
                    ["parts": [["partNumber": 2, "contentLength": .number(other.count)]]])
                let result = try #require(links.json["results"].items.first, "\(links.text)")
                bench.deployment.keepSecret(try #require(result["url"].text))
                #expect(try await Link(result).use(other).status == 200)
            }
            let before = store.lines.count(where: Self.isPart)
            let second = try await run(bench, folder, arguments)
            #expect(second.status == 0, "\(second.errors)")
            #expect(store.lines.count(where: Self.isPart) - before == 1, "the first part was there")
            #expect(try await bench.downloadLink(key).use().body == body)
        }
    }

    @Test func `an upload that turns out to be completed is not given up, and is over`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let proxy = try FaultyProxy(to: bench.user.client.port) { line, _ in
            line.contains(":complete ") ? .hideAnswer(504) : .pass
        }
        defer { proxy.close() }
        let key = bench.freshKey("over.bin")
        _ = try folder.write("over.bin", Self.bytes(6 * Self.mebibyte))
        let arguments = [
            "put", "over.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--url", proxy.origin, "--retries", "0",
        ]
        let put = try await run(bench, folder, arguments)
        #expect(put.status == 6, "\(put.errors)")
        let abort = try await run(bench, folder, arguments + ["--abort", "--json"])
        #expect(abort.status == 0 && abort.json["key"].text == key, "\(abort.errors)")
        #expect(abort.json["aborted"] == false && abort.json["completed"] == true, "\(abort.output)")
        let again = try await run(bench, folder, arguments + ["--abort"])
        #expect(again.status == 0 && again.output.contains("no interrupted upload"), "\(again.output)")
    }

    @Test func `a conflict of two writers is no answer that was lost, and is tried again`() async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            guard Self.isCreation(line), !earlier.contains(where: Self.isCreation) else { return .pass }
            return .answer(409, body: "<Error><Code>ConditionalRequestConflict</Code></Error>")
        } _: { bench, proxy in
            let (key, body) = (bench.freshKey("contested.bin"), Self.bytes(1000))
            _ = try folder.write("contested.bin", body)
            let put = try await run(
                bench, folder, ["put", "contested.bin", "\(bench.bucket)/\(key)", "--create-only"])
            #expect(put.status == 0, "\(put.errors)")
            #expect(try await bench.downloadLink(key).use().body == body)
            #expect(proxy.lines.count(where: Self.isCreation) == 2)
        }
    }

    @Test func `what an answer that is gone had told is asked for once more`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let gone = #"{"status":409,"code":"IdempotentAnswerGone"}"#
        for (times, status) in [(1, 0), (2, 5)] as [(Int, Int32)] {
            let proxy = try FaultyProxy(to: bench.user.client.port) { _, earlier in
                earlier.count < times ? .answer(409, body: gone) : .pass
            }
            defer { proxy.close() }
            let share = try await run(
                bench, folder, ["share", "\(bench.bucket)/x", "--url", proxy.origin, "--retries", "0", "--json"])
            if let url = share.json["url"].text { bench.deployment.keepSecret(url) }
            #expect(share.status == status && proxy.lines.count == 2, "\(share.errors)")
        }
    }

    /// A proxy before the gateway drops `Retry-After`.
    @Test(arguments: [true, false]) func `a single link waits for a quota that opens soon`(opens: Bool) async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let quota = opens ? #"{"resetsIn":1}"# : "{}"
        let proxy = try FaultyProxy(to: bench.user.client.port) { _, earlier in
            earlier.isEmpty ? .answer(429, body: #"{"status":429,"code":"QuotaExceeded","quota":\#(quota)}"#) : .pass
        }
        defer { proxy.close() }
        _ = try folder.write("single.bin", Self.bytes(1000))
        let target = "\(bench.bucket)/\(bench.freshKey("single.bin"))"
        let put = try await run(bench, folder, ["put", "single.bin", target, "--url", proxy.origin])
        #expect(put.status == (opens ? 0 : 6), "\(put.status) \(put.errors)")
    }

    /// A part whose link is refused for a moment waits, as a single link does.
    @Test(arguments: [true, false]) func `a part waits for a quota that opens soon`(opens: Bool) async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let reset = opens ? #","quota":{"resetsIn":1}"# : ""
        let refusal = #"{"status":429,"code":"QuotaExceeded"\#(reset)}"#
        let proxy = try FaultyProxy(to: bench.user.client.port) { line, earlier in
            let isFirst = line.contains("/parts ") && !earlier.contains { $0.contains("/parts ") }
            return isFirst ? .answer(200, body: #"{"results":[\#(refusal),\#(refusal)]}"#) : .pass
        }
        defer { proxy.close() }
        let key = bench.freshKey("patient.bin")
        let body = Self.bytes(6 * Self.mebibyte)
        _ = try folder.write("patient.bin", body)
        let put = try await run(
            bench, folder, ["put", "patient.bin", "\(bench.bucket)/\(key)", "--part-size", "5M", "--url", proxy.origin])
        #expect(put.status == (opens ? 0 : 6), "\(put.status) \(put.errors)")
        guard opens else { return }
        #expect(try await bench.downloadLink(key).use().body == body)
        #expect(proxy.lines.count { $0.hasPrefix("POST") && $0.contains("/parts ") } == 2)
    }

    @Test func `a store that keeps nothing, and a file that changes meanwhile, are found out`() async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            guard line.hasPrefix("PUT") else { return .pass }
            if line.contains("lost.bin") { return .answer(200) }
            if line.contains("changing.bin"), let file = FileHandle(forWritingAtPath: "\(folder.path)/changing.bin") {
                _ = try? file.seekToEnd()
                try? file.write(contentsOf: Data("more".utf8))
            }
            return .pass
        } _: { bench, proxy in
            for (name, status, text) in [
                ("lost.bin", 8, "not what was sent"), ("changing.bin", 1, "changed while it was uploaded"),
            ] as [(String, Int32, String)] {
                _ = try folder.write(name, Self.bytes(1000))
                let put = try await run(bench, folder, ["put", name, "\(bench.bucket)/\(bench.freshKey(name))"])
                #expect(put.status == status && put.errors.contains(text), "\(name): \(put.status) \(put.errors)")
                #expect(proxy.lines.count { $0.contains(name) && $0.hasPrefix("PUT") } == 1, "\(name)")
            }
        }
    }

    @Test func `a file that changes before its turn is sent as it is then`() async throws {
        let folder = try Folder()
        try await behind { line, _ in
            if line.hasPrefix("PUT"), line.contains("first.bin"),
                let file = FileHandle(forWritingAtPath: "\(folder.path)/second.bin")
            {
                _ = try? file.seekToEnd()
                try? file.write(contentsOf: Data("more".utf8))
            }
            return .pass
        } _: { bench, _ in
            for name in ["first.bin", "second.bin"] { _ = try folder.write(name, Self.bytes(1000)) }
            let place = bench.freshKey("")
            let put = try await run(bench, folder, ["put", "first.bin", "second.bin", "\(bench.bucket)/\(place)"])
            #expect(put.status == 0, "\(put.errors)")
            let stored = try await bench.downloadLink(place + "second.bin").use().body
            #expect(stored == Self.bytes(1000) + Array("more".utf8))
        }
    }

    @Test func `an upload in parts of a file that changes meanwhile is aborted`() async throws {
        let folder = try Folder()
        try await behind { line, _ in
            if Self.isPart(line), let file = FileHandle(forWritingAtPath: "\(folder.path)/changing.bin") {
                _ = try? file.seekToEnd()
                try? file.write(contentsOf: Data("more".utf8))
            }
            return .pass
        } _: { bench, proxy in
            _ = try folder.write("changing.bin", Self.bytes(11 * Self.mebibyte))
            let target = "\(bench.bucket)/\(bench.freshKey("changing.bin"))"
            let put = try await run(bench, folder, ["put", "changing.bin", target, "--part-size", "5M"])
            #expect(put.status == 1 && put.errors.contains("changed while it was uploaded"), "\(put.errors)")
            let states = try await bench.deployment.session().texts("SELECT state FROM multipart_uploads")
            #expect(states == ["aborted"])
        }
    }

    @Test func `a download that is cut off goes on with a range, in one run and in two`() async throws {
        let folder = try Folder()
        let marker = "\(folder.path)/goes-on"
        try await behind { line, earlier in
            guard line.hasPrefix("GET"), let name = line.split(separator: "?").first else { return .pass }
            if name.hasSuffix("twice.bin"), !FileManager.default.fileExists(atPath: marker) {
                return .cutAnswer(300_000)
            }
            return earlier.contains { $0.hasPrefix(name) } ? .pass : .cutAnswer(300_000)
        } _: { bench, proxy in
            let body = Self.bytes(1_000_000)
            for name in ["once.bin", "twice.bin"] {
                let key = bench.freshKey(name)
                #expect(try await bench.uploadLink(key, for: body).use(body).status == 200)
                let arguments = ["get", "\(bench.bucket)/\(key)", name, "--retries", name == "once.bin" ? "3" : "0"]
                let first = try await run(bench, folder, arguments)
                if name == "twice.bin" {
                    #expect(first.status == 7 && !folder.files.contains(name), "\(first.errors)")
                    let part = try folder.read("\(name).sluice-part")
                    #expect(!part.isEmpty && part.count < body.count && part == Array(body.prefix(part.count)))
                    _ = try folder.write("goes-on", [])
                    let second = try await run(bench, folder, arguments)
                    #expect(second.status == 0, "\(second.errors)")
                } else {
                    #expect(first.status == 0, "\(first.errors)")
                }
                #expect(try folder.read(name) == body)
                #expect(proxy.lines.count { $0.contains(name) && $0.hasPrefix("GET") } == 2, "\(name)")
            }
            // Another object under the same key: the beginning of the old one is dropped.
            let key = bench.freshKey("changed.bin")
            #expect(try await bench.uploadLink(key, for: body).use(body).status == 200)
            let cut = try await run(bench, folder, ["get", "\(bench.bucket)/\(key)", "changed.bin", "--retries", "0"])
            #expect(cut.status == 7)
            let other = Self.bytes(1_000_000, seed: 99)
            #expect(try await bench.uploadLink(key, for: other).use(other).status == 200)
            let whole = try await run(bench, folder, ["get", "\(bench.bucket)/\(key)", "changed.bin"])
            #expect(whole.status == 0 && (try? folder.read("changed.bin")) == other, "\(whole.errors)")
        }
    }

    private static func isDownload(_ line: String, of name: String) -> Bool {
        line.hasPrefix("GET") && line.contains(name)
    }

    @Test func `two downloads do not write to one file`() async throws {
        let folder = try Folder()
        let marker = "\(folder.path)/goes-on"
        // The first download gets a part of the object, and nothing of the rest.
        try await behind { line, earlier in
            guard Self.isDownload(line, of: "busy.bin"), !FileManager.default.fileExists(atPath: marker) else {
                return .pass
            }
            return earlier.contains { Self.isDownload($0, of: "busy.bin") } ? .hold : .cutAnswer(300_000)
        } _: { bench, proxy in
            let (key, body) = (bench.freshKey("busy.bin"), Self.bytes(1_000_000))
            #expect(try await bench.uploadLink(key, for: body).use(body).status == 200)
            let arguments = ["get", "\(bench.bucket)/\(key)", "busy.bin"]
            let first = try start(bench, folder, [Program.path] + arguments)
            try await waitUntil("the first download waits for the rest", seconds: 30) {
                proxy.lines.count { Self.isDownload($0, of: "busy.bin") } == 2
            }
            let part = try folder.read("busy.bin.sluice-part")
            _ = try folder.write("goes-on", [])
            let second = try await run(bench, folder, arguments + ["--force"])
            #expect(second.status == 1 && second.errors.contains("Another download writes to this file."))
            #expect(!folder.files.contains("busy.bin") && !part.isEmpty)
            #expect(try folder.read("busy.bin.sluice-part") == part)
            first.signal(SIGINT)
            #expect(await first.exitStatus() == 130, "\(first.errors)")
            let third = try await run(bench, folder, arguments)
            #expect(try third.status == 0 && folder.read("busy.bin") == body, "\(third.errors)")
            #expect(!folder.files.contains("busy.bin.sluice-part"))
        }
    }

    @Test func `a download does not go on with the beginning of another object`() async throws {
        let folder = try Folder()
        let marker = "\(folder.path)/goes-on"
        try await behind { line, _ in
            let isCut = Self.isDownload(line, of: "turn.bin") && !FileManager.default.fileExists(atPath: marker)
            return isCut ? .cutAnswer(300_000) : .pass
        } _: { bench, proxy in
            let (first, second) = (bench.freshKey("first-turn.bin"), bench.freshKey("second-turn.bin"))
            let body = Self.bytes(1_000_000)
            let other = Self.bytes(1_000_000, seed: 99)
            #expect(try await bench.uploadLink(first, for: body).use(body).status == 200)
            #expect(try await bench.uploadLink(second, for: other).use(other).status == 200)
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder.path)/link", withDestinationPath: folder.path)
            // Each way to name the file is a way to the same beginning.
            for (name, last) in [("out.bin", "out.bin"), ("link/out.bin", "out.bin"), ("out.bin", "link/out.bin")] {
                try? FileManager.default.removeItem(atPath: marker)
                for (key, file) in [(first, last), (second, name)] {
                    let cut = try await run(
                        bench, folder, ["get", "\(bench.bucket)/\(key)", file, "--retries", "0", "--force"])
                    #expect(cut.status == 7, "\(cut.errors)")
                }
                _ = try folder.write("goes-on", [])
                let whole = try await run(bench, folder, ["get", "\(bench.bucket)/\(first)", last, "--force"])
                #expect(try whole.status == 0 && folder.read("out.bin") == body, "\(whole.errors)")
            }
        }
    }

    @Test func `what appears under the name of a download is replaced only by force, and a directory never`()
        async throws
    {
        let folder = try Folder()
        // Something appears while the store is asked.
        try await behind { line, _ in
            if Self.isDownload(line, of: "late.bin"), !folder.files.contains("late.bin") {
                _ = try? folder.write("late.bin", [1, 2, 3])
            }
            if Self.isDownload(line, of: "place.bin") { _ = try? folder.write("place.bin/kept", [1]) }
            return .pass
        } _: { bench, proxy in
            let body = Self.bytes(100_000)
            let (file, place) = (bench.freshKey("late.bin"), bench.freshKey("place.bin"))
            for key in [file, place] { #expect(try await bench.uploadLink(key, for: body).use(body).status == 200) }
            let late = try await run(bench, folder, ["get", "\(bench.bucket)/\(file)", "late.bin"])
            #expect(late.status == 1 && late.errors.contains("exists now"), "\(late.errors)")
            #expect(try folder.read("late.bin") == [1, 2, 3] && folder.read("late.bin.sluice-part") == body)
            // All of it is there: with one attempt, the store is asked for the last byte alone.
            let forced = try await run(
                bench, folder, ["get", "\(bench.bucket)/\(file)", "late.bin", "--force", "--retries", "0"])
            #expect(try forced.status == 0 && folder.read("late.bin") == body, "\(forced.errors)")
            #expect(forced.output.contains("md5 agrees"), "\(forced.output)")
            #expect(proxy.lines.count { Self.isDownload($0, of: "late.bin") } == 2)
            #expect(!folder.files.contains("late.bin.sluice-part"))
            let blocked = try await run(bench, folder, ["get", "\(bench.bucket)/\(place)", "place.bin", "--force"])
            #expect(try blocked.status == 1 && folder.read("place.bin/kept") == [1], "\(blocked.errors)")
        }
    }

    @Test func `names of files are those of the system, whatever a key is called`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        _ = try folder.write("a/sub/x", [0])
        let (there, here) = (Self.bytes(10), Self.bytes(20))
        _ = try folder.write("a/f", there)
        _ = try folder.write("f", here)
        try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/link", withDestinationPath: "a/sub")
        for name in ["~", "~root"] {
            let target = "\(bench.bucket)/\(bench.freshKey(name))"
            let put = try await run(bench, folder, ["put", "link/../f", target])
            #expect(put.status == 0, "\(put.errors)")
            let get = try await run(bench, folder, ["get", target])
            #expect(try get.status == 0 && folder.read(name) == there, "\(get.errors)")
            let back = try await run(bench, folder, ["put", name, target])
            #expect(back.status == 0, "\(back.errors)")
            let forced = try await run(bench, folder, ["get", "--force", target, "link/../f"])
            #expect(try forced.status == 0 && folder.read("a/f") == there && folder.read("f") == here)
        }
    }

    @Test func `what was asked for and cannot be written is a failure`() async throws {
        let (bench, place) = try await keeper(.radosgw)
        let folder = try Folder()
        try await upload([place + "a"], to: bench)
        _ = try folder.write("a.txt", [1])
        let (address, object) = ("\(bench.bucket)/\(place)", "\(bench.bucket)/\(place)a")
        for arguments in [
            ["ls", address], ["ls", "-r", address, "--json"], ["share", object], ["share", object, "--json"],
            ["get", object, "b.txt"], ["put", "a.txt", address, "--json"], ["rm", "--yes", object],
        ] {
            let process = try start(
                bench, folder, ["/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/full", Program.path] + arguments)
            #expect(await process.exitStatus() == 1, "\(arguments)")
            #expect(process.errors.contains("Standard output cannot be written"), "\(process.errors)")
        }
    }

    @Test func `directories, several files and standard input go up`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let place = bench.freshKey("")
        for name in ["album/a.txt", "album/b/c.txt", "d.txt"] { _ = try folder.write(name, Array(name.utf8)) }
        let put = try await run(
            bench, folder, ["put", "--recursive", "album", "d.txt", "\(bench.bucket)/\(place)", "--quiet"])
        #expect(put.status == 0 && put.output == "", "\(put.errors)")
        for (key, text) in [("a.txt", "album/a.txt"), ("b/c.txt", "album/b/c.txt"), ("d.txt", "d.txt")] {
            #expect(try await bench.downloadLink(place + key).use().text == text)
        }
        let shell = try start(
            bench, folder,
            [
                "/bin/sh", "-c", "printf hello | \"$0\" put - \"$1\"", Program.path,
                "\(bench.bucket)/\(place)piped.txt",
            ])
        #expect(await shell.exitStatus() == 0, "\(shell.errors)")
        #expect(try await bench.downloadLink(place + "piped.txt").use().text == "hello")
    }

    @Test func `a terminal gets a bar, and a QR code whose text no other user can see`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let key = bench.freshKey("x.bin")
        _ = try folder.write("x.bin", Self.bytes(3 * Self.mebibyte))
        // Runs a command on a terminal of its own.
        let terminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
        let put = try start(
            bench, folder,
            ["/usr/bin/python3", "-c", terminal, Program.path, "put", "x.bin", "\(bench.bucket)/\(key)"])
        #expect(await put.exitStatus() == 0, "\(put.output)")
        #expect(put.output.contains("100 %") && put.output.contains("3.0 MiB of 3.0 MiB"), "\(put.output)")
        let drawer = try folder.write(
            "bin/qrencode", Array("#!/bin/sh\necho \"arguments: $*\"\necho \"drawn: $(cat)\"\n".utf8))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: drawer)
        let share = try await run(bench, folder, ["share", "\(bench.bucket)/\(key)", "--qr"])
        let lines = share.output.split(separator: "\n")
        try #require(share.status == 0 && lines.count == 3, "\(share.errors)")
        bench.deployment.keepSecret(String(lines[0]))
        #expect(lines[1].hasPrefix("arguments: ") && !lines[1].contains("http"))
        #expect(lines[2] == "drawn: \(lines[0])")
    }

    @Test func `each kind of failure has its exit status and says why`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        _ = try folder.write("x.txt", [1])
        let place = "\(bench.bucket)/\(bench.freshKey(""))"
        let runs: [([String], Int32, String)] = [
            (["get", place + "missing"], 4, "NoSuchKey"),
            (["put", "missing.txt", place], 1, "does not exist"),
            (["put", "x.txt", "no-such-bucket/x"], 3, "AccessDenied (403)"),
            (["put", "x.txt", place + "a//b"], 2, "InvalidArgument (400)"),
            (["share", "x"], 64, "not an address"),
            (["get", "demo/k", ""], 64, "The name of the file is empty."),
            (["put", "--recursive", "", "demo/x/"], 64, "The name of a file is empty."),
            (["get", place + "x", "--url", "http://127.0.0.1:1", "--retries", "0"], 7, "onnect"),
        ]
        for (arguments, status, text) in runs {
            let run = try await run(bench, folder, arguments)
            #expect(run.status == status && run.errors.contains(text), "\(arguments): \(run.status) \(run.errors)")
            #expect(!run.errors.contains("(4") || run.errors.contains("request id: ") || status == 4)
        }
        let json = try await run(bench, folder, ["put", "x.txt", "no-such-bucket/x", "--json"])
        let error = try JSON(Array(json.errors.utf8))["error"]
        #expect(error["code"] == "AccessDenied" && error["status"] == 403 && error["requestID"].text != nil)
        let wrong = try await run(bench, folder, ["share", "x", "--json"])
        #expect(try JSON(Array(wrong.errors.utf8))["error"]["code"] == "CommandLine" && wrong.status == 64)
        #expect(!folder.files.contains { $0.hasSuffix(".sluice-part") })
    }

    /// A bench whose user may do everything below a place, which is empty.
    private func keeper(_ kind: StoreKind) async throws -> (bench: StoreBench, place: String) {
        var bench = try StoreBench.at(kind)
        let place = bench.freshKey("")
        bench.user = try await bench.deployment.makeUser("keeper-\(place.prefix(8).lowercased())")
        try await bench.deployment.grant(
            ["PutObject", "GetObject", "ListObjects", "DeleteObject"], to: bench.user.principal, in: bench.bucket,
            prefix: place)
        return (bench, place)
    }

    private func upload(_ keys: [String], to bench: StoreBench) async throws {
        for key in keys {
            let body = Array(key.utf8)
            try #require(try await bench.uploadLink(key, for: body).use(body).status == 200)
        }
    }

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    /// In the order of their bytes.
    private static let names = ["a b+c%41 ü.txt", "plain.txt", "sub/deep/x.txt", "sub/y.txt", "subway.txt"]

    @Test("what is at a place is listed, in folders and whole", arguments: StoreKind.allCases)
    func listed(kind: StoreKind) async throws {
        let (bench, place) = try await keeper(kind)
        let (folder, address) = (try Folder(), "\(bench.bucket)/\(place)")
        try await upload(Self.names.map { place + $0 }, to: bench)
        let json = try await run(bench, folder, ["ls", address, "--json"])
        try #require(json.status == 0, "\(json.errors)")
        #expect(json.json["bucket"].text == bench.bucket && json.json["prefix"].text == place)
        #expect(json.json["folders"].items.map(\.text) == [place + "sub/"])
        let items = json.json["items"].items
        let direct = [Self.names[0], Self.names[1], Self.names[4]]
        #expect(items.map { $0["key"].text } == direct.map { place + $0 })
        #expect(items.map { $0["size"].integer } == direct.map { (place + $0).utf8.count })
        #expect(items.allSatisfy { $0["etag"].text?.count == 32 && $0["lastModified"].text?.hasSuffix("Z") == true })

        let table = try await run(bench, folder, ["ls", address])
        let rows = lines(table.output)
        try #require(table.status == 0 && rows.count == 5, "\(table.output) \(table.errors)")
        #expect(rows[0].hasPrefix("SIZE") && rows[1].hasPrefix("-  ") && rows[1].hasSuffix("  sub/"))
        for (row, name) in zip(rows.dropFirst(2), direct) {
            #expect(row.hasPrefix("\((place + name).utf8.count) B  ") && row.hasSuffix("Z  " + name), "\(row)")
        }
        let whole = try await run(bench, folder, ["ls", "-r", address])
        let keys = lines(whole.output).dropFirst()
        #expect(keys.count == Self.names.count, "\(whole.output) \(whole.errors)")
        for (row, name) in zip(keys, Self.names) { #expect(row.hasSuffix("Z  \(place)\(name)"), "\(row)") }
        // A prefix may end inside a segment.
        for (prefix, found) in [("su", ["sub/", "subway.txt"]), ("sub/y", ["y.txt"]), ("a b+c%4", [Self.names[0]])] {
            let part = try await run(bench, folder, ["ls", "sluice://" + address + prefix])
            let names = lines(part.output).dropFirst()
            #expect(names.count == found.count && zip(names, found).allSatisfy { $0.hasSuffix("  " + $1) }, "\(prefix)")
        }
        let empty = try await run(bench, folder, ["ls", address + "none/"])
        #expect(empty.status == 0 && empty.output == "" && empty.errors == "")
    }

    @Test("each page of a listing takes a link", arguments: StoreKind.allCases)
    func pages(kind: StoreKind) async throws {
        let (bench, place) = try await keeper(kind)
        let (folder, address) = (try Folder(), "\(bench.bucket)/\(place)")
        try await upload(Self.names.map { place + $0 }, to: bench)
        let links = """
            SELECT count(*) FROM issuances
            WHERE action = 'ListObjects' AND principal = '\(bench.user.principal)'
            """
        for (size, arguments, pages) in [(2, ["-r"], 3), (1, ["-r"], 5), (2, [], 2)] as [(Int, [String], Int)] {
            let whole = try await run(bench, folder, ["ls", address, "--json"] + arguments)
            let before = try await bench.deployment.number(links)
            let paged = try await run(bench, folder, ["ls", address, "--json", "--page-size", "\(size)"] + arguments)
            #expect(paged.status == 0 && paged.output == whole.output, "\(paged.output) \(paged.errors)")
            let count = try await bench.deployment.number(links) - before
            // A store may find out only by another page that there is no more.
            #expect(pages...(pages + 1) ~= count, "\(arguments): \(count)")
        }
        for size in ["0", "1001"] {
            #expect(try await run(bench, folder, ["ls", address, "--page-size", size]).status == 64)
        }
    }

    @Test("objects are deleted, each by itself and all below a place", arguments: StoreKind.allCases)
    func deleted(kind: StoreKind) async throws {
        let (bench, place) = try await keeper(kind)
        let (folder, address) = (try Folder(), "\(bench.bucket)/\(place)")
        try await upload(Self.names.map { place + $0 }, to: bench)
        let two = try await run(bench, folder, ["rm", address + Self.names[0], address + Self.names[1]])
        #expect(two.status == 0 && two.errors == "", "\(two.errors)")
        #expect(lines(two.output) == ["\(address)\(Self.names[0]): deleted", "\(address)\(Self.names[1]): deleted"])
        // An object that does not exist counts as deleted, and one that is named twice is deleted once.
        let again = try await run(bench, folder, ["rm", address + Self.names[1], address + Self.names[1], "--json"])
        #expect(again.status == 0 && again.json["key"].text == place + Self.names[1], "\(again.errors)")
        #expect(again.json["id"].text != nil && again.json["bucket"].text == bench.bucket)
        for (arguments, text) in [([address + "sub/"], "names no object"), (["-r", address + "sub"], "'/'")] {
            let wrong = try await run(bench, folder, ["rm", "--yes"] + arguments)
            #expect(wrong.status == 64 && wrong.errors.contains(text), "\(wrong.errors)")
        }
        let below = try await run(bench, folder, ["rm", "--recursive", address + "sub/", "--yes"])
        #expect(below.status == 0 && lines(below.output).count == 2, "\(below.output) \(below.errors)")
        let rest = try await run(bench, folder, ["ls", "-r", address, "--json"])
        #expect(rest.json["items"].items.map { $0["key"].text } == [place + "subway.txt"], "\(rest.output)")
        let all = try await run(bench, folder, ["rm", "-r", address, "--yes", "--quiet"])
        #expect(all.status == 0 && all.output == "", "\(all.errors)")
        let none = try await run(bench, folder, ["rm", "-r", address, "--yes"])
        #expect(none.status == 0 && none.output == "" && none.errors == "")
        #expect(try await run(bench, folder, ["ls", "-r", address]).output == "")
    }

    @Test func `an overload ends the deletions`() async throws {
        let (bench, place) = try await keeper(.radosgw)
        let proxy = try FaultyProxy(to: bench.user.client.port) { _, _ in .answer(503) }
        defer { proxy.close() }
        let addresses = ["a", "b", "c"].map { "\(bench.bucket)/\(place)\($0)" }
        let ended = try await run(
            bench, try Folder(), ["rm", "--yes", "--retries", "0", "--url", proxy.origin] + addresses)
        #expect(ended.status == 6 && ended.output == "" && proxy.lines.count == 1, "\(ended.errors)")
    }

    @Test func `what is refused is told with its address, and the others are deleted`() async throws {
        let (bench, place) = try await keeper(.radosgw)
        let (folder, address) = (try Folder(), "\(bench.bucket)/\(place)")
        try await upload([place + "a", place + "b"], to: bench)
        let arguments = ["rm", address + "a", "\(bench.bucket)/elsewhere", address + "c//d", address + "b"]
        let told = try await run(bench, folder, arguments)
        #expect(told.status == 3 && lines(told.output).count == 2, "\(told.output) \(told.errors)")
        #expect(told.errors.contains("AccessDenied (403)") && told.errors.contains("InvalidArgument (400)"))
        #expect(told.errors.contains("object: \(bench.bucket)/elsewhere\n  done before: 1 of 4 objects\n"))
        for name in ["a", "b"] { #expect(try await bench.downloadLink(place + name).use().status == 404) }
        let json = try await run(bench, folder, arguments + ["--json"])
        let errors = try lines(json.errors).map { try JSON(Array($0.utf8)) }
        #expect(json.status == 3 && lines(json.output).count == 2, "\(json.output)")
        #expect(errors.map { $0["error"]["code"] } == ["AccessDenied", "InvalidArgument"])
        #expect(errors.first?["object"]["address"].text == "\(bench.bucket)/elsewhere")

        // A user who may put and get may do neither of the two, and nor may anybody list more than the grant covers.
        let other = try StoreBench.at(.radosgw)
        try await upload([place + "kept"], to: other)
        for arguments in [["ls", address], ["rm", address + "kept"], ["rm", "-r", address]] {
            let refused = try await run(other, folder, arguments)
            #expect(refused.status == 3 && refused.output == "", "\(arguments): \(refused.errors)")
            #expect(refused.errors.contains("AccessDenied (403)"))
        }
        #expect(try await other.downloadLink(place + "kept").use().status == 200)
        #expect(try await run(bench, folder, ["ls", bench.bucket]).status == 3)
        #expect(try await run(bench, folder, ["rm", "-r", "\(bench.bucket)/", "--yes"]).status == 3)
    }

    @Test func `a scheme that cannot sign listings says so`() async throws {
        let (bench, folder) = (try StoreBench.at(.radosgw), try Folder())
        let bucket = "v2-\(UUID().uuidString.prefix(8).lowercased())"
        try await bench.deployment.makeBucket(bucket, options: ["provider": "s3", "scheme": "aws-v2"])
        try await bench.deployment.grant(["ListObjects", "DeleteObject"], to: bench.user.principal, in: bucket)
        for arguments in [["ls", bucket], ["rm", "-r", bucket + "/a/"]] {
            let run = try await run(bench, folder, arguments)
            #expect(run.status == 2 && run.errors.contains("NotEnforceable (422)"), "\(run.status) \(run.errors)")
        }
    }

    @Test func `a listing of other keys deletes nothing, and what the store says of a deletion counts`() async throws {
        let folder = try Folder()
        let foreign = "<ListBucketResult><Contents><Key>other/x</Key><Size>1</Size></Contents></ListBucketResult>"
        try await behind { line, earlier in
            if line.contains("prefix=html") { return .answer(200, body: "<html/>") }
            if line.contains("prefix=mine") { return .answer(200, body: foreign) }
            guard line.hasPrefix("DELETE") else { return .pass }
            if line.contains("gone.txt") { return .answer(404, body: "<Error><Code>NoSuchKey</Code></Error>") }
            if line.contains("failing.txt"), !earlier.contains(where: { $0.contains("failing.txt") }) {
                return .answer(503)
            }
            return line.contains("refused.txt") ? .answer(403) : .pass
        } _: { bench, proxy in
            try await bench.deployment.grant(
                ["ListObjects", "DeleteObject"], to: bench.user.principal, in: bench.bucket)
            for (prefix, text) in [("html/", "not a listing"), ("mine/", "do not begin with 'mine/'")] {
                let run = try await run(bench, folder, ["rm", "-r", "\(bench.bucket)/\(prefix)", "--yes"])
                #expect(run.status == 7 && run.errors.contains(text), "\(run.status) \(run.errors)")
            }
            #expect(!proxy.lines.contains { $0.hasPrefix("DELETE") })
            let names = ["refused.txt", "gone.txt", "failing.txt"]
            let told = try await run(bench, folder, ["rm"] + names.map { "\(bench.bucket)/\($0)" })
            #expect(told.status == 3 && lines(told.output).count == 2, "\(told.output) \(told.errors)")
            #expect(told.errors.contains("object: \(bench.bucket)/refused.txt"))
            for (name, attempts) in zip(names, [2, 1, 2]) {
                #expect(proxy.lines.count { $0.hasPrefix("DELETE") && $0.contains(name) } == attempts, "\(name)")
            }
        }
    }

    /// A page with one object, after which another page comes.
    private static func page(_ key: String, next: Int) -> String {
        """
        <ListBucketResult><Contents><Key>\(key)</Key><Size>1</Size></Contents><IsTruncated>true</IsTruncated>\
        <NextContinuationToken>\(next)</NextContinuationToken></ListBucketResult>
        """
    }

    @Test func `a list is printed up to the page that fails, and pages in a circle end it`() async throws {
        let folder = try Folder()
        try await behind { line, earlier in
            if line.contains("prefix=cut") {
                return line.contains("continuation-token=")
                    ? .answer(403) : .answer(200, body: Self.page("cut/first", next: 1))
            }
            guard line.contains("prefix=circle") else { return .pass }
            let number = earlier.count { $0.contains("prefix=circle") }
            // A listing that does not notice ends here.
            guard number < 50 else { return .answer(200, body: "<ListBucketResult/>") }
            return .answer(200, body: Self.page("circle/\(number)", next: number % 2))
        } _: { bench, proxy in
            try await bench.deployment.grant(
                ["ListObjects", "DeleteObject"], to: bench.user.principal, in: bench.bucket)
            let cut = try await run(bench, folder, ["ls", "\(bench.bucket)/cut/"])
            #expect(cut.status == 3 && lines(cut.output).count == 2, "\(cut.output) \(cut.errors)")
            #expect(lines(cut.output).last?.hasSuffix("  first") == true, "\(cut.output)")
            let whole = try await run(bench, folder, ["ls", "\(bench.bucket)/cut/", "--json"])
            #expect(whole.status == 3 && whole.output == "", "\(whole.output)")
            let circle = try await run(bench, folder, ["rm", "-r", "\(bench.bucket)/circle/", "--yes"])
            #expect(circle.status == 7 && circle.errors.contains("again and again"), "\(circle.errors)")
            #expect(proxy.lines.count { $0.contains("prefix=circle") } == 3)
            #expect(!proxy.lines.contains { $0.hasPrefix("DELETE") })
        }
    }

    @Test func `a person at a terminal is asked before anything is deleted`() async throws {
        let (bench, place) = try await keeper(.radosgw)
        let (folder, address) = (try Folder(), "\(bench.bucket)/\(place)")
        try await upload([place + "a", place + "b"], to: bench)
        // Runs a command on a terminal of its own, and types an answer.
        let terminal = """
            import os, pty, sys
            pid, fd = pty.fork()
            if pid == 0: os.execv(sys.argv[2], sys.argv[2:])
            os.write(fd, (sys.argv[1] + "\\n").encode())
            try:
                while piece := os.read(fd, 65536): os.write(1, piece)
            except OSError: pass
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """
        for (answer, arguments, status, left) in [
            ("n", ["-r", address], 1, 200), ("y", ["-r", address], 0, 404), ("n", [address + "a", "--yes"], 0, 404),
        ] as [(String, [String], Int32, Int)] {
            let process = try start(
                bench, folder, ["/usr/bin/python3", "-c", terminal, answer, Program.path, "rm"] + arguments)
            #expect(await process.exitStatus() == status, "\(process.output) \(process.errors)")
            let isAsked = process.output.contains("Delete 2 objects, all below \(address)? [y/N]")
            #expect(isAsked == !arguments.contains("--yes"), "\(process.output)")
            #expect(process.output.contains("Nothing was deleted.") == (status == 1))
            #expect(try await bench.downloadLink(place + "a").use().status == left)
        }
    }
}
