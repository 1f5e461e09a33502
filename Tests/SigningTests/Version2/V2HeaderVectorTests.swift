import Signing
import Testing

@Suite("Version 2 header, form and RPC vectors")
struct V2HeaderVectorTests {
    static let headers =
        V2Vector.of("oss-v1-header", in: "oss_v1_header") + V2Vector.of("aws-v2-header", in: "aws_v2")

    @Test func allVectorsAreThere() {
        #expect(V2Vector.of("oss-v1-header", in: "oss_v1_header").count == 9)
        #expect(V2Vector.of("aws-v2-header", in: "aws_v2").count == 9)
        #expect(V2Vector.of("sts-ali-rpc-v1", in: "sts_alibaba").count == 3)
        #expect(V2Vector.of("oss-v1-post", in: "oss_post").count == 1)
    }

    @Test(arguments: headers)
    func eachStageIsWhatTheSDKMade(vector: V2Vector) throws {
        let signed = try vector.authorized()
        #expect(signed.stringToSign == vector.expected.stringToSign)
        #expect(signed.signature == vector.expected.signature)
        #expect(signed.authorization == vector.expected.authorization)
        #expect(signed.headers.last == NamedValue("authorization", signed.authorization))
        #expect(signed.canonicalRequest == nil)
        let required = vector.expected.requiredHeaders.map { NamedValue($0.key.lowercased(), $0.value) }
        // Published examples do not always show the headers.
        guard !required.isEmpty else { return }
        #expect(Set(signed.headers.dropLast()) == Set(required))
    }

    @Test(arguments: headers)
    func aChangedInputChangesTheSignature(vector: V2Vector) throws {
        let changes: [(inout V2Vector) -> Void] = [
            { $0.inputs.method = $0.inputs.method == "GET" ? "PUT" : "GET" },
            { $0.inputs.secretAccessKey? += "x" },
            {
                $0.inputs.contentType = ($0.inputs.contentType ?? "") + "x"; $0.inputs.headers["Content-Type"] = nil
            },
            {
                $0.inputs.contentMD5 = ($0.inputs.contentMD5 ?? "") + "x"; $0.inputs.headers["Content-MD5"] = nil
            },
            { $0.inputs.headers[$0.scheme == "oss-v1-header" ? "x-oss-meta-added" : "x-amz-meta-added"] = "" },
            { $0.inputs.query["versionId"] = "y" },
            { $0.inputs.securityToken = "another" },
            { vector in
                vector.inputs.headers["Date"] = "Sat, 18 May 2024 08:30:00 GMT"
                if vector.inputs.headers["x-oss-date"] != nil {
                    vector.inputs.headers["x-oss-date"] = "Sat, 18 May 2024 08:30:00 GMT"
                }
            },
        ]
        for change in changes {
            var changed = vector
            change(&changed)
            #expect(try changed.authorized().signature != vector.expected.signature)
        }
    }

    @Test func aRequestWithoutADateGetsOne() throws {
        let vector = try #require(Self.headers.first { $0.name == "oss1-hdr-put" })
        let signed = try vector.authorized()
        #expect(signed.headers.contains(NamedValue("date", "Fri, 17 May 2024 08:30:00 GMT")))
        #expect(signed.path == "/u/42/%E3%82%A2%E3%83%90%E3%82%BF%E3%83%BC%201%2B1.png")
    }

