import Foundation
import Testing

@testable import GatewayCore
@testable import Signing

/// The check before each recording, with input that differs slightly from what was decided.
@Suite("A proof") struct ProofTests {
    private static let length: Int64 = 5

    private func decided(_ scheme: Bucket.Scheme) throws -> (IssueRequest, Permit) {
        let request = try Fixture.put(length: Self.length) { fields in
            fields.contentMD5 = "1B2M2Y8AsgTpgAmY7PhCfg=="
            fields.metadata = ["owner": "a"]
        }
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: Fixture.bucket(scheme: scheme))
        return (request, try Fixture.decided(request, under: policy).permit)
    }

    private func artefact(
        _ scheme: Bucket.Scheme, _ request: IssueRequest, _ permit: Permit,
        _ change: (inout PresignRequest) -> Void = { _ in }
    ) throws -> PresignArtefact {
        let address = try BucketAddress(
            endpoint: StoreEndpoint("https://s3.example.com"), bucket: "demo-bucket", addressing: .path)
        var signed = PresignRequest(
            method: request.httpMethod, address: address, key: request.key.rawValue, headers: permit.headers,
            query: permit.query, expiresInSeconds: permit.expiresIn)
        change(&signed)
        let instant = try #require(SigningInstant(epochSeconds: Int64(permit.signedAt.timeIntervalSince1970)))
        return PresignArtefact(request: signed, instant: instant, binding: scheme.binding)
    }

    private func gap(_ body: () throws -> Void) throws -> ProofGap? {
        do {
            try body()
            return nil
        } catch GatewayError.unproven(let gap) {
            return gap
        }
    }

    @Test(
        "of a URL fails for each header, parameter and bound that is not as decided", arguments: Bucket.Scheme.allCases)
    func urls(scheme: Bucket.Scheme) throws {
        let (request, permit) = try decided(scheme)
        func gap(_ change: (inout PresignRequest) -> Void) throws -> ProofGap? {
            try self.gap { try prove(artefact(scheme, request, permit, change), by: permit, of: request) }
        }
        #expect(try gap { _ in } == nil)
        for place in permit.headers.indices {
            #expect(try gap { $0.headers.remove(at: place) } == .header)
            #expect(try gap { $0.headers[place].value += "0" } == .header)
            #expect(try gap { $0.headers[place].name += "x" } == .header)
        }
        #expect(try gap { $0.headers.reverse() } == nil)
        #expect(try gap { $0.method = "POST" } == .method)
        #expect(try gap { $0.key += "x" } == .place)
        #expect(try gap { $0.key = "team/photo\u{301}.png" } == .place)
        #expect(try gap { $0.expiresInSeconds += 1 } == .expiry)
        #expect(try gap { $0.expiresInSeconds -= 1 } == nil)
        #expect(try gap { $0.query = [NamedValue("acl", "")] } == .parameter)
        let other: Bucket.Scheme = scheme == .awsV4 ? .awsV2 : .awsV4
        #expect(
            try self.gap { try prove(artefact(other, request, permit), by: permit, of: request) } == .scheme)
    }

    @Test("of a download fails without one of its parameters")
    func parameters() throws {
        let request = try Fixture.get { fields in
            fields.versionID = "1"
            fields.response = ResponseOverrides.Fields()
            fields.response?.cacheControl = "no-cache"
        }
        let policy = try Fixture.policy(
            grants: [Fixture.grant(1, conditions: GrantConditions(forceDownload: true, allowVersions: true))])
        let permit = try Fixture.decided(request, under: policy).permit
        #expect(permit.query.count == 3)
        for place in permit.query.indices {
            #expect(
                try gap {
                    try prove(
                        artefact(.awsV4, request, permit) { $0.query.remove(at: place) }, by: permit, of: request)
                } == .parameter)
            #expect(
                try gap {
                    try prove(
                        artefact(.awsV4, request, permit) { $0.query[place].value += "x" }, by: permit, of: request)
                } == .parameter)
        }
    }

    @Test(
        "of a form fails for each condition that its policy lacks or changes",
        arguments: [Bucket.Scheme.awsV4, .ossV4, .ossV1])
    func forms(scheme: Bucket.Scheme) throws {
        var fields = PostPolicyRequest.Fields()
        (fields.bucket, fields.key, fields.contentTypes) = ("demo-bucket", "team/a", ["image/png"])
        (fields.minBytes, fields.maxBytes, fields.metadata) = (1, 10, ["owner": "a"])
        let request = try PostPolicyRequest(fields) { UUID() }
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: Fixture.bucket(scheme: scheme))
        let subject = Subject(principal: try Principal("user:alice"))
        let permit = try decide(request, for: subject, under: policy, sourceAddress: nil, now: Fixture.now).permit
        let isOSS = scheme != .awsV4
        let type = isOSS ? "x-oss-content-type" : "Content-Type"
        let owner = isOSS ? "x-oss-meta-owner" : "x-amz-meta-owner"
        let good: [String] =
            [
                #"["content-length-range",1,10]"#, #"{"bucket":"demo-bucket"}"#, #"{"key":"team/a"}"#,
                #"{"\#(type)":"image/png"}"#, #"{"\#(owner)":"a"}"#,
            ] + (isOSS ? [#"{"x-oss-object-acl":"default"}"#] : [])
        func gap(_ conditions: [String], expiration: String = "2024-05-17T08:45:00Z") throws -> ProofGap? {
            let text = #"{"expiration":"\#(expiration)","conditions":[\#(conditions.joined(separator: ","))]}"#
            let encoded = Data(text.utf8).base64EncodedString()
            let form = SignedPostForm(
                url: "https://s3.example.com", path: "/", fields: [NamedValue("policy", encoded)],
                policyBase64: encoded,
                signature: "")
            return try self.gap {
                try prove(
                    FormArtefact(form, of: request, binding: scheme.binding), by: permit,
                    of: request.uploads[0])
            }
        }
        #expect(try gap(good) == nil)
        for (place, missing) in [ProofGap.size, .place, .place, .header, .header, .policy].prefix(good.count)
            .enumerated()
        {
            var fewer = good
            fewer.remove(at: place)
            #expect(try gap(fewer) == missing, "\(good[place])")
        }
        let wrong: [(Int, String, ProofGap)] = [
            (0, #"["content-length-range",0,10]"#, .size), (0, #"["content-length-range",1,11]"#, .size),
            (1, #"{"bucket":"other-bucket"}"#, .place), (2, #"["starts-with","$key","team/a"]"#, .place),
            (3, #"["starts-with","$\#(type)","image/"]"#, .header),
            (3, #"["in","$\#(type)",["image/png","text/html"]]"#, .header),
            (4, #"{"\#(owner)":"b"}"#, .header),
            (4, #"["not-in","$\#(owner)",["b"]]"#, .policy),
            // Alibaba OSS takes the type from another field.
            (3, isOSS ? #"{"Content-Type":"image/png"}"# : #"{"x-oss-content-type":"image/png"}"#, .header),
            (5, #"{"x-oss-object-acl":"public-read"}"#, .policy),
            (5, #"["in","$x-oss-object-acl",["default"]]"#, .policy),
        ]
        for (place, condition, missing) in wrong where place < good.count {
            var changed = good
            changed[place] = condition
            #expect(try gap(changed) == missing, "\(condition)")
        }
        #expect(try gap(good, expiration: "2024-05-17T08:45:01Z") == .expiry)
    }

    @Test("of a session policy fails for each statement that is missing, wider or added")
    func sessions() throws {
        let grants = [
            try Fixture.sessionGrant(1), try Fixture.sessionGrant(2, on: "team/sealed/", effect: .deny),
        ]
        let request = try SessionRequest(
            bucket: try BucketName("demo-bucket"), prefix: "", actions: nil, duration: nil)
        let decision = decideSession(
            request, for: Subject(principal: try Principal("user:alice")), under: try Fixture.policy(grants: grants),
            sourceAddress: nil, now: Fixture.now)
        let permit = try decision.permit
        for dialect in SessionPolicyDialect.allCases {
            let text = dialect.policy(of: permit.scope)
            func gap(_ text: String) throws -> ProofGap? { try self.gap { try prove(text, in: dialect, by: permit) } }
            #expect(try gap(text) == nil)
            let service = dialect == .aws ? "s3" : "oss"
            let changes = [
                (#"{"Effect":"Deny""#, #"{"Effect":"Allow""#), ("team/*", "*"), ("team/sealed/*", "team/sealed/a/*"),
                (#""\#(service):GetObject""#, #""\#(service):GetObject","\#(service):GetObjectVersion""#),
                (#""\#(service):GetObject""#, #""\#(service):*""#), ("demo-bucket", "demo-bucket2"),
                (#"{"Version":"#, #"{"Version":"x","V":"#),
            ]
            for (old, new) in changes {
                let changed = text.replacing(old, with: new, maxReplacements: 1)
                let found = try gap(changed)
                #expect(changed != text && found == .policy, "\(old)")
            }
            #expect(try gap(String(text.dropLast())) == .policy)
            let statements = text.dropLast(2).split(separator: #",{"Effect""#)
            // With OSS, one more keeps uploads private.
            #expect(statements.count == (dialect == .aws ? 2 : 3))
            for left in statements.indices.dropFirst() {
                let others = statements.indices.filter { $0 != left }.map { statements[$0] }
                #expect(try gap(others.joined(separator: #",{"Effect""#) + "]}") == .policy)
            }
        }
    }

    @Test("of a string fails for what the string lacks, and for the binding of another scheme")
    func strings() throws {
        let (request, permit) = try decided(.awsV2)
        func gap(_ text: String, by scheme: Bucket.Scheme = .awsV2) throws -> ProofGap? {
            let now = try #require(SigningInstant(epochSeconds: Int64(Fixture.now.timeIntervalSince1970)))
            let string = try ReceivedStringToSign(text, vendor: .amazon)
                .permitted(by: StringRules(now: now, maxLifeSeconds: 604_800))
            var bucket = permit.bucket
            bucket.scheme = scheme
            return try self.gap { try prove(StringArtefact(string, for: bucket), by: permit, of: request) }
        }
        let (md5, date, owner) = ("1B2M2Y8AsgTpgAmY7PhCfg==", "Fri, 17 May 2024 08:30:00 GMT", "x-amz-meta-owner:a")
        let path = "/demo-bucket/team/photo.png"
        let good = "PUT\n\(md5)\nimage/png\n\(date)\n\(owner)\n\(path)"
        #expect(try gap(good) == nil)
        for scheme in [Bucket.Scheme.gcsV4HMAC, .awsV4] { #expect(try gap(good, by: scheme) == .scheme) }
        #expect(try gap(good.replacing(md5, with: "")) == .header)
        #expect(try gap(good.replacing("image/png", with: "image/gif")) == .header)
        #expect(try gap(good.replacing("owner:a", with: "owner:b")) == .header)
        #expect(try gap(good.replacing(owner + "\n", with: "")) == .header)
        #expect(try gap(good.replacing("photo", with: "other")) == .place)
        #expect(try gap(good.replacing("PUT", with: "GET")) == .method)
        #expect(try gap(good.replacing("PUT", with: "POST") + "?uploads") == .method)
        #expect(try gap(good + "?partNumber=1&uploadId=X") == .parameter)
        #expect(try gap(good.replacing(date, with: "Fri, 17 May 2024 08:30:01 GMT")) == .expiry)
    }
}
