import Foundation
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// Listings and deletions by links, at stores that verify signatures.
@Suite(.storeBenches) struct StoreListDeleteTests {
    static let body = Array("the bytes of an object".utf8)

    /// A user who may list and delete below a folder, and upload everywhere.
    private struct Folder {
        let bench: StoreBench
        let folder: String
        let user: User

        init(_ kind: StoreKind) async throws {
            bench = try StoreBench.at(kind)
            folder = bench.freshKey("")
            user = try await bench.deployment.makeUser("lister-\(folder.prefix(8).lowercased())")
            try await bench.deployment.grant(
                ["ListObjects", "DeleteObject"], to: user.principal, in: bench.bucket, prefix: folder + "mine/")
        }

        func put(_ name: String) async throws {
            let link = try await bench.uploadLink(folder + name, for: StoreListDeleteTests.body)
            try #require(try await link.use(StoreListDeleteTests.body).status == 200)
        }

        func ask(_ request: JSON) async throws -> Answer {
            try await user.ask(request.with(["bucket": "\(bench.bucket)"]))
        }

        func listing(_ prefix: String, _ list: JSON = [:], life: Int = 900) async throws -> Link {
            let answer = try await ask([
                "action": "ListObjects", "prefix": "\(folder + prefix)", "list": list, "expiresIn": .number(life),
            ])
            try #require(answer.status == 201, "\(answer.text)")
            #expect(answer.json["prefix"].text == folder + prefix && answer.json["key"] == .null)
            bench.deployment.keepSecret(urlOf: answer)
            return try Link(answer.json)
        }

        func deletion(_ name: String) async throws -> Link {
            let answer = try await ask(["action": "DeleteObject", "key": "\(folder + name)"])
            try #require(answer.status == 201, "\(answer.text)")
            bench.deployment.keepSecret(urlOf: answer)
            return try Link(answer.json)
        }

        func exists(_ name: String) async throws -> Bool {
            try await bench.downloadLink(folder + name).use().status == 200
        }
    }

    /// The texts of an element in a store's answer.
    private func texts(_ name: String, in answer: RawResponse) -> [String] {
        answer.text.components(separatedBy: "<\(name)>").dropFirst().map {
            $0.components(separatedBy: "</\(name)>")[0]
        }
    }

    @Test("a listing shows the prefix and nothing else, page by page", arguments: StoreKind.allCases)
    func listing(kind: StoreKind) async throws {
        let folder = try await Folder(kind)
        for name in ["mine/a.txt", "mine/b/c.txt", "mine/b/d.txt", "mine/e f+g.txt", "theirs/x.txt", "minex"] {
            try await folder.put(name)
        }
        let all = try await folder.listing("mine/").use()
        #expect(all.status == 200, "\(all.text)")
        #expect(
            texts("Key", in: all).map { String($0.dropFirst(folder.folder.count)) }
                == ["mine/a.txt", "mine/b/c.txt", "mine/b/d.txt", "mine/e f+g.txt"])
        let grouped = try await folder.listing("mine/", ["delimiter": "/"]).use()
        #expect(texts("Key", in: grouped).count == 2 && grouped.text.contains("\(folder.folder)mine/b/</Prefix>"))
        #expect(try await texts("Key", in: folder.listing("mine/b/c").use()).count == 1)