    @Test func amazonsDateHeaderEmptiesTheLine() throws {
        var vector = try #require(Self.headers.first { $0.name == "aws2-doc-delete" })
        vector.inputs.headers["x-amz-date"] = "Tue, 27 Mar 2007 21:20:26 +0000"
        #expect(
            try vector.authorized().stringToSign
                == "DELETE\n\n\n\nx-amz-date:Tue, 27 Mar 2007 21:20:26 +0000\n/johnsmith/photos/puppy.jpg")
    }

    @Test func googlesWordsAreItsOwn() throws {
        let vector = try #require(Self.headers.first { $0.name == "aws2-hdr-gcs-qiita-put" })
        var request = try vector.inputs.signableRequest
        request.headers.append(NamedValue("X-Goog-Meta-A", " 1 \t 2 "))
        let signed = try AWSV2.authorize(
            request, vendor: .google, with: SigningKeyV2(vector.inputs.credential),
            at: SigningInstant(clampingEpochSeconds: 0))
        #expect(signed.authorization.hasPrefix("GOOG1 GOOG1EFAKEPUBLICHMAC00:"))
        #expect(signed.stringToSign.hasSuffix("\nx-goog-meta-a:1 2\n/photo-sharing/photo1.jpg"))
    }

    @Test func anotherTokenThanTheCredentialsIsRefused() throws {
        var vector = try #require(Self.headers.first { $0.name == "oss1-hdr-sts" })
        vector.inputs.headers["x-oss-security-token"] = "another"
        #expect(throws: SigningError.reservedHeader("x-oss-security-token")) { try vector.authorized() }
        vector.inputs.headers["x-oss-security-token"] = nil
        vector.inputs.query["security-token"] = "another"
        #expect(throws: SigningError.reservedQueryParameter("security-token")) { try vector.authorized() }
    }

    @Test func aFormIsWhatTheSDKMade() throws {
        let vector = try #require(Vector.all(in: "oss_post").first { $0.scheme == "oss-v1-post" })
        let inputs = vector.inputs
        let key = try SigningKeyV2(inputs.credential)
        let form = PostForm(
            address: try inputs.address, key: try #require(inputs.key),
            conditions: [
                .exactly(field: "bucket", value: "demo-bucket"), .startsWith(field: "key", prefix: "u/42/"),
                .contentLengthRange(1...10_485_760), .equals(field: "content-type", value: "image/png"),
            ],
            expiresInSeconds: try #require(inputs.expiresIn))
        // Here even the order of the conditions is the SDK's.
        let signed = try OSSV1.sign(form, with: key, at: inputs.instant)
        #expect(signed.policyBase64 == vector.expected.policyBase64)
        #expect(signed.signature == vector.expected.signature)
        let fields = Dictionary(uniqueKeysWithValues: signed.fields.map { ($0.name, $0.value) })
        #expect(fields == vector.expected.fields)
        #expect(signed.url == "https://demo-bucket.oss-cn-hangzhou.aliyuncs.com/")
        let again = try OSSV1.sign(policyBase64: signed.policyBase64, for: form, with: key)
        #expect(again == signed)
        for text in ["", "GET\n\n\n1715936400\n/b/k", "e30"] {
            #expect(throws: SigningError.invalidPolicy) { try OSSV1.sign(policyBase64: text, for: form, with: key) }
        }
    }

    @Test(arguments: V2Vector.of("sts-ali-rpc-v1", in: "sts_alibaba"))
    func aCallIsWhatTheSDKMade(vector: V2Vector) throws {
        let inputs = vector.inputs
        var call = AlibabaRPC.Call(
            method: inputs.method, endpoint: try StoreEndpoint(inputs.endpoint), action: try #require(inputs.action),
            version: try #require(inputs.version), parameters: inputs.query.map { NamedValue($0, $1) },
            nonce: try #require(inputs.nonce), placement: .query)
        let instant = try #require(SigningInstant(extended: "2024-05-17T08:30:00Z"))
        let signed = try AlibabaRPC.sign(call, with: inputs.credential, at: instant)
        #expect(signed.signature == vector.expected.signature)
        if let text = vector.expected.stringToSign { #expect(signed.stringToSign == text) }
        if let pairs = vector.expected.queryDecoded {
            let expected: [NamedValue] = pairs.map { NamedValue($0[0] ?? "", $0[1] ?? "") }
            #expect(Set(signed.query) == Set(expected))
            #expect(signed.path == vector.expected.path)
        }
        call.placement = .body
        let posted = try AlibabaRPC.sign(call, with: inputs.credential, at: instant)
        #expect(posted.signature == signed.signature)
        #expect(posted.body.map { "\(posted.url)?\($0)" } == signed.url)
        #expect(posted.headers == [NamedValue("content-type", "application/x-www-form-urlencoded")])
        let sent = vector.expected.requiredHeaders.isEmpty ? signed : posted
        #expect(sent.headers == vector.expected.requiredHeaders.map { NamedValue($0.key, $0.value) })
    }

    @Test func theSignerAddsWhatEveryCallHas() throws {
        let vector = try #require(
            V2Vector.of("sts-ali-rpc-v1", in: "sts_alibaba").first { $0.name.hasSuffix("policy") })
        let inputs = vector.inputs
        let own = ["RoleArn", "RoleSessionName", "DurationSeconds", "RegionId", "SignatureType"]
        var call = AlibabaRPC.Call(
            endpoint: try StoreEndpoint(inputs.endpoint), action: "AssumeRole", version: "2015-04-01",
            parameters: inputs.query.filter { own.contains($0.key) }.map { NamedValue($0, $1) }, nonce: "nonce-2",
            placement: .body)
        let signed = try AlibabaRPC.sign(call, with: inputs.credential, at: inputs.instant)
        #expect(signed.signature == vector.expected.signature)
        call.parameters.append(NamedValue("RegionId", "x"))
        #expect(throws: SigningError.duplicateQueryParameter("RegionId")) {
            try AlibabaRPC.sign(call, with: inputs.credential, at: inputs.instant)
        }
        for name in ["Signature", "SecurityToken", "AccessKeyId", "SignatureMethod"] {
            call.parameters = [NamedValue(name, "x")]
            #expect(throws: SigningError.reservedQueryParameter(name)) {
                try AlibabaRPC.sign(call, with: inputs.credential, at: inputs.instant)
            }
        }
        call.parameters = []
        let temporary = SigningCredential(accessKeyID: "a", secretAccessKey: "s", securityToken: "t+")
        #expect(
            try AlibabaRPC.sign(call, with: temporary, at: inputs.instant).body?.contains("SecurityToken=t%2B&") == true
        )
    }

    @Test func aKeyServesItsOwnSchemeOnly() throws {
        let vector = try #require(V2Vector.of("gcs-v2-rsa-query", in: "gcs_v2_query").first)
        let key = try SigningKeyV2(SigningCredential(accessKeyID: "a", secretAccessKey: "s"))
        #expect(throws: SigningError.keyOfAnotherScheme) {
            try GCSV2.presign(vector.inputs.presignRequest, with: key, at: vector.inputs.instant)
        }
        let pem = try #require(vector.inputs.privateKeyPEM)
        let account = try SigningKeyV2(serviceAccount: SigningCredential(accessKeyID: "a@b", secretAccessKey: pem))
        #expect(throws: SigningError.keyOfAnotherScheme) {
            try OSSV1.presign(vector.inputs.presignRequest, with: account, at: vector.inputs.instant)
        }
        let error = #expect(throws: SigningError.self) {
            try SigningKeyV2(serviceAccount: SigningCredential(accessKeyID: "a@b", secretAccessKey: "no key"))
        }
        #expect(error?.code == "InvalidPrivateKey")
    }

    @Test func googleSignsParametersAsAFormWritesThem() throws {
        let vector = try #require(V2Vector.of("gcs-v2-rsa-query", in: "gcs_v2_query").first)
        var request = try vector.inputs.presignRequest
        request.query = [
            NamedValue("uploadId", " a b+\u{301}"), NamedValue("ACL", ""), NamedValue("response-content-type", "x y"),
        ]
        let key = try SigningKeyV2(
            serviceAccount: SigningCredential(
                accessKeyID: vector.inputs.accessKeyID, secretAccessKey: #require(vector.inputs.privateKeyPEM)))
        let signed = try GCSV2.presign(request, with: key, at: vector.inputs.instant)
        #expect(signed.stringToSign.hasSuffix(".jpg?acl=&uploadid=a+b%2B%CC%81"))
        #expect(signed.url.contains(".jpg?acl=&uploadid=a+b%2B%CC%81&response-content-type=x%20y&GoogleAccessId="))
    }
}

extension V2Vector {
    fileprivate func authorized() throws -> AuthorizedRequest {
        let key = try SigningKeyV2(inputs.credential)
        let instant = try inputs.now == nil ? SigningInstant(clampingEpochSeconds: 0) : inputs.instant
        guard scheme == "aws-v2-header" else {
            return try OSSV1.authorize(inputs.signableRequest, with: key, at: instant)
        }
        return try AWSV2.authorize(
            inputs.signableRequest, pathForm: inputs.pathAsSent.map { .asSent($0) } ?? .slashKept, with: key,
            at: instant)
    }
}
