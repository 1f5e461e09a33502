import FoundationEssentials
import Signing

/// One line of `sluice sign`: a scheme, and the request that it signs.
struct SignInput: Decodable {
    let inputs: Inputs

    /// The inputs. A scheme ignores those that it does not use.
    struct Inputs: Decodable {
        let endpoint: String?
        let region: String?
        let service: String?
        let bucket: String?
        let addressing: String?
        let key: String?
        let method: String?
        let accessKeyID: String?
        let secretAccessKey: String?
        let privateKeyPEM: String?
        let securityToken: String?
        let now: String?
        let expiresIn: Int?
        let contentType: String?
        let contentMD5: String?
        let contentLength: Int64?
        let payloadSHA256: String?
        let headers: [String: String]?
        let additionalHeaders: [String]?
        let query: [String: String]?
        let pathAsSent: String?
        let pathSlashEncoding: String?
        let fields: [String: String]?
        let conditions: [PolicyCondition]?
        let policyBase64: String?
        let params: [String: Parameter]?
        let body: String?
        let nonce: String?
        let action: String?
        let version: String?
        let hash: String?
        let sourceAddress: String?
        let validity: Int?

        enum CodingKeys: String, CodingKey {
            case endpoint, region, service, bucket, addressing, key, method, now, headers, query, fields, conditions
            case params, body, nonce, action, version, hash, validity
            case accessKeyID = "access_key_id"
            case secretAccessKey = "secret_access_key"
            case privateKeyPEM = "private_key_pem"
            case securityToken = "security_token"
            case expiresIn = "expires_in"
            case contentType = "content_type"
            case contentMD5 = "content_md5"
            case contentLength = "content_length"
            case payloadSHA256 = "payload_sha256"
            case additionalHeaders = "additional_headers"
            case pathAsSent = "path_as_sent"
            case pathSlashEncoding = "path_slash_encoding"
            case policyBase64 = "policy_base64"
            case sourceAddress = "source_address"
        }
    }
}

extension SignInput.Inputs {
    /// Returns an input that the scheme requires.
    func required<Value>(_ input: KeyPath<Self, Value?>, _ name: CodingKeys) throws(LineFailure) -> Value {
        guard let value = self[keyPath: input] else {
            throw LineFailure(code: "InvalidInput", detail: "'inputs.\(name.rawValue)' is absent.")
        }
        return value
    }

    /// The instant of signing.
    var instant: SigningInstant {
        get throws(LineFailure) {
            // Some clients write milliseconds.
            let text = try required(\.now, .now).replacing(".000Z", with: "Z")
            guard let instant = SigningInstant(extended: text) else {
                throw LineFailure(code: "InvalidInput", detail: "'now' is not a time like 2024-05-17T08:30:00Z.")
            }
            return instant
        }
    }

    /// The signer, with a secret access key.
    var credential: SigningCredential {
        get throws(LineFailure) {
            SigningCredential(
                accessKeyID: try required(\.accessKeyID, .accessKeyID),
                secretAccessKey: try required(\.secretAccessKey, .secretAccessKey),
                securityToken: securityToken
            )
        }
    }

    /// The signer, with a private key.
    var privateKeyCredential: SigningCredential {
        get throws(LineFailure) {
            SigningCredential(
                accessKeyID: try required(\.accessKeyID, .accessKeyID),
                secretAccessKey: try required(\.privateKeyPEM, .privateKeyPEM),
                securityToken: securityToken
            )
        }
    }

    /// The bucket's address. SDKs write the endpoint with or without the bucket. An endpoint that already contains the
    /// bucket, in its host or at the end of its path, is used unchanged.
    var address: BucketAddress {
        get throws {
            guard let addressing = Addressing(rawValue: try required(\.addressing, .addressing)) else {
                throw LineFailure(code: "InvalidInput", detail: "'addressing' is 'virtual', 'path' or 'cname'.")
            }
            let bucket = try required(\.bucket, .bucket)
            let endpoint = try required(\.endpoint, .endpoint)
            let store = try StoreEndpoint(endpoint)
            switch addressing {
            case .virtual where store.host == bucket || store.host.hasPrefix("\(bucket)."):
                return try BucketAddress(endpoint: store, bucket: bucket, addressing: .cname)
            case .path where store.path.hasSuffix("/\(bucket)"):
                let end = endpoint.ranges(of: bucket).last?.lowerBound ?? endpoint.endIndex
                let outer = try StoreEndpoint(String(endpoint[..<end]))
                return try BucketAddress(endpoint: outer, bucket: bucket, addressing: .path)
            case .virtual, .path, .cname:
                return try BucketAddress(endpoint: store, bucket: bucket, addressing: addressing)
            }
        }
    }

    /// All headers of the request, including those that have inputs of their own.
    var allHeaders: [NamedValue] {
        var all = (headers ?? [:]).sorted { $0.key < $1.key }.map { NamedValue($0.key, $0.value) }
        let others = [
            ("content-type", contentType), ("content-md5", contentMD5),
            ("content-length", contentLength.map { "\($0)" }),
        ]
        for case (let name, let value?) in others { all.append(NamedValue(name, value)) }
        return all
    }

    /// All parameters of the query, sorted by name.
    var allQuery: [NamedValue] {
        (query ?? [:]).sorted { $0.key < $1.key }.map { NamedValue($0.key, $0.value) }
    }

    /// Makes a request for a URL that binds headers.
    func presignRequest(binding headers: [NamedValue]) throws -> PresignRequest {
        PresignRequest(
            method: try required(\.method, .method),
            address: try address,
            key: try required(\.key, .key),
            headers: headers,
            query: allQuery,
            expiresInSeconds: try required(\.expiresIn, .expiresIn),
            pathForm: try pathForm
        )
    }

    /// Makes a request with headers, for an `Authorization` header.
    func signableRequest(headers: [NamedValue]) throws -> SignableRequest {
        SignableRequest(
            method: try required(\.method, .method),
            address: try address,
            key: try required(\.key, .key),
            headers: headers,
            query: allQuery,
            payload: try payload
        )
    }

    /// The form to sign.
    var postForm: PostForm {
        get throws {
            PostForm(
                address: try address,
                key: try required(\.key, .key),
                fields: (fields ?? [:]).sorted { $0.key < $1.key }.map { NamedValue($0.key, $0.value) },
                conditions: (conditions ?? []).map(\.condition),
                expiresInSeconds: try required(\.expiresIn, .expiresIn)
            )
        }
    }

    private var payload: PayloadHash {
        get throws(LineFailure) {
            guard let payloadSHA256, payloadSHA256 != PayloadHash.unsigned.text else { return .unsigned }
            guard let hash = PayloadHash(hex: payloadSHA256) else {
                throw LineFailure(
                    code: "InvalidInput", detail: "'payload_sha256' is not a SHA-256 in lower-case hexadecimal."
                )
            }
            return hash
        }
    }

    /// How the path encodes the key.
    var pathForm: PresignRequest.PathForm {
        get throws(LineFailure) {
            if let pathAsSent { return .asSent(pathAsSent) }
            switch pathSlashEncoding {
            case nil, "keep": return .slashKept
            case "%2F": return .slashEscaped
            case let other?:
                throw LineFailure(
                    code: "InvalidInput", detail: "'path_slash_encoding' is 'keep' or '%2F', not '\(other)'."
                )
            }
        }
    }
}
