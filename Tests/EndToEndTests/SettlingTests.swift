import Foundation
import HTTPTesting
import LibPQ
import Signing
import TestSupport
import Testing

/// The bytes that a quota gives back after the links are dead, according to a real store.
@Suite struct SettlingTests {
    /// The kinds of buckets in these tests.
    enum BucketKind: Sendable {
        case plain
        /// The store keeps former versions.
        case versioned
        /// As before, and the gateway is told that others delete there: this store does not report that by itself.
        case emptied
    }

    /// The fate of an upload of 100 bytes, and the amount that remains counted.
    struct Fate: Sendable {
        let name: String
        let counted: Int
        var form = false
        var bucket = BucketKind.plain
        let happens: @Sendable (Place) async throws -> Void
    }

    /// A user with a link or a form.
    struct Place: Sendable {
        let bench: StoreBench
        let user: User
        let bucket: String
        let key: String
        let issued: JSON

        /// Uses the link, or sends the form, with `count` bytes.
        func use(_ count: Int = 100) async throws {
            if issued["fields"].members.isEmpty {
                let status = try await Link(issued).use([UInt8](repeating: 0x61, count: count)).status
                try #require(status == 200)
            } else {
                var form = try Form(issued)
                form.file = [UInt8](repeating: 0x61, count: count)
                try #require((200...204).contains(try await form.send().status))
            }
        }

        /// Acts as another tool would.
        func others(_ method: String, body: String = "") async throws {
            let answer = try await bench.asOwner(method, key, in: bucket, body: body)
            try #require((200...204).contains(answer.status), "\(answer.text)")
        }
    }

    static let fates = [
        Fate(name: "unused", counted: 0) { _ in },
        Fate(name: "used", counted: 100) { try await $0.use() },
        Fate(name: "used, then replaced by nothing") { place in
            try await place.use()
            try await place.others("PUT")
        },
        Fate(name: "used, then replaced by more") { place in
            try await place.use()
            try await place.others("PUT", body: String(repeating: "x", count: 5000))
        },
        Fate(name: "something else came before it was used") { place in
            try await place.others("PUT", body: "x")
            try await place.use()
        },
        Fate(name: "a form with a small file", form: true) { try await $0.use(10) },
        Fate(name: "a form with a large file and then a small one", form: true) { place in
            try await place.use(100)
            try await place.use(1)
        },
        Fate(name: "an unused form", counted: 0, form: true) { _ in },
        Fate(name: "older", counted: 0) { place in
            try await place.others("PUT", body: "older")
            try await place.makeYounger()
        },
        Fate(name: "older, in versions", counted: 0, bucket: .versioned) { place in
            try await place.others("PUT", body: "older")
            try await place.makeYounger()
        },
        Fate(name: "unused, in versions", counted: 0, bucket: .versioned) { _ in },
        Fate(name: "used, then replaced by nothing, in versions", bucket: .versioned) { place in
            try await place.use()
            try await place.others("PUT")
        },
        Fate(name: "used and deleted by others", bucket: .emptied) { place in
            try await place.use()
            try await place.others("DELETE")
        },
        Fate(name: "unused, where others delete", bucket: .emptied) { _ in },
    ]

    @Test func `A store shows what never arrived`() async throws {
        try await StoreBench.with(.radosgw, reachesStore: true) { bench in
            let versioned = try await bench.anotherBucket(isVersioned: true)
            let emptied = try await bench.anotherBucket(isVersioned: true, options: ["externalDeletions": true])
            var places: [(fate: Fate, place: Place)] = []
            for (number, fate) in Self.fates.enumerated() {
                let bucket =
                    switch fate.bucket {
                    case .plain: bench.bucket
                    case .versioned: versioned
                    case .emptied: emptied
                    }
                let place = try await place(number, fate, at: bench, in: bucket)
                try await fate.happens(place)
                places.append((fate, place))
            }
            // The links expired an hour ago.
            try await bench.deployment.session().runScript(
                "UPDATE reservations SET dead_at = now() - interval '1 hour', check_at = now() - interval '1 hour'")
            try await bench.deployment.withSettling { _ in }
            // The gateway of the deployment may have taken some of them.
            try await waitUntil("everything is settled") {
                try await bench.deployment.number("SELECT count(*) FROM reservations") == 0
            }
            for (fate, place) in places {
                let sum = "SELECT sum(used) FROM quota_usage WHERE holder = '\(place.user.principal)'"
                #expect(try await bench.deployment.number(sum) == fate.counted, "\(fate.name)")
            }
            #expect(try await bench.deployment.number("SELECT count(*) FROM reservations") == 0)
            _ = try await Program.run(["audit-quotas"], environment: bench.deployment.environment)
        }
    }

    private func place(
        _ number: Int, _ fate: Fate, at bench: StoreBench, in bucket: String
    ) async throws -> Place {
        let user = try await bench.deployment.makeUser("user-\(number)")
        try await bench.deployment.grant(["PutObject"], to: user.principal, in: bucket)
        try await bench.deployment.quota(100, for: user.principal, options: ["metric": "bytes"])
        let key = bench.freshKey()
        let request: JSON =
            fate.form
            ? ["bucket": "\(bucket)", "key": "\(key)", "contentTypes": ["text/plain"], "maxBytes": 100]
            : JSON.upload(key, to: bucket).with(["contentLength": 100])
        let answer = try await user.client.call(
            "POST", fate.form ? "/v1/post-policies" : "/v1/presigned-urls", request)
        try #require(answer.status == 201, "\(answer.text)")
        bench.deployment.keepSecret(urlOf: answer)
        return Place(bench: bench, user: user, bucket: bucket, key: key, issued: answer.json)
    }
}

extension SettlingTests.Fate {
    fileprivate init(
        name: String, form: Bool = false, bucket: SettlingTests.BucketKind = .plain,
        _ happens: @escaping @Sendable (SettlingTests.Place) async throws -> Void
    ) {
        self.init(name: name, counted: 100, form: form, bucket: bucket, happens: happens)
    }
}

extension SettlingTests.Place {
    /// Moves the reservation of the link a minute later, so that the object there now is older.
    fileprivate func makeYounger() async throws {
        let id = try #require(issued["id"].text)
        try await bench.deployment.session().runScript(
            "UPDATE reservations SET issued_at = issued_at + interval '60 seconds' WHERE issuance_id = '\(id)'")
    }
}

extension StoreBench {
    /// Makes one more bucket, which keeps former versions on request.
    fileprivate func anotherBucket(isVersioned: Bool = false, options: [String: JSON] = [:]) async throws -> String {
        let name = "settling-\(UUID().uuidString.lowercased())"
        let made = try await asOwner("PUT", in: name)
        try #require(made.status == 200, "\(made.text)")
        if isVersioned {
            let rules = """
                <VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status>\
                </VersioningConfiguration>
                """
            let answer = try await asOwner("PUT", in: name, query: [NamedValue("versioning", "")], body: rules)
            try #require(answer.status == 200, "\(answer.text)")
        }
        return try await deployment.makeBucket(
            name, endpoint: endpoint, region: region, accessKeyID: credential.accessKeyID,
            secretAccessKey: credential.secretAccessKey, options: options)
    }
}
