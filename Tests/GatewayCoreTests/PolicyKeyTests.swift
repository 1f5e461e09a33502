import Foundation
import GatewayCore
import Testing

/// Keys of rows, and the scopes under which these change.
@Suite struct PolicyKeyTests {
    /// A key of each kind of row, and the text of its scope.
    private static func key(of kind: PolicyScope.Kind) throws -> (key: PolicyKey, scope: String) {
        let id = Fixture.id(500)
        return switch kind {
        case .bucket: (.bucket(try BucketName("demo-bucket")), "bucket:demo-bucket")
        case .credential: (.credential(id), "credential:\(id.uuidString.lowercased())")
        case .issuer: (.issuer(ExactText("https://id.example")), "issuer:https://id.example")
        case .apiKey: (.apiKey(prefix: "k1"), "apikey:k1")
        case .ticket: (.ticket(name: "t1"), "ticket:t1")
        }
    }

    @Test(arguments: PolicyScope.Kind.allCases)
    func `the key of a row and its scope lead to each other`(kind: PolicyScope.Kind) throws {
        let (key, scope) = try Self.key(of: kind)
        #expect(key.scope.rawValue == scope)
        #expect(PolicyKey(PolicyScope(rawValue: scope)) == key)
    }

    @Test(arguments: ["*", "user:alice", "group:staff", "user:ticket:t1"])
    func `the scope of a principal is its own text`(text: String) throws {
        let key = PolicyKey.principal(try Principal(text))
        #expect(key.scope.rawValue == text)
        #expect(PolicyKey(PolicyScope(rawValue: text)) == key)
    }

    @Test(arguments: ["all", "buckets", "callers", "something:new", "bucket:", "credential:1"])
    func `a scope that names no rows has no key`(text: String) {
        #expect(PolicyKey(PolicyScope(rawValue: text)) == nil)
    }
}
