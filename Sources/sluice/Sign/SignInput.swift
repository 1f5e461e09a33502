import Foundation
import Signing

/// One line of `sluice sign`: a scheme and what it is to sign.
struct SignInput: Decodable {
    let name: String
    let scheme: String
    let inputs: Inputs

    /// The inputs; what a scheme does not use is ignored.
    struct Inputs: Decodable {
        let endpoint: String
        let region: String
        let service: String?
        let bucket: String
        let addressing: String
        let key: String
        let method: String
        let accessKeyID: String
        let secretAccessKey: String
        let securityToken: String?
        let now: String
        let expiresIn: Int
        let contentType: String?
        let contentMD5: String?
        let contentLength: Int64?
        let payloadSHA256: String?
        let headers: [String: String]?
        let query: [String: String]?
        let pathAsSent: String?
        let pathSlashEncoding: String?

        enum CodingKeys: String, CodingKey {
            case endpoint, region, service, bucket, addressing, key, method, now, headers, query
            case accessKeyID = "access_key_id"
            case secretAccessKey = "secret_access_key"
            case securityToken = "security_token"
            case expiresIn = "expires_in"
            case contentType = "content_type"
            case contentMD5 = "content_md5"
            case contentLength = "content_length"
            case payloadSHA256 = "payload_sha256"
            case pathAsSent = "path_as_sent"
            case pathSlashEncoding = "path_slash_encoding"
        }
    }
}

extension SignInput.Inputs {
    /// The instant of signing.
    var instant: SigningInstant {
        get throws(SignFailure) {
            guard let instant = SigningInstant(extended: now) else {
                throw SignFailure(code: "InvalidInput", detail: "'now' is not a time like 2024-05-17T08:30:00Z.")
            }
            return instant
        }
    }

    /// Who signs.
    var credential: SigningCredential {
        SigningCredential(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, securityToken: securityToken)
    }

    /// What is signed.
    func presignRequest(payloadHeader: String) throws -> PresignRequest {
        var bound = (headers ?? [:]).sorted { $0.key < $1.key }.map { NamedValue($0.key, $0.value) }
        let others = [
            ("content-type", contentType), ("content-md5", contentMD5),
            ("content-length", contentLength.map { "\($0)" }),
            (payloadHeader, payloadSHA256),
        ]
        for case (let name, let value?) in others { bound.append(NamedValue(name, value)) }
        return PresignRequest(
            method: method,
            address: try address,
            key: key,
            headers: bound,
            query: (query ?? [:]).sorted { $0.key < $1.key }.map { NamedValue($0.key, $0.value) },
            expiresInSeconds: expiresIn,
            pathForm: try pathForm
        )
    }

    /// The bucket's address. An endpoint whose host already begins with the bucket is taken as it stands, since SDKs write
    /// it either way.
    private var address: BucketAddress {
        get throws {
            guard let addressing = Addressing(rawValue: addressing) else {
                throw SignFailure(code: "InvalidInput", detail: "'addressing' is 'virtual', 'path' or 'cname'.")
            }
            let store = try StoreEndpoint(endpoint)
            let holdsBucket = store.host == bucket || store.host.hasPrefix("\(bucket).")
            return try BucketAddress(
                endpoint: store,
                bucket: bucket,
                addressing: addressing == .virtual && holdsBucket ? .cname : addressing
            )
        }
    }

    private var pathForm: PresignRequest.PathForm {
        get throws(SignFailure) {
            if let pathAsSent { return .asSent(pathAsSent) }
            switch pathSlashEncoding {
            case nil, "keep": return .slashKept
            case "%2F": return .slashEscaped
            case let other?:
                throw SignFailure(
                    code: "InvalidInput", detail: "'path_slash_encoding' is 'keep' or '%2F', not '\(other)'."
                )
            }
        }
    }
}

/// Why a line was not signed.
struct SignFailure: Error, Encodable {
    let code: String
    let detail: String
}
