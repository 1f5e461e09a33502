import ContractTesting
import Foundation
import HTTPServing
import HTTPTypes
import Signing
import Testing

@testable import GatewayAPI
@testable import GatewayCore

/// Holds the bounds that the contract states to those that the program checks.
@Suite("The contract's bounds") struct ContractBoundTests {
    /// A step from a value to one inside it.
    private enum Step {
        case member(String)
        /// The first item of an array.
        case item
    }

    /// A bound of a member, with a value just beyond it, and one at it.
    private struct Bound {
        var path: [Step]
        var keyword: String
        var beyond: JSONNode
        var at: JSONNode?

        /// The member as errors name it.
        var name: String {
            path.reduce("") { name, step in
                switch step {
                case .member(let member): name.isEmpty ? member : "\(name).\(member)"
                case .item: "\(name)[0]"
                }
            }
        }
    }

    private let contract: ContractDocument

    init() throws {
        contract = try ContractDocument.shared.get()
    }

    /// Members whose bounds no change of an example shows: something else of the body is refused first, or the value
    /// has a form.
    private static let unseen = [
        // An answer for each item.
        "/v1/presigned-urls/batch items[0]",
        // An upload must be there.
        "/v1/multipart-uploads/{id}/parts",
        // They require or exclude other members.
        "/v1/presigned-urls process", "/v1/post-policies keyExtension", "/v1/post-policies keyPrefix",
        "/v1/multipart-uploads key minLength", "/v1/multipart-uploads key maxLength",
        "/admin/v1/buckets publicEndpoints", "/admin/v1/buckets encryption", "/admin/v1/buckets callback",
        "/admin/v1/buckets defaultTTL maximum", "/admin/v1/buckets stableLinkWindow maximum",
        "/admin/v1/storage-credentials keyPair", "/admin/v1/storage-credentials serviceAccount",
        "/admin/v1/storage-credentials sessionRole", "/admin/v1/issuers keys.secret", "/admin/v1/explain list",
        "/admin/v1/explain response", "/admin/v1/simulate add[0].conditions.maxBytes",
        // It has a form.
        "/v1/presigned-urls response.contentDisposition",
        // Their items differ, or one of them is required.
        "/v1/post-policies contentTypes maxItems", "/v1/multipart-uploads/{id}:complete parts maxItems",
        "/admin/v1/issuers console.scopes",
        // Their texts have forms of their own.
        "/v1/signatures/",
        // Ten thousand take long.
        "/admin/v1/grants:apply writes maxItems",
    ]

    @Test func `what is beyond a bound is refused by the name of its member, and what is at the bound is not`()
        async throws
    {
        var reached: Set<String> = []
        var flaws: [String: String] = [:]
        for operation in contract.operations
        where operation.method == "POST" && operation.access != "store" && operation.body["x-sluice-protocol"] == nil {
            let content = contract.resolved(operation.body.requestBody).content
            guard let schema = content?["application/json"]?.schema else { continue }
            let gateway = TestGateway(policy: .ofExamples)
            if operation.path.contains("{bucket}") { try await gateway.makeBucket() }
            if operation.path.contains("/issuers/{id}") { try await gateway.makeIssuer() }
            let path = operation.path.replacing("{group}", with: "group:staff").replacing("{bucket}", with: "photos")
                .replacing("{principal}", with: "user%3Aalice")
                .replacing("{id}", with: MemoryUploads.openID.lowercaseText)
            let examples = contract.examples(in: content, "application/json").sorted(by: { $0.key < $1.key })
            for (_, example) in examples {
                for bound in bounds(of: schema, at: [], in: example) {
                    let key = "\(operation.path) \(bound.name) \(bound.keyword)"
                    // One example suffices.
                    guard !reached.contains(key), !Self.unseen.contains(where: { key.hasPrefix($0) }) else { continue }
                    if let flaw = try await flaw(of: bound, in: example, of: schema, gateway, path) {
                        flaws[key] = flaw
                    } else {
                        reached.insert(key)
                    }
                }
            }
        }
        for (key, flaw) in flaws where !reached.contains(key) { Issue.record("\(key): \(flaw)") }
        #expect(reached.count > 130)
    }

