import Foundation
import LocalFiles
import LibCrypto
import Terminal
import Testing

@testable import GatewayTransport
@testable import LibCurl
@testable import ObjectClient
@testable import ObjectCommands

/// The client of the public contract, without a gateway.
@Suite(.timeLimit(.minutes(5))) struct ObjectClientTests {
    @Test func `an address is a bucket and everything behind the first slash`() throws {
        let address = try ObjectAddress("photos/a/b c+%41.png")
        #expect(address.bucket == "photos" && address.key == "a/b c+%41.png" && address.name == "b c+%41.png")
        #expect(try ObjectAddress("sluice://photos/x").key == "x")
        #expect(try ObjectAddress("photos/").isPlace && ObjectAddress("photos/a/").isPlace && !address.isPlace)
        // A combining mark behind the slash is part of the key, not of the slash.
        #expect(try ObjectAddress("photos/\u{301}x").key == "\u{301}x")
        for wrong in ["photos", "", "/key", "sluice://photos"] {
            #expect(throws: ClientFailure.self, "\(wrong)") { try ObjectAddress(wrong) }
        }
    }

    @Test func `what a transfer needs to go on is kept in the home that the environment names`() {
        func directory(_ environment: [String: String]) -> String {
            TransferMemory.standard(environment: environment).directory
        }
        #expect(directory(["HOME": "/elsewhere"]) == "/elsewhere/.local/state/sluice/transfers")
        #expect(directory(["HOME": "/h", "XDG_STATE_HOME": "/state"]) == "/state/sluice/transfers")
        #expect(directory(["HOME": "/h", "XDG_STATE_HOME": "state"]) == "/h/.local/state/sluice/transfers")
        for unset in [[:], ["HOME": ""], ["HOME": "h"]] as [[String: String]] {
            #expect(directory(unset).hasPrefix("/") && directory(unset).hasSuffix("/.local/state/sluice/transfers"))
        }
    }

    @Test func `parts cover a file, without gap or overlap, and are never too many`() {
        for size in [1, 5 << 20, (5 << 20) + 1, 100 << 20, 1 << 40, 5 << 43] as [Int64] {
            let parts = ObjectUpload.Partition(of: size, partSize: 5 << 20)
            #expect(parts.count <= 10_000 && parts.partSize >= 5 << 20)
            var end: Int64 = 0
            for number in 1...parts.count {
                #expect(parts.range(number).lowerBound == end && !parts.range(number).isEmpty)
                end = parts.range(number).upperBound
            }
            #expect(end == size)
        }
    }

    @Test func `pauses double, are drawn at random, and last at least as long as the other side asks`() {
        for number in 0...40 {
            let longest = min(20, 0.5 * Double(1 << min(number, 10)))
            let shortest = Retries.pause(after: number, asked: nil, random: 0)
            #expect(shortest == .seconds(longest / 2))
            #expect(Retries.pause(after: number, asked: nil, random: 1) == .seconds(longest))
            #expect(Retries.pause(after: number, asked: 7, random: 0) >= .seconds(7))
        }
    }

    /// Runs a request that fails in one way until it succeeds at a given attempt; returns the number of attempts.
    private func attempts(_ failure: ClientFailure, succeedsAt last: Int, limit: Int = 3) async -> Int {
        let retries = Retries(limit: limit, stop: StopFlag()) { _ in }
        var count = 0
        try? await retries.run { () async throws(ClientFailure) in
            count += 1
            if count < last { throw failure }
        }
        return count
    }

    @Test func `only what may pass is tried again`() async {
        func problem(_ status: Int, _ code: String, after: Int? = nil) -> ClientFailure {
            .gateway(Problem(status: status, code: code), retryAfter: after)
        }
        func refusal(_ status: Int, _ code: String = "") -> ClientFailure {
            let body = Array("<Error><Code>\(code)</Code></Error>".utf8)
            return .store(StoreRefusal(status: status, body: body), retryAfter: nil)
        }
        for failure in [
            problem(503, "ServiceUnavailable"), problem(429, "TooManyRequests", after: 1),
            problem(409, "IdempotencyKeyInUse"), problem(429, "QuotaExceeded", after: 1), refusal(500), refusal(503),
            refusal(429), .unreachable("cut"), problem(408, "UnknownAnswer"),
            refusal(409, "ConditionalRequestConflict"),
        ] {
            #expect(await attempts(failure, succeedsAt: 3) == 3, "\(failure)")
            #expect(await attempts(failure, succeedsAt: 100) == 4, "\(failure)")
        }
        for failure in [
            problem(403, "AccessDenied"), problem(429, "QuotaExceeded", after: 40_000), problem(409, "Conflict"),
            problem(429, "QuotaExceeded"),
            problem(501, "StoreRefused"), refusal(403), refusal(412), refusal(501), .different(""), .stopped(""),
            refusal(409, "FileAlreadyExists"),
        ] { #expect(await attempts(failure, succeedsAt: 3) == 1, "\(failure)") }
        // After a conflict the object that exists is another writer's.
        #expect(refusal(503).mayHaveBeenDone && ClientFailure.unreachable("cut").mayHaveBeenDone)
        #expect(!refusal(409, "ConditionalRequestConflict").mayHaveBeenDone && !refusal(412).mayHaveBeenDone)
    }

    @Test func `an interruption during a pause is told as one`() async {
        let stop = StopFlag()
        let retries = Retries(limit: 3, stop: stop) { _ in stop.set() }
        let failure = await #expect(throws: ClientFailure.self) {
            try await retries.run { () async throws(ClientFailure) in throw .unreachable("cut") }
        }
        #expect(failure == .stopped("Interrupted."))
    }

    @Test func `a link is renewed as often as it expires`() async throws {
        func link(_ url: String) -> Link {
            Link(id: "", method: "GET", url: url, headers: [:], expiresAt: "", expiresIn: 900)
        }
        let start = ContinuousClock.now
        var renewable = RenewableLink(link("0"), now: start)
        var asked = 0
        for (minutes, url) in [(0, "0"), (15, "1"), (16, "1"), (30, "2")] {
            let used = try await renewable.use(now: start + .seconds(60 * minutes)) {
                () async throws(ClientFailure) -> Link in
                asked += 1
                return link("\(asked)")
            } _: { (link) async throws(ClientFailure) -> String in
                link.url
            }
            #expect(used == .success(url), "\(minutes)")
        }
    }

    @Test(arguments: [(1, 500), (2, 1_000), (5, 2_500), (9, 4_500), (10, 5_000), (11, 6_000), (900, 895_000)])
    func `a link is used until five seconds before its end, or for half of a short life`(
        life: Int, milliseconds: Int
    ) async throws {
        let start = ContinuousClock.now
        for (late, url) in [(0, "old"), (milliseconds - 1, "old"), (milliseconds, "new")] {
            let link = Link(id: "", method: "GET", url: "old", headers: [:], expiresAt: "", expiresIn: life)
            var renewable = RenewableLink(link, now: start)
            let used = try await renewable.use(now: start + .milliseconds(late)) {
                () async throws(ClientFailure) -> Link in
                Link(id: "", method: "GET", url: "new", headers: [:], expiresAt: "", expiresIn: life)
            } _: { (link) async throws(ClientFailure) -> String in
                link.url
            }
            #expect(used == .success(url), "\(late)")
        }
    }

    @Test func `a link that the store refuses is renewed once, and only once`() async throws {
        let link = Link(id: "", method: "GET", url: "old", headers: [:], expiresAt: "", expiresIn: 900)
        for (refusals, renewals, works) in [(0, 0, true), (1, 1, true), (2, 1, false)] {
            var renewable = RenewableLink(link, now: .now)
            var (asked, used) = (0, 0)
            let outcome = try? await renewable.use(now: .now) { () async throws(ClientFailure) -> Link in
                asked += 1
                return Link(id: "", method: "GET", url: "new", headers: [:], expiresAt: "", expiresIn: 900)
            } _: { (link) async throws(ClientFailure) -> String in
                used += 1
                if used <= refusals { throw .store(StoreRefusal(status: 403, body: []), retryAfter: nil) }
                return link.url
            }
            #expect(asked == renewals && (outcome != nil) == works)
            #expect(outcome == nil || outcome == .success(refusals == 0 ? "old" : "new"))
        }
        // A link whose life is over is not tried at all.
        var late = RenewableLink(link, now: .now - .seconds(900))
        let used = try await late.use(now: .now) { () async throws(ClientFailure) -> Link in
            Link(id: "", method: "GET", url: "new", headers: [:], expiresAt: "", expiresIn: 900)
        } _: { (link) async throws(ClientFailure) -> String in
            link.url
        }
        #expect(used == .success("new"))
    }

    /// A download into a file, with what is there already. Of that, the last byte is fetched again.
    private func withSink(
        _ start: String, etag: String, _ body: (DownloadSink, URL) throws -> Void
    ) async throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "sluice-sink-\(UUID().uuidString)")
        try Data((start.isEmpty ? "" : start + "?").utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let sink = DownloadSink(
            try OpenFile(url.path(), for: .updating), startsOver: true, meter: TransferMeter { _ in })
        try await sink.takeUp(etag: etag, stop: StopFlag())
        try body(sink, url)
    }

    @Test func `a download goes on with the same object only, whatever the store makes of If-Range`() async throws {
        let range = (name: "Content-Range", value: "bytes 3-5/6")
        for (etag, isSame) in [("\"one\"", true), ("\"two\"", false)] {
            try await withSink("abc", etag: "\"one\"") { sink, url in
                #expect(sink.fields.map(\.name) == ["Range", "If-Range"])
                _ = sink.begin(.init(status: 206, fields: [range, ("ETag", etag)]))
                #expect(sink.take(Array("def".utf8)) == isSame)
                let text = try String(contentsOf: url, encoding: .utf8)
                #expect(text == (isSame ? "abcdef" : ""))
                #expect(sink.endAttempt() == !isSame && sink.failure == nil)
                #expect(sink.bytes == (isSame ? 6 : 0))
            }
        }
        // The whole object instead of the rest, and another part than asked for.
        try await withSink("abc", etag: "\"one\"") { sink, url in
            _ = sink.begin(.init(status: 200, fields: [("ETag", "\"two\""), ("Content-Length", "2")]))
            #expect(sink.take(Array("xy".utf8)) && sink.isComplete)
            let text = try String(contentsOf: url, encoding: .utf8)
            #expect(text == "xy")
        }
        try await withSink("abc", etag: "\"one\"") { sink, _ in
            _ = sink.begin(.init(status: 206, fields: [("Content-Range", "bytes 2-5/6"), ("ETag", "\"one\"")]))
            #expect(!sink.take(Array("cdef".utf8)) && sink.failure != nil)
        }
        // A part of the object, though all of it was asked for: the same answer would come again.
        try await withSink("", etag: "\"one\"") { sink, _ in
            #expect(sink.fields.isEmpty)
            _ = sink.begin(.init(status: 206, fields: [("Content-Range", "bytes 0-9/10"), ("ETag", "\"two\"")]))
            #expect(!sink.take(Array("0123456789".utf8)) && !sink.endAttempt() && sink.failure?.mayPass == false)
        }
    }

    @Test func `bytes are compared with every digest that a store tells`() async throws {
        let (right, wrong) = (Array("abc".utf8), Array("abd".utf8))
        func md5(_ bytes: [UInt8]) -> Digest { DigestAlgorithm.md5.digest(of: bytes) }
        func sha256(_ bytes: [UInt8]) -> Digest { DigestAlgorithm.sha256.digest(of: bytes) }
        // Alibaba OSS makes the tag of such an object in a way of its own.
        let length = (name: "Content-Length", value: "3")
        let appended = [
            length, ("x-oss-object-type", "Appendable"), ("ETag", "\"\(md5(wrong).hex.uppercased())\""),
        ]
        try await withSink("", etag: "") { sink, _ in
            _ = sink.begin(.init(status: 200, fields: appended))
            #expect(sink.take(right))
            let outcome = try sink.outcome(try ObjectAddress("photos/a"))
            #expect(outcome.checked == "length")
        }
        let fields: [(name: String, value: ([UInt8]) -> String, checked: String)] = [
            ("ETag", { "\"\(md5($0).hex)\"" }, "md5"), ("Content-MD5", { md5($0).base64 }, "md5"),
            ("x-goog-hash", { "crc32c=AAAAAA==,md5=" + md5($0).base64 }, "md5"),
            ("x-amz-checksum-sha256", { sha256($0).base64 }, "sha256"), ("ETag", { _ in "\"parts-2\"" }, "length"),
        ]
        for (name, value, checked) in fields {
            for told in [right, wrong] {
                try await withSink("", etag: "") { sink, _ in
                    _ = sink.begin(.init(status: 200, fields: [length, (name, value(told))]))
                    #expect(sink.take(right))
                    let outcome = Result { () throws(ClientFailure) in
                        try sink.outcome(try ObjectAddress("photos/a"))
                    }
                    if told == right || checked == "length" {
                        let found = try outcome.get().checked
                        #expect(found == checked, "\(name)")
                    } else {
                        #expect(throws: ClientFailure.self, "\(name)") { try outcome.get() }
                    }
                }
            }
        }
    }

    @Test func `what a store has decompressed has no digest, and is not continued`() async throws {
        let (stored, sent) = (Array("compressed".utf8), Array("abc".utf8))
        let digest = DigestAlgorithm.md5.digest(of: stored)
        let encoding = (name: "Content-Encoding", value: "gzip")
        let fields: [(name: String, value: String)] = [
            ("ETag", "\"\(digest.hex)\""), ("x-goog-hash", "md5=" + digest.base64),
            ("x-goog-stored-content-encoding", "gzip"), ("x-goog-stored-content-length", "\(stored.count)"),
        ]
        try await withSink("", etag: "") { sink, _ in
            let kept = sink.begin(.init(status: 200, fields: fields))
            #expect(kept == nil, "no later run goes on")
            #expect(sink.take(sent) && sink.isComplete && sink.fields.isEmpty)
            let outcome = try sink.outcome(try ObjectAddress("photos/a"))
            #expect(outcome.checked == "nothing" && outcome.size == 3 && outcome.etag == digest.hex)
            // Another attempt begins anew.
            #expect(!sink.endAttempt())
            _ = sink.begin(.init(status: 200, fields: fields))
            #expect(sink.bytes == 0 && sink.take(sent) && sink.bytes == 3)
        }
        // The stored bytes themselves have the digest.
        try await withSink("", etag: "") { sink, _ in
            let kept = sink.begin(.init(status: 200, fields: fields + [encoding]))
            #expect(kept == "\"\(digest.hex)\"" && sink.take(stored) && !sink.fields.isEmpty)
            let outcome = try sink.outcome(try ObjectAddress("photos/a"))
            #expect(outcome.checked == "md5")
        }
    }

    @Test func `the part of an object that an answer holds is read exactly`() {
        #expect(ContentRange("bytes 5-9/10")?.start == 5 && ContentRange("bytes 5-9/10")?.total == 10)
        #expect(ContentRange("bytes 5-9/*")?.start == 5 && ContentRange("bytes 5-9/*")?.total == nil)
        for wrong in ["", "bytes */10", "bytes 5-/10", "chars 5-9/10", "bytes -5-9/10", "bytes 5-9/10 "] {
            #expect(ContentRange(wrong) == nil, "\(wrong)")
        }
    }

    @Test func `a store's error gives its code and text`() {
        let body = Array("<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>gone</Message></Error>".utf8)
        let refusal = StoreRefusal(status: 404, body: body)
        #expect(refusal.code == "NoSuchKey" && refusal.message == "gone")
        #expect(StoreRefusal(status: 502, body: Array("<html>".utf8)).code == "")
    }

    @Test func `amounts are read and written`() {
        #expect(ByteCount.number("16M") == 16 << 20 && ByteCount.number("5MiB") == 5 << 20)
        #expect(ByteCount.number("1g") == 1 << 30 && ByteCount.number("100") == 100)
        for wrong in ["", "M", "1T", "-5M", "999999999999999G", "5.5M"] { #expect(ByteCount.number(wrong) == nil) }
        #expect(ByteCount.text(1023) == "1023 B" && ByteCount.text(1536) == "1.5 KiB")
        #expect(
            TimeAmount.seconds("90") == 90 && TimeAmount.seconds("1h") == 3600 && TimeAmount.seconds("7d") == 604_800)
        for wrong in ["", "0", "h", "1w", "-1h", "1h30m"] { #expect(TimeAmount.seconds(wrong) == nil) }
    }

    @Test func `the bar tells bytes, rate and the time that is left`() {
        let reading = TransferMeter.Reading(total: 100 << 20, bytes: 50 << 20, earlier: 40 << 20)
        // 10 of 100 MiB in 10 seconds; 40 MiB were there before.
        let line = ProgressBar.line(reading, after: .seconds(10))
        #expect(line.contains("50 %") && line.contains("50.0 MiB of 100.0 MiB"))
        #expect(line.contains("1.0 MiB/s") && line.contains("0:50 left"))
        let unknown = ProgressBar.line(.init(total: nil, bytes: 2048), after: .seconds(1))
        #expect(unknown.contains("2.0 KiB") && !unknown.contains("%"))
    }

    @Test func `files and places are paired`() throws {
        let place = try ObjectAddress("photos/a/")
        let items = try UploadList.items(["x/cat.png", "dog.png"], at: place, recursive: false)
        #expect(items.map(\.address.key) == ["a/cat.png", "a/dog.png"])
        #expect(throws: ClientFailure.self) {
            try UploadList.items(["a", "b"], at: ObjectAddress("photos/x"), recursive: false)
        }
        #expect(throws: ClientFailure.self) { try UploadList.items(["-"], at: place, recursive: false) }
    }

    @Test func `no file replaces another of the same command`() throws {
        let both = ["x/report.txt", "y/report.txt"]
        let failure = #expect(throws: ClientFailure.self) {
            try UploadList.items(both, at: ObjectAddress("photos/a/"), recursive: false)
        }
        #expect(
            failure == .usage("'x/report.txt' and 'y/report.txt' would both become photos/a/report.txt."))
        // Stores tell the two ways to write a letter apart.
        let spellings = ["x/caf\u{e9}.txt", "y/cafe\u{301}.txt"]
        #expect(try UploadList.items(spellings, at: ObjectAddress("photos/a/"), recursive: false).count == 2)
    }

    @Test func `an empty name of a file is not that of the working directory`() throws {
        for recursive in [true, false] {
            #expect(throws: ClientFailure.usage("The name of a file is empty.")) {
                try UploadList.items([""], at: ObjectAddress("photos/a/"), recursive: recursive)
            }
        }
    }

    @Test func `what cannot be read in a directory is named, not left out`() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: "sluice-names-\(UUID().uuidString)").path
        defer { try? files.removeItem(atPath: folder) }
        try files.createDirectory(atPath: "\(folder)/sub", withIntermediateDirectories: true)
        try Data("a".utf8).write(to: URL(fileURLWithPath: "\(folder)/a.txt"))
        let place = try ObjectAddress("photos/a/")
        #expect(try UploadList.items([folder], at: place, recursive: true).count == 1)
        let shell = try Process.run(
            URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", #"echo b >"$0/sub/$(printf 'x\377')""#, folder])
        shell.waitUntilExit()
        try #require(shell.terminationStatus == 0)
        let failure = #expect(throws: ClientFailure.self) {
            try UploadList.items([folder], at: place, recursive: true)
        }
        guard case .file(let text) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(text.contains("/sub/x") && text.contains("UTF-8"))
    }

    @Test func `a directory gives its files, and none of what links in it lead to`() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: "sluice-list-\(UUID().uuidString)").path
        defer { try? files.removeItem(atPath: folder) }
        for name in ["album/sub", "empty", "secret"] {
            try files.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        for name in ["album/1.txt", "album/sub/a +%.txt", "secret/key"] {
            try Data(name.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        for (link, target) in [("album/file", "secret/key"), ("album/folder", "secret"), ("linked", "album")] {
            try files.createSymbolicLink(
                atPath: "\(folder)/\(link)", withDestinationPath: "\(folder)/\(target)")
        }
        let place = try ObjectAddress("photos/a/")
        for name in ["album", "linked"] {
            let items = try UploadList.items(["\(folder)/\(name)"], at: place, recursive: true)
            #expect(items.map(\.address.key) == ["a/1.txt", "a/sub/a +%.txt"], "\(name)")
            #expect(items.allSatisfy { files.fileExists(atPath: $0.path) })
        }
        #expect(throws: ClientFailure.self) {
            try UploadList.items(["\(folder)/empty"], at: place, recursive: true)
        }
    }

    @Test func `a file whose length and time of modification stay is known as changed`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "sluice-same-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let attributes: [FileAttributeKey: Any] = [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)]
        // In place, or by another file under the same name.
        for options in [[], .atomic] as [Data.WritingOptions] {
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
            let (file, time) = (try LocalFile(path), try FileStatus(path).changedAt)
            try file.checkUnchanged()
            // The clock of a file system is coarse: a change at once may have the same time.
            repeat {
                try Data([4, 5, 6]).write(to: URL(fileURLWithPath: path), options: options)
                try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
            } while try FileStatus(path).changedAt == time
            #expect(try FileStatus(path).modifiedAt == 1_700_000_000_000_000 && FileStatus(path).size == 3)
            #expect(throws: ClientFailure.self) { try file.checkUnchanged() }
            #expect(file.isReplaced)
            #expect(throws: ClientFailure.self) { try file.open(at: 0) }
        }
    }

    /// Whoever owns a directory may put a link to somebody else's file there while earlier files are sent.
    @Test(arguments: [false, true])
    func `what takes the place of a file that was found in a directory is not sent`(isDirectory: Bool) throws {
        try withLink { folder in
            let files = FileManager.default
            try Data("secret".utf8).write(to: URL(fileURLWithPath: "\(folder)/secret"))
            let items = try UploadList.items([folder], at: ObjectAddress("photos/a/"), recursive: true)
            let item = try #require(items.first { $0.path == "\(folder)/a/f" })
            #expect(try item.look().size == 5)
            // As editors save: the file is sent as it is at its turn.
            try Data("longer".utf8).write(to: URL(fileURLWithPath: "\(folder)/new"))
            try files.removeItem(atPath: "\(folder)/a/f")
            try files.moveItem(atPath: "\(folder)/new", toPath: "\(folder)/a/f")
            #expect(try item.look().size == 6)
            if isDirectory {
                try files.moveItem(atPath: "\(folder)/a", toPath: "\(folder)/b")
                try files.createDirectory(atPath: "\(folder)/other", withIntermediateDirectories: false)
                try files.moveItem(atPath: "\(folder)/secret", toPath: "\(folder)/other/f")
                try files.createSymbolicLink(atPath: "\(folder)/a", withDestinationPath: "other")
            } else {
                try files.moveItem(atPath: "\(folder)/a/f", toPath: "\(folder)/kept")
                try files.createSymbolicLink(atPath: "\(folder)/a/f", withDestinationPath: "../secret")
            }
            #expect(throws: ClientFailure.self) { try item.look() }
        }
    }

    /// A directory with a link to `a/sub`, so that `link/..` is `a`, and files `f` in both of them.
    private func withLink(_ body: (_ folder: String) throws -> Void) throws {
        let files = FileManager.default
        let folder = FileName.located("\(files.temporaryDirectory.path)/sluice-link-\(UUID().uuidString)")
        try files.createDirectory(atPath: "\(folder)/a/sub", withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: folder) }
        try files.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "a/sub")
        for (name, text) in [("a/f", "there"), ("f", "here, and kept")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        try body(folder)
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try OpenFile(path, for: .reading).readToEnd(), as: UTF8.self)
    }

    @Test func `what is sent is the file that the system finds under the name`() throws {
        try withLink { folder in
            let file = try LocalFile("\(folder)/link/../f")
            #expect(file.place == "\(folder)/a/f" && file.size == 5)
            #expect(try file.open(at: 0).readToEnd() == Array("there".utf8))
            try file.checkUnchanged()
            let place = try ObjectAddress("photos/a/")
            let items = try UploadList.items(["\(folder)/link/.."], at: place, recursive: true)
            #expect(items.map(\.address.key) == ["a/f"])
            #expect(try items.map { try text($0.path) } == ["there"])
        }
    }

    /// Downloads a text to a file, as the last step of `get`.
    private func finish(_ name: String, replaces: Bool = true) throws(ClientFailure) {
        let part = try PartFile.reserve(for: name, replaces: replaces)
        do throws(FileError) { try part.file.write("new".utf8) } catch { throw .file("\(error)") }
        try part.finish()
    }

    @Test func `what is replaced is the file that the system finds under the name`() throws {
        try withLink { folder in
            try finish("\(folder)/link/../f")
            #expect(try text("\(folder)/a/f") == "new" && text("\(folder)/f") == "here, and kept")
            try finish("\(folder)/link/../g", replaces: false)
            #expect(try text("\(folder)/a/g") == "new")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(Set(names) == ["a", "f", "link"])
        }
    }

    @Test func `a download has the permissions of a new file, or those of the file that it replaces`() throws {
        try withLink { folder in
            let file = "\(folder)/f"
            let part = try PartFile.reserve(for: file, replaces: true)
            #expect(try FileStatus(part.path).permissions == 0o600)
            part.remove()
            try finish("\(folder)/new", replaces: false)
            #expect(try FileStatus("\(folder)/new").permissions == OpenFile.permissionsOfNewFiles)
            try OpenFile(file, for: .reading).permit(0o755)
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/to-f", withDestinationPath: "f")
            try finish("\(folder)/to-f")
            #expect(try text(file) == "new" && FileStatus(file).permissions == 0o755)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/to-f") == "f")
            // One that cannot get its name stays private.
            #expect(throws: ClientFailure.self) { try finish(file, replaces: false) }
            #expect(try FileStatus("\(file).sluice-part").permissions == 0o600)
        }
    }

    @Test func `a download replaces no pipe, and takes names of any length`() throws {
        try withLink { folder in
            let isMade = unsafe mkfifo("\(folder)/pipe", 0o600) == 0
            try #require(isMade)
            #expect(throws: ClientFailure.self) { try finish("\(folder)/pipe") }
            #expect(try FileStatus("\(folder)/pipe").kind == .other)
            #expect(try text("\(folder)/pipe.sluice-part") == "new")
            for count in [243, 244, 255] {
                let name = "\(folder)/" + String(repeating: "x", count: count)
                let part = try PartFile.reserve(for: name, replaces: false)
                #expect(part.path.hasSuffix(".sluice-part") && part.path.hasPrefix("\(folder)/"))
                try part.file.write("new".utf8)
                try part.finish()
                #expect(try text(name) == "new")
            }
        }
    }

    @Test func `JSON holds nothing that a terminal obeys, and the same value`() throws {
        let key = "a\u{9b}31m\u{202e}\u{7f}\u{2028}ü.txt"
        let line = jsonLine(["key": key])
        #expect(line == #"{"key":"a\u009b31m\u202e\u007f\u2028ü.txt"}"# + "\n")
        let read = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(read["key"]?.unicodeScalars.elementsEqual(key.unicodeScalars) == true)
        // Line breaks between the values stay.
        #expect("{\n  \"a\" : \"\u{85}\"\n}".visibleJSON == "{\n  \"a\" : \"\\u0085\"\n}")
    }

    @Test func `an upload in parts cannot be bound to creation, so it does not begin`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "sluice-put-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        let stop = StopFlag()
        // No gateway listens there; nothing may be asked.
        let client = try GatewayClient(
            url: "http://127.0.0.1:9", key: "key", timeout: .seconds(1), retries: Retries(limit: 0, stop: stop))
        var options = ObjectUpload.Options(contentType: "text/plain")
        options.createsOnly = true
        options.partSize = 2
        let upload = ObjectUpload(
            client: client, memory: TransferMemory(directory: "\(path)-memory"), options: options, stop: stop,
            meter: TransferMeter { _ in })
        let file = try LocalFile(path)
        let failure = await #expect(throws: ClientFailure.self) {
            _ = try await upload.send(file, to: ObjectAddress("photos/a"))
        }
        guard case .usage? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    private func client(at url: String, key: String = "key") throws(ClientFailure) -> GatewayClient {
        try GatewayClient(url: url, key: key, timeout: .seconds(1), retries: Retries(limit: 0, stop: StopFlag()))
    }

    @Test func `each way to get no answer is told apart, and names the server`() throws {
        let origin = "https://gateway.example"
        let failures: [StreamedTransfer.Failure] = [
            .notFound("why"), .notConnected("why"), .notTrusted("why"), .notSecured("why"), .late("why"),
            .failed("why"),
        ]
        let told = failures.map { ClientFailure(TransportFailure($0, at: origin)) }
        for failure in told {
            #expect(failure.exitCode == 7 && failure.told.code == "Unreachable")
            #expect(failure.told.detail.contains(origin) && failure.told.detail.contains(": why."))
        }
        #expect(Set(told.map(\.told.detail)).count == failures.count)
    }

    @Test func `where no gateway listens, the failure says so`() async throws {
        let client = try self.client(at: "http://127.0.0.1:1")
        let request = LinkRequest(downloading: try ObjectAddress("photos/a"))
        let failure = await #expect(throws: ClientFailure.self) { _ = try await client.link(request) }
        #expect(failure?.told.detail.hasPrefix("Nothing answers at http://127.0.0.1:1: ") == true)
        for (url, key) in [("gateway.example", "key"), ("http://127.0.0.1:1", "a b"), ("http://127.0.0.1:1", "")] {
            let refused = #expect(throws: ClientFailure.self) { _ = try self.client(at: url, key: key) }
            #expect(refused?.exitCode == 64 && refused?.told.code == "CommandLine")
        }
    }

    @Test func `a refusal that is not a gateway's has the code of an unknown answer`() throws {
        let client = try self.client(at: "http://127.0.0.1:1")
        let head = StreamedTransfer.Head(status: 502, fields: [("Retry-After", "3")])
        let failure = client.refusal(RemoteGateway.Answer(head: head, body: Array("<html>".utf8)))
        #expect(failure.exitCode == 6 && failure.told.code == "UnknownAnswer" && failure.told.retryAfter == 3)
        #expect(failure.told.detail.hasPrefix("http://127.0.0.1:1 does not answer as a gateway does."))
        let told = #"{"code": "AccessDenied", "status": 403, "detail": "No grant."}"#
        let refusal = client.refusal(
            RemoteGateway.Answer(head: .init(status: 403, fields: []), body: Array(told.utf8)))
        #expect(refusal.exitCode == 3 && refusal.told.code == "AccessDenied" && refusal.told.detail == "No grant.")
    }

    @Test func `types follow the extension`() {
        #expect(
            ContentTypes.type(of: "a/CAT.PNG") == "image/png" && ContentTypes.type(of: "x.tar.gz") == "application/gzip"
        )
        #expect(ContentTypes.type(of: "README") == ContentTypes.unknown)
    }
}
