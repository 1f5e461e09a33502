import Signing

extension SignScheme {
    /// The schemes that derive a key for each day, and those of Google Cloud Storage with the same structure.
    static let version4 = [
        SignScheme(name: "aws-v4-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.allHeaders + inputs.payloadHeader("x-amz-"))
            return SignOutput(try AWSV4.presign(request, with: inputs.awsKey, at: inputs.instant))
        },
        SignScheme(name: "aws-v4-header") { inputs in
            let request = try inputs.signableRequest(headers: inputs.allHeaders)
            return SignOutput(try AWSV4.authorize(request, with: inputs.awsKey, at: inputs.instant))
        },
        SignScheme(name: "aws-v4-post") { inputs in
            try post(inputs, key: inputs.awsKey, AWSV4.sign, AWSV4.sign)
        },
        SignScheme(name: "oss-v4-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.ossHeaders + inputs.payloadHeader("x-oss-"))
            return SignOutput(try OSSV4.presign(request, with: inputs.ossKey, at: inputs.instant))
        },
        SignScheme(name: "oss-v4-header") { inputs in
            let request = try inputs.signableRequest(headers: inputs.ossHeaders)
            return SignOutput(try OSSV4.authorize(request, with: inputs.ossKey, at: inputs.instant))
        },
        SignScheme(name: "oss-v4-post") { inputs in
            try post(inputs, key: inputs.ossKey, OSSV4.sign, OSSV4.sign)
        },
        SignScheme(name: "gcs-v4-rsa-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.allHeaders + inputs.payloadHeader("x-goog-"))
            return SignOutput(try GCSV4.presign(request, with: inputs.gcsRSAKey, at: inputs.instant))
        },
        SignScheme(name: "gcs-v4-hmac-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.allHeaders + inputs.payloadHeader("x-goog-"))
            return SignOutput(try GCSV4.presign(request, with: inputs.gcsHMACKey, at: inputs.instant))
        },
        SignScheme(name: "gcs-v4-post") { inputs in
            try post(inputs, key: inputs.gcsRSAKey, GCSV4.sign, GCSV4.sign)
        },
        SignScheme(name: "gcs-v4-hmac-post") { inputs in
            try post(inputs, key: inputs.gcsHMACKey, GCSV4.sign, GCSV4.sign)
        },
    ]

    /// Signs a form, with the policy in the line or with the form's own.
    private static func post(
        _ inputs: SignInput.Inputs,
        key: SigningKeyV4,
        _ sign: (PostForm, SigningKeyV4, SigningInstant) throws -> SignedPostForm,
        _ signPolicy: (String, PostForm, SigningKeyV4, SigningInstant) throws -> SignedPostForm
    ) throws -> SignOutput {
        let form = try inputs.postForm
        return SignOutput(
            try inputs.policyBase64.map { try signPolicy($0, form, key, inputs.instant) }
                ?? sign(form, key, inputs.instant)
        )
    }
}

extension SignInput.Inputs {
    fileprivate var awsKey: SigningKeyV4 {
        get throws {
            let scope = CredentialScope.aws(region: try required(\.region, .region), service: service ?? "s3")
            return try SigningKeyV4(credential, scope: scope, at: instant)
        }
    }

    fileprivate var ossKey: SigningKeyV4 {
        get throws {
            let scope = CredentialScope.oss(region: try required(\.region, .region), product: service ?? "oss")
            return try SigningKeyV4(credential, scope: scope, at: instant)
        }
    }

    fileprivate var gcsRSAKey: SigningKeyV4 {
        get throws {
            try SigningKeyV4(privateKeyCredential, scope: .gcsRSA(location: region ?? "auto"), at: instant)
        }
    }

    fileprivate var gcsHMACKey: SigningKeyV4 {
        get throws {
            try SigningKeyV4(credential, scope: .gcsHMAC(location: region ?? "auto"), at: instant)
        }
    }

    /// The header with the hash of the body, if the line gives one.
    fileprivate func payloadHeader(_ prefix: String) -> [NamedValue] {
        payloadSHA256.map { [NamedValue("\(prefix)content-sha256", $0)] } ?? []
    }

    /// The headers that OSS binds. It binds some whenever they are sent, and others, such as `host`, only if they are
    /// listed.
    fileprivate var ossHeaders: [NamedValue] {
        get throws {
            let listed = Set((additionalHeaders ?? []).map { $0.lowercased() })
            var bound = allHeaders.filter { header in
                let name = header.name.lowercased()
                return ["content-type", "content-md5"].contains(name) || name.hasPrefix("x-oss-")
                    || listed.contains(name)
            }
            if listed.contains("host"), !bound.contains(where: { $0.name.lowercased() == "host" }) {
                bound.append(NamedValue("host", try address.authority))
            }
            return bound
        }
    }
}