    /// Sends an example with a value beyond a bound, and one with a value at it if the schema permits that, and says
    /// what is wrong with the answers.
    private func flaw(
        of bound: Bound, in example: JSONNode, of schema: JSONNode, _ gateway: TestGateway, _ path: String
    ) async throws -> String? {
        /// The member that is refused, if one is.
        func refused(_ body: JSONNode) async throws -> String? {
            let answer = await gateway.send(
                .post, path, token: "admin-token", json: String(decoding: try body.bytes, as: UTF8.self))
            guard answer.status == 400 else { return nil }
            let first = (answer.json["errors"] as? [[String: Any]])?.first?["field"] as? String
            return answer.string("field") ?? first
        }
        let name = bound.name
        func isMeant(_ field: String) -> Bool {
            // Some errors are about the whole list.
            field == name || field.hasPrefix(name + "[") || field.hasPrefix(name + ".") || field + "[0]" == name
        }
        let wrong = Self.setting(bound.path[...], of: example, to: bound.beyond)
        guard let field = try await refused(wrong) else { return "what is beyond it is not refused" }
        guard isMeant(field) else { return "what is beyond it is refused as '\(field)'" }
        guard let value = bound.at else { return nil }
        let right = Self.setting(bound.path[...], of: example, to: value)
        guard contract.schemas.flaws(of: right, against: schema).isEmpty, let other = try await refused(right) else {
            return nil
        }
        return isMeant(other) ? "what is at it is refused" : nil
    }

    /// The bounds that a schema states for an example and what is in it.
    private func bounds(of schema: JSONNode, at path: [Step], in example: JSONNode?) -> [Bound] {
        var found: [Bound] = []
        func add(_ keyword: String, beyond: JSONNode, at: JSONNode?) {
            found.append(Bound(path: path, keyword: keyword, beyond: beyond, at: at))
        }
        for part in parts(of: schema) {
            if let most = part.maximum?.integer { add("maximum", beyond: .integer(most + 1), at: .integer(most)) }
            if let least = part.minimum?.integer { add("minimum", beyond: .integer(least - 1), at: .integer(least)) }
            if let most = part.maxLength?.integer {
                let start = Self.start(path, most)
                func text(_ length: Int) -> JSONNode {
                    .string(start + String(repeating: "a", count: length - start.utf8.count))
                }
                add("maxLength", beyond: text(most + 1), at: text(most))
            }
            if let least = part.minLength?.integer, least > 0 {
                func text(_ length: Int) -> JSONNode { .string(String(repeating: "a", count: length)) }
                add("minLength", beyond: text(least - 1), at: text(least))
            }
            if let most = part.maxItems?.integer, let item = example?.items.first {
                func list(_ count: Int) -> JSONNode { .array(Array(repeating: item, count: count)) }
                add("maxItems", beyond: list(most + 1), at: list(most))
            }
            if let least = part.minItems?.integer, least > 0 { add("minItems", beyond: .array([]), at: nil) }
            for (name, member) in part.properties?.members ?? [:] {
                found += bounds(of: member, at: path + [.member(name)], in: example?[name])
            }
            if let items = part["items"], let item = example?.items.first {
                found += bounds(of: items, at: path + [.item], in: item)
            }
            if let others = part["additionalProperties"] {
                for (name, member) in example?.members ?? [:] where part.properties?[name] == nil {
                    found += bounds(of: others, at: path + [.member(name)], in: member)
                }
            }
        }
        return found
    }

    /// A schema, what it refers to, and what it joins.
    private func parts(of schema: JSONNode) -> [JSONNode] {
        let referred = schema["$ref"] == nil ? [] : parts(of: contract.resolved(schema))
        return [schema] + referred + (schema.allOf?.items ?? []).flatMap { parts(of: $0) }
    }

    /// What the longest text begins with, where texts have a form.
    private static func start(_ path: [Step], _ length: Int) -> String {
        // Principals have lengths of their own.
        if length == 517 { return "user:" }
        if length == 518 { return "group:" }
        for case .member(let name) in path.reversed() {
            switch name {
            case "contentType", "contentTypes": return "a/"
            case "url": return "https://a.example/"
            case "origin": return "https://"
            case "endpoint": return "https://" + longestHost + ":65535/"
            default: return ""
            }
        }
        return ""
    }

