import Signing
import Testing

@Suite("AssumeRole vectors")
struct AssumeRoleVectorTests {
    static let aws = Vector.all(in: "sts_aws")
    static let acs3 = Vector.all(in: "sts_alibaba").filter { $0.scheme == "sts-ali-acs3" }

    @Test func allVectorsAreThere() {
        #expect(Self.aws.count == 2)
        #expect(Self.acs3.count == 1)
    }

    @Test(arguments: aws)
    func eachStageIsWhatBotocoreMade(vector: Vector) throws {
        let signed = try vector.assumeRoleAtAWS()
        let expected = vector.expected
        #expect(signed.method == vector.inputs.method)
        #expect(signed.url == expected.url)
        #expect(signed.body == expected.body)
        #expect(signed.canonicalRequest == expected.canonicalRequest)
        #expect(signed.stringToSign == expected.stringToSign)
        #expect(signed.signature == expected.signature)
        #expect(signed.authorization == expected.authorization)
        let headers = Dictionary(uniqueKeysWithValues: signed.headers.map { ($0.name, $0.value) })
        #expect(headers.filter { $0.key != "authorization" } == expected.requiredHeaders)
    }

    @Test func theTokenOfATemporaryCredentialIsSignedAndSent() throws {
        var vector = try #require(Self.aws.first)
        vector.inputs.securityToken = "FwoG+fake/token=="
        let signed = try vector.assumeRoleAtAWS()
        #expect(signed.headers.contains(NamedValue("x-amz-security-token", "FwoG+fake/token==")))
        #expect(signed.authorization.contains("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,"))
    }

    @Test(arguments: acs3)
    func eachStageIsWhatAlibabasClientMade(vector: Vector) throws {
        let inputs = vector.inputs
        let call = try vector.assumeRole
        // That client also binds its own headers.
        let request = SignableRequest(
            method: inputs.method, address: BucketAddress(service: try StoreEndpoint(inputs.endpoint)), key: "",
            headers: inputs.allHeaders, query: call.parameters, payload: PayloadHash(of: []))
        let signed = try ACS3.authorize(
            request, action: #require(inputs.action), version: #require(inputs.version), nonce: #require(inputs.nonce),
            with: inputs.credential, at: inputs.instant)
        let expected = vector.expected
        #expect(signed.canonicalRequest == expected.canonicalRequest)
        #expect(signed.stringToSign == expected.stringToSign)
        #expect(signed.signature == expected.signature)
        #expect(signed.authorization == expected.authorization)
        let headers = Dictionary(uniqueKeysWithValues: signed.headers.map { ($0.name, $0.value) })
        #expect(headers.filter { $0.key != "authorization" } == expected.requiredHeaders)
    }

    @Test(arguments: acs3)
    func theOwnCallBindsWhatTheServiceDemands(vector: Vector) throws {
        var credential = try vector.inputs.credential
        let endpoint = try StoreEndpoint(vector.inputs.endpoint)
        let plain = try ACS3.assumeRole(
            vector.assumeRole, endpoint: endpoint, nonce: "n", with: credential, at: vector.inputs.instant)
        let names = "accept;host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version"
        #expect(plain.authorization.contains("SignedHeaders=\(names),"))
        #expect(
            plain.url.hasPrefix("https://sts.cn-hangzhou.aliyuncs.com/?DurationSeconds=900&Policy=%7B%22Version%22"))
        #expect(plain.headers.contains(NamedValue("x-acs-date", "2024-05-17T08:30:00Z")))
        credential = SigningCredential(
            accessKeyID: credential.accessKeyID, secretAccessKey: credential.secretAccessKey, securityToken: "t")
        let temporary = try ACS3.assumeRole(
            vector.assumeRole, endpoint: endpoint, nonce: "n", with: credential, at: vector.inputs.instant)
        #expect(temporary.headers.contains(NamedValue("x-acs-security-token", "t")))
        #expect(temporary.headers.contains(NamedValue("x-acs-accesskey-id", credential.accessKeyID)))
        #expect(temporary.canonicalRequest?.contains("\nx-acs-security-token:t\n") == true)
    }

    @Test(arguments: acs3)
    func anotherNonceActionBodyOrSecretHasAnotherSignature(vector: Vector) throws {
        let instant = try vector.inputs.instant
        let address = BucketAddress(service: try StoreEndpoint(vector.inputs.endpoint))
        func signature(
            action: String = "AssumeRole", version: String = "2015-04-01", nonce: String = "n", body: String = "",
            secret: String = "s"
        ) throws -> String {
            let request = SignableRequest(
                method: "POST", address: address, key: "", payload: PayloadHash(of: Array(body.utf8)))
            let credential = SigningCredential(accessKeyID: "id", secretAccessKey: secret)
            return try ACS3.authorize(
                request, action: action, version: version, nonce: nonce, with: credential, at: instant
            ).signature
        }
        let signatures = try [
            signature(), signature(action: "GetCallerIdentity"), signature(version: "2015-04-02"),
            signature(nonce: "m"),
            signature(body: "b"), signature(secret: "t"),
        ]
        #expect(Set(signatures).count == signatures.count)
        #expect(throws: SigningError.invalidHeaderValue(name: "x-acs-signature-nonce")) {
            try signature(nonce: "a\r\nb: c")
        }
        #expect(throws: SigningError.payloadNotBound) {
            let request = SignableRequest(method: "POST", address: address, key: "")
            let credential = SigningCredential(accessKeyID: "id", secretAccessKey: "s")
            return try ACS3.authorize(request, action: "a", version: "v", nonce: "n", with: credential, at: instant)
        }
    }
}

extension Vector {
    fileprivate var assumeRole: AssumeRole {
        get throws {
            let params = try #require(inputs.params)
            return AssumeRole(
                roleARN: try #require(params["RoleArn"]).text,
                sessionName: try #require(params["RoleSessionName"]).text,
                durationSeconds: params["DurationSeconds"].flatMap { Int($0.text) }, policy: params["Policy"]?.text)
        }
    }

    fileprivate func assumeRoleAtAWS() throws -> AuthorizedRequest {
        let key = try SigningKeyV4(
            inputs.credential, scope: .aws(region: inputs.region, service: "sts"), at: inputs.instant)
        return try AWSV4.assumeRole(assumeRole, endpoint: StoreEndpoint(inputs.endpoint), with: key, at: inputs.instant)
    }
}