        let first = try await folder.listing("mine/", ["maxKeys": 3]).use()
        #expect(texts("Key", in: first).count == 3)
        let token = try #require(texts("NextContinuationToken", in: first).first)
        let next = try await folder.listing("mine/", ["maxKeys": 3, "continuationToken": "\(token)"]).use()
        #expect(texts("Key", in: next) == [folder.folder + "mine/e f+g.txt"], "\(next.text)")
        let after = try await folder.listing("mine/", ["startAfter": "\(folder.folder)mine/b/d.txt"]).use()
        #expect(texts("Key", in: after).count == 1)
    }

    @Test("a listing's link lists nothing else, and does nothing else", arguments: StoreKind.allCases)
    func misusedListing(kind: StoreKind) async throws {
        let folder = try await Folder(kind)
        try await folder.put("mine/a.txt")
        let link = try await folder.listing("mine/", ["delimiter": "/"])
        #expect(try await link.use().status == 200)
        let encoded = folder.folder.replacing("/", with: "%2F") + "mine%2F"
        try #require(link.url.contains("prefix=\(encoded)"))
        for (wrong, other) in [
            ("prefix=\(encoded)", "prefix=\(folder.folder.replacing("/", with: "%2F"))"),
            ("prefix=\(encoded)", "prefix="),
            ("prefix=\(encoded)&", ""), ("delimiter=%2F", "delimiter=x"), ("list-type=2", "list-type=1"),
            ("list-type=2", "list-type=2&max-keys=1"), ("list-type=2", "list-type=2&start-after=x"),
            ("list-type=2", "list-type=2&versions"),
        ] {
            var changed = link
            changed.url = link.url.replacing(wrong, with: other, maxReplacements: 1)
            try #require(changed.url != link.url, "\(wrong)")
            #expect(try await changed.use().status == 403, "\(other)")
        }
        for method in ["PUT", "DELETE", "POST"] {
            var changed = link
            changed.method = method
            // A store may look at the method first, and know none of the kind.
            let status = try await changed.use().status
            #expect([400, 403, 405, 501].contains(status), "\(method): \(status)")
        }
        var other = link
        other.url = link.url.replacing("/?", with: "/\(folder.folder)mine/a.txt?", maxReplacements: 1)
        #expect(try await other.use().status == 403)
    }

    @Test("a deletion deletes its object and no other, once it may", arguments: StoreKind.allCases)
    func deletion(kind: StoreKind) async throws {
        let folder = try await Folder(kind)
        for name in ["mine/a.txt", "mine/b.txt"] { try await folder.put(name) }
        let link = try await folder.deletion("mine/a.txt")
        var other = link
        other.url = link.url.replacing("a.txt", with: "b.txt", maxReplacements: 1)
        #expect(try await other.use().status == 403)
        var reading = link
        reading.method = "GET"
        #expect(try await reading.use().status == 403)
        let both = try await [folder.exists("mine/a.txt"), folder.exists("mine/b.txt")]
        #expect(both == [true, true])
        #expect(try await link.use().status == 204)
        let remain = try await [folder.exists("mine/a.txt"), folder.exists("mine/b.txt")]
        #expect(remain == [false, true])
        let rows = try await folder.bench.deployment.session().texts(
            """
            SELECT action || ' ' || method || ' ' || (SELECT count(*) FROM deletions d WHERE d.issuance_id = i.id)
            FROM issuances i WHERE starts_with(object_key, '\(folder.folder)') AND principal = '\(folder.user.principal)'
            """)
        #expect(rows == ["DeleteObject DELETE 1"])
    }

    @Test("nothing is issued outside the grant", arguments: StoreKind.allCases)
    func foreign(kind: StoreKind) async throws {
        let folder = try await Folder(kind)
        for prefix in [
            "", "\(folder.folder)", "\(folder.folder)mine", "\(folder.folder)theirs/", "\(folder.folder)min",
        ] {
            #expect(try await folder.ask(["action": "ListObjects", "prefix": "\(prefix)"]).status == 403, "\(prefix)")
        }
        for key in ["minex", "theirs/a.txt", "mine"] {
            #expect(try await folder.ask(["action": "DeleteObject", "key": "\(folder.folder + key)"]).status == 403)
        }
        // Whoever may read and write may do neither.
        let bench = folder.bench
        for request: JSON in [["action": "ListObjects", "prefix": ""], ["action": "DeleteObject", "key": "x"]] {
            #expect(try await bench.user.ask(request.with(["bucket": "\(bench.bucket)"])).status == 403)
        }
        try await bench.deployment.grant(
            ["ListObjects"], to: folder.user.principal, in: bench.bucket, prefix: "\(folder.folder)mine/secret/",
            options: ["effect": "deny"])
        #expect(try await folder.ask(["action": "ListObjects", "prefix": "\(folder.folder)mine/"]).status == 403)
        #expect(try await folder.ask(["action": "ListObjects", "prefix": "\(folder.folder)mine/other/"]).status == 201)
    }

    @Test("a link is dead when its life has ended", arguments: StoreKind.allCases)
    func expiry(kind: StoreKind) async throws {
        let folder = try await Folder(kind)
        try await folder.put("mine/a.txt")
        let link = try await folder.listing("mine/", life: 1)
        try await waitUntil("the store refuses the link") { try await link.use().status == 403 }
    }
}