    private static let longestHost =
        String(repeating: String(repeating: "a", count: 63) + ".", count: 3) + String(repeating: "a", count: 61)

    /// Returns a value in which another one has taken the place at a path.
    private static func setting(_ path: ArraySlice<Step>, of node: JSONNode?, to value: JSONNode) -> JSONNode {
        guard let step = path.first else { return value }
        switch step {
        case .member(let name):
            var members = node?.members ?? [:]
            members[name] = setting(path.dropFirst(), of: members[name], to: value)
            return .object(members)
        case .item:
            let items = node?.items ?? []
            return .array([setting(path.dropFirst(), of: items.first, to: value)] + items.dropFirst())
        }
    }

    @Test func `members with the same name have the same bounds wherever admins and users send them`() {
        let schemas = contract.root.components?.schemas?.members ?? [:]
        // Members that changes have as well, and the bound of each.
        let members: [(member: String, keyword: String, value: Int, schemas: [String])] = [
            ("prefix", "maxLength", 1023, Self.grants + ["AdminScope", "NewSession", "NewTicket", "NewCDNCookies"]),
            ("template", "maxLength", 1023, Self.grants),
            ("region", "maxLength", 64, Self.buckets + ["SessionRole", "SessionRolePatch"]),
            ("key", "maxLength", 1023, Self.uploads), ("keyPrefix", "maxLength", 987, Self.uploads),
        ]
        for (member, keyword, value, names) in members {
            for name in names {
                let stated = schemas[name]?.properties?[member]?[keyword]?.integer
                #expect(stated == value, "\(name).\(member) \(keyword)")
            }
        }
        for name in Self.uploads {
            let metadata = schemas[name]?.properties?.metadata
            #expect(metadata?.propertyNames?.maxLength?.integer == 128, "\(name)")
            #expect(metadata?["additionalProperties"]?.maxLength?.integer == 1024, "\(name)")
        }
        for name in ["NewIssuer", "IssuerReplacement", "IssuerPatch"] {
            let claims = schemas[name]?.properties?.usableClaims
            #expect(claims?["items"]?.maxLength?.integer == 128, "\(name)")
        }
        for member in ["contentDisposition", "contentLanguage", "cacheControl", "expires", "contentEncoding"] {
            let stated = schemas["ResponseOverrides"]?.properties?[member]
            #expect(stated?.maxLength?.integer == 1024 && stated?.minLength?.integer == 1, "\(member)")
        }
    }

    private static let grants = [
        "NewGrant", "GrantReplacement", "GrantPatch", "GrantLine", "GrantWrite", "ProposedGrant",
    ]
    private static let buckets = ["NewBucket", "BucketReplacement", "BucketPatch"]
    private static let uploads = ["PresignedURLRequest", "PostPolicyRequest", "NewMultipartUpload"]

