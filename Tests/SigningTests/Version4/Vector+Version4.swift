import Signing
import Testing

extension Vector {
    /// The output of a version 4 scheme for the inputs, in each of its forms.
    struct Version4 {
        typealias Presign = (PresignRequest, SigningKeyV4, SigningInstant) throws -> PresignedURL
        typealias SignForm = (PostForm, SigningKeyV4, SigningInstant) throws -> SignedPostForm
        typealias SignPolicy = (String, PostForm, SigningKeyV4, SigningInstant) throws -> SignedPostForm

        let presign: Presign
        let authorize: ((SignableRequest, SigningKeyV4, SigningInstant) throws -> AuthorizedRequest)?
        let signForm: SignForm
        let signPolicy: SignPolicy
        let scope: (Inputs) -> CredentialScope
        /// The prefix of the vendor's own headers.
        let headerPrefix: String

        static var aws: Version4 {
            Version4(
                presign: AWSV4.presign, authorize: AWSV4.authorize,
                signForm: AWSV4.sign,
                signPolicy: AWSV4.sign, scope: { .aws(region: $0.region, service: $0.service ?? "s3") },
                headerPrefix: "x-amz-")
        }
        static var oss: Version4 {
            Version4(
                presign: OSSV4.presign, authorize: OSSV4.authorize,
                signForm: OSSV4.sign,
                signPolicy: OSSV4.sign, scope: { .oss(region: $0.region) }, headerPrefix: "x-oss-")
        }
        static var gcsRSA: Version4 { gcs { .gcsRSA(location: $0.region) } }
        static var gcsHMAC: Version4 { gcs { .gcsHMAC(location: $0.region) } }

        private static func gcs(scope: @escaping (Inputs) -> CredentialScope) -> Version4 {
            Version4(
                presign: GCSV4.presign, authorize: nil, signForm: GCSV4.sign,
                signPolicy: GCSV4.sign, scope: scope, headerPrefix: "x-goog-")
        }
    }

    /// The error of a vector that these tests cannot read.
    struct Unreadable: Error {
        var text: String
    }

    var version4: Version4 {
        get throws {
            switch scheme {
            case "aws-v4-query", "aws-v4-header", "aws-v4-post": .aws
            case "oss-v4-query", "oss-v4-header", "oss-v4-post": .oss
            case "gcs-v4-rsa-query", "gcs-v4-post": .gcsRSA
            case "gcs-v4-hmac-query": .gcsHMAC
            default: throw Unreadable(text: scheme)
            }
        }
    }

    /// The headers that the signature binds. For OSS these are its own headers and the listed ones.
    var boundHeaders: [NamedValue] {
        guard scheme.hasPrefix("oss") else { return inputs.allHeaders }
        return inputs.allHeaders.filter { header in
            let name = header.name.lowercased()
            return name == "content-type" || name == "content-md5" || name.hasPrefix("x-oss-")
                || (inputs.additionalHeaders ?? []).contains(name)
        }
    }

    var signingKey: SigningKeyV4 {
        get throws {
            try SigningKeyV4(inputs.credential, scope: version4.scope(inputs), at: inputs.instant)
        }
    }

    var presignRequest: PresignRequest {
        get throws {
            PresignRequest(
                method: inputs.method, address: try inputs.address, key: try #require(inputs.key),
                headers: boundHeaders, query: inputs.query.map { NamedValue($0, $1) },
                expiresInSeconds: try #require(inputs.expiresIn))
        }
    }

    var signableRequest: SignableRequest {
        get throws {
            SignableRequest(
                method: inputs.method, address: try inputs.address, key: try #require(inputs.key),
                headers: boundHeaders, query: inputs.query.map { NamedValue($0, $1) },
                payload: try inputs.payloadSha256.map { try #require(PayloadHash(hex: $0)) } ?? .unsigned)
        }
    }

    var postForm: PostForm {
        get throws {
            PostForm(
                address: try inputs.address, key: try #require(inputs.key),
                fields: (inputs.fields ?? [:]).map { NamedValue($0, $1) },
                conditions: try (inputs.conditions ?? []).map(PostPolicy.Condition.init(json:)),
                expiresInSeconds: try #require(inputs.expiresIn))
        }
    }

    func presigned() throws -> PresignedURL {
        try version4.presign(presignRequest, signingKey, inputs.instant)
    }

    func authorized() throws -> AuthorizedRequest {
        let authorize = try #require(try version4.authorize)
        return try authorize(signableRequest, signingKey, inputs.instant)
    }
}

extension PostPolicy.Condition {
    init(json: JSON) throws {
        switch json {
        case .object(let fields):
            let (field, value) = try #require(fields.first)
            self = .exactly(field: field, value: value.text)
        case .array(let parts):
            let field = String(try #require(parts.dropFirst().first).text.dropFirst())
            switch (parts[0].text, parts[2]) {
            case ("eq", let value): self = .equals(field: field, value: value.text)
            case ("starts-with", let value): self = .startsWith(field: field, prefix: value.text)
            case ("in", .array(let values)): self = .oneOf(field: field, values: values.map(\.text))
            case ("content-length-range", .number(let upper)):
                guard case .number(let lower) = parts[1] else { throw Vector.Unreadable(text: "\(parts)") }
                self = .contentLengthRange(lower...upper)
            default: throw Vector.Unreadable(text: "\(parts)")
            }
        default: throw Vector.Unreadable(text: "\(json)")
        }
    }
}

extension Vector {
    /// URLs of S3, the only scheme whose vectors publish every stage.
    static let aws = all(in: "aws_v4_query")
}