    /// Sends a link's request with another member, and returns the name of the member that is refused, if one is.
    private func refusedMember(_ gateway: TestGateway, _ members: String) async -> String? {
        let json = #"{"action":"PutObject","bucket":"photos","contentType":"image/png",\#(members)}"#
        let answer = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: json)
        return answer.status == 400 ? answer.string("field") : nil
    }

    @Test func `lengths of what a link names are those of the code`() async {
        let gateway = TestGateway(policy: .ofExamples)
        func text(_ count: Int, _ byte: Character = "a") -> String { String(repeating: byte, count: count) }
        for (members, field) in [
            (#""key":"\#(text(1023))""#, nil), (#""key":"\#(text(1024))""#, "key"),
            (#""keyPrefix":"\#(text(986))/""#, nil), (#""keyPrefix":"\#(text(987))/""#, "keyPrefix"),
            (#""keyPrefix":"\#(text(982))/","keyExtension":"png""#, nil),
            (#""keyPrefix":"\#(text(983))/","keyExtension":"png""#, "keyPrefix"),
            (#""key":"a","metadata":{"\#(text(128))":"a"}"#, nil),
            (#""key":"a","metadata":{"\#(text(129))":"a"}"#, "metadata"),
            (#""key":"a","metadata":{"a":"\#(text(1024))"}"#, nil),
            (#""key":"a","metadata":{"a":"\#(text(1025))"}"#, "metadata.a"),
            (#""key":"a","metadata":{"a":"\#(text(1023))","b":"\#(text(1023))"}"#, nil),
            (#""key":"a","metadata":{"a":"\#(text(1023))","b":"\#(text(1024))"}"#, "metadata"),
        ] as [(String, String?)] {
            #expect(await refusedMember(gateway, members) == field, "\(members.prefix(40))")
        }
        for member in ["contentDisposition", "contentLanguage", "cacheControl", "expires", "contentEncoding"] {
            let name = "response.\(member)"
            for (count, field) in [(1024, nil), (1025, name), (0, name)] as [(Int, String?)] {
                // A disposition has a form.
                let form = member == "contentDisposition" && count > 0 ? "inline;" : ""
                let value = form + text(count - form.count)
                let json = #"{"action":"GetObject","bucket":"photos","key":"a","response":{"\#(member)":"\#(value)"}}"#
                let answer = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: json)
                #expect((answer.status == 400 ? answer.string("field") : nil) == field, "\(member) \(count)")
            }
        }
    }

    @Test func `digests are permitted that are accepted, and no others`() async throws {
        let gateway = TestGateway(policy: .ofExamples)
        let schema = contract.root.components?.schemas?.PresignedURLRequest?.properties
        let characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
        for (member, count, padding) in [("contentMD5", 21, "=="), ("checksumSHA256", 42, "=")] {
            var accepted = 0
            for last in characters {
                let text = String(repeating: "A", count: count) + String(last) + padding
                let isPermitted = contract.schemas.flaws(of: .string(text), against: schema?[member]).isEmpty
                let field = await refusedMember(gateway, #""key":"a","\#(member)":"\#(text)""#)
                #expect(field == (isPermitted ? nil : member), "\(text)")
                accepted += isPermitted ? 1 : 0
            }
            #expect(accepted == (member == "contentMD5" ? 4 : 16))
        }
    }

    private static let longName = String(repeating: "a", count: 512)

    @Test(arguments: [
        "*", "**", "user:", "user:a", "group:a", "role:a", "a", "user:a\u{7}", "user:a\u{85}",
        "user:\(longName)", "user:\(longName)a", "group:\(longName)", "group:\(longName)a",
    ])
    func `principals are permitted that are accepted, and no others`(name: String) {
        let schema = contract.root.components?.schemas?.Principal
        let isPermitted = contract.schemas.flaws(of: .string(name), against: schema).isEmpty
        #expect(isPermitted == ((try? Principal(name)) != nil))
    }

    @Test func `bounds and defaults that no refusal shows are those of the code`() {
        let schemas = contract.root.components?.schemas
        func stated(_ schema: String, _ member: String, _ keyword: String) -> Int? {
            schemas?[schema]?.properties?[member]?[keyword]?.integer
        }
        let pairs: [(schema: String, member: String, keyword: String, value: Int)] = [
            ("ListOptions", "maxKeys", "maximum", Int(Listing.maxKeys)),
            ("PostPolicyRequest", "contentTypes", "maxItems", PostPolicyRequest.maxContentTypes),
            ("PostPolicyRequest", "metadata", "maxProperties", ObjectMetadata.maxCount),
            ("PresignedURLRequest", "metadata", "maxProperties", ObjectMetadata.maxCount),
            ("NewMultipartUpload", "metadata", "maxProperties", ObjectMetadata.maxCount),
            ("ExplainRequest", "metadata", "maxProperties", ObjectMetadata.maxCount),
            ("MultipartCompletion", "parts", "maxItems", UploadedPart.maxCount),
            ("StoredPart", "partNumber", "maximum", UploadedPart.maxCount),
            ("MultipartParts", "results", "maxItems", PresignedURLs.maxBatch),
            ("PresignedURLBatch", "results", "maxItems", PresignedURLs.maxBatch),
            ("GrantBatch", "writes", "maxItems", GrantBatch.maxCount),
            ("GrantBatch", "deletes", "maxItems", GrantBatch.maxCount),
            ("Access", "grants", "maxItems", AccessOverview.maxGrants),
            ("GitLFSRequest", "objects", "maxItems", GitLFSBatch.maxObjects),
            ("WebIdentityForm", "RoleArn", "minLength", RoleARN.lengths.lowerBound),
            ("WebIdentityForm", "RoleArn", "maxLength", RoleARN.lengths.upperBound),
            ("WebIdentityForm", "DurationSeconds", "minimum", SessionRole.durations.lowerBound),
            ("WebIdentityForm", "DurationSeconds", "maximum", SessionRole.durations.upperBound),
            ("WebIdentityForm", "DurationSeconds", "default", SessionRequest.defaultDuration),
            ("SessionRole", "maxDuration", "minimum", SessionRole.durations.lowerBound),
            ("SessionRole", "maxDuration", "maximum", SessionRole.durations.upperBound),
            ("SessionRolePatch", "maxDuration", "minimum", SessionRole.durations.lowerBound),
            ("SessionRolePatch", "maxDuration", "maximum", SessionRole.durations.upperBound),
            ("CDNSigning", "validity", "maximum", CDNSigning.maxValidity),
            ("CDNSigningPatch", "validity", "maximum", CDNSigning.maxValidity),
            ("NewBucket", "callback", "maxLength", Bucket.maxCallbackBytes),
            ("NewBucket", "callbackVar", "maxLength", Bucket.maxCallbackBytes),
            ("NewBucket", "allowedOrigins", "maxItems", Bucket.maxOrigins),
            ("BucketReplacement", "callback", "maxLength", Bucket.maxCallbackBytes),
            ("BucketReplacement", "callbackVar", "maxLength", Bucket.maxCallbackBytes),
            ("BucketReplacement", "allowedOrigins", "maxItems", Bucket.maxOrigins),
            ("BucketPatch", "callback", "maxLength", Bucket.maxCallbackBytes),
            ("BucketPatch", "callbackVar", "maxLength", Bucket.maxCallbackBytes),
            ("BucketPatch", "allowedOrigins", "maxItems", Bucket.maxOrigins),
            ("StringToSign", "content", "maxLength", ReceivedStringToSign.maxByteCount),
            ("StringToSign", "canonicalRequest", "maxLength", ReceivedCanonicalRequest.maxByteCount),
            ("StringToSignV2", "content", "maxLength", ReceivedStringToSign.maxByteCount),
            ("NewSession", "expiresIn", "default", SessionRequest.defaultDuration),
            ("NewTicket", "expiresIn", "default", Ticket.defaultLife),
            ("NewTicket", "maxUses", "default", Int(Ticket.defaultUses)),
            ("SimulateRequest", "days", "default", Int(Simulator.defaultDays)),
            ("NewBucket", "endpoint", "maxLength", StoreEndpoint.maxOriginBytes),
            ("BucketReplacement", "endpoint", "maxLength", StoreEndpoint.maxOriginBytes),
            ("BucketPatch", "endpoint", "maxLength", StoreEndpoint.maxOriginBytes),
            ("PublicEndpoint", "url", "maxLength", StoreEndpoint.maxOriginBytes),
            ("PublicEndpointPatch", "url", "maxLength", StoreEndpoint.maxOriginBytes),
            ("CDNEndpoint", "url", "maxLength", StoreEndpoint.maxOriginBytes),
            ("CDNEndpointPatch", "url", "maxLength", StoreEndpoint.maxOriginBytes),
            ("SessionRole", "endpoint", "maxLength", StoreEndpoint.maxOriginBytes),
            ("SessionRolePatch", "endpoint", "maxLength", StoreEndpoint.maxOriginBytes),
        ]
        for (schema, member, keyword, value) in pairs {
            #expect(stated(schema, member, keyword) == value, "\(schema).\(member) \(keyword)")
        }
        let key = contract.root.components?.parameters?.IdempotencyKey?.schema
        #expect(key?.maxLength?.integer == Idempotency.maxKeyBytes)
    }
}
