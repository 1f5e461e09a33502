import Signing

extension SignScheme {
    /// The schemes that sign the request itself, with HMAC-SHA1 or, for Google only, RSA.
    static let version2 = [
        SignScheme(name: "aws-v2-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.allHeaders)
            return SignOutput(try AWSV2.presign(request, with: SigningKeyV2(inputs.credential), at: inputs.instant))
        },
        SignScheme(name: "aws-v2-header") { inputs in
            try awsV2Header(inputs, vendor: .amazon)
        },
        SignScheme(name: "gcs-v2-hmac-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.allHeaders)
            return SignOutput(
                try AWSV2.presign(
                    request, vendor: .google, with: SigningKeyV2(inputs.credential), at: inputs.instant))
        },
        SignScheme(name: "gcs-v2-hmac-header") { inputs in
            try awsV2Header(inputs, vendor: .google)
        },
        SignScheme(name: "gcs-v2-rsa-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.allHeaders)
            let key = try SigningKeyV2(serviceAccount: inputs.privateKeyCredential)
            return SignOutput(try GCSV2.presign(request, with: key, at: inputs.instant))
        },
        SignScheme(name: "oss-v1-query") { inputs in
            let request = try inputs.presignRequest(binding: inputs.allHeaders)
            return SignOutput(try OSSV1.presign(request, with: SigningKeyV2(inputs.credential), at: inputs.instant))
        },
        SignScheme(name: "oss-v1-header") { inputs in
            let request = try inputs.signableRequest(headers: inputs.allHeaders)
            return SignOutput(
                try OSSV1.authorize(request, with: SigningKeyV2(inputs.credential), at: inputs.headerInstant))
        },
        SignScheme(name: "oss-v1-post") { inputs in
            let form = try inputs.postForm
            let key = try SigningKeyV2(inputs.credential)
            return SignOutput(
                try inputs.policyBase64.map { try OSSV1.sign(policyBase64: $0, for: form, with: key) }
                    ?? OSSV1.sign(form, with: key, at: inputs.instant))
        },
        SignScheme(name: "sts-ali-rpc-v1") { inputs in
            try rpc(inputs)
        },
    ]

    private static func awsV2Header(_ inputs: SignInput.Inputs, vendor: AWSV2.Vendor) throws -> SignOutput {
        let headers = inputs.distinctHeaders
        let request =
            inputs.bucket == ""
            ? try inputs.serviceRequest(headers: headers) : try inputs.signableRequest(headers: headers)
        return SignOutput(
            try AWSV2.authorize(
                request, pathForm: inputs.pathForm, vendor: vendor, with: SigningKeyV2(inputs.credential),
                at: inputs.headerInstant))
    }

    /// Signs an RPC call. If `query` is given, it holds all parameters; otherwise `params` holds those of the
    /// operation.
    private static func rpc(_ inputs: SignInput.Inputs) throws -> SignOutput {
        let given = inputs.query ?? [:]
        let parameters = given["Action"] == nil ? (inputs.params ?? [:]).mapValues(\.text) : given
        let method = try inputs.required(\.method, .method)
        // Two families of SDKs sign in the same way. Those that send SignatureType write a POST's parameters into the
        // URL. Those for Node.js do not send it, and post a form.
        let isForm = method == "POST" && parameters["SignatureType"] == nil
        let call = AlibabaRPC.Call(
            method: method,
            endpoint: try StoreEndpoint(inputs.required(\.endpoint, .endpoint)),
            action: try inputs.required(\.action, .action),
            version: try inputs.required(\.version, .version),
            parameters: parameters.sorted { $0.key < $1.key }.map { NamedValue($0.key, $0.value) },
            nonce: try inputs.required(\.nonce, .nonce),
            placement: isForm ? .body : .query
        )
        let signed = try AlibabaRPC.sign(call, with: inputs.credential, at: inputs.instant)
        return SignOutput(signed)
    }
}

extension SignInput.Inputs {
    /// The instant of signing. It is not needed if a header holds the date of the request.
    fileprivate var headerInstant: SigningInstant {
        get throws {
            let dates = ["date", "x-oss-date", "x-amz-date", "x-goog-date"]
            let isDated = (headers ?? [:]).keys.contains { dates.contains($0.lowercased()) }
            return isDated && now == nil ? SigningInstant(clampingEpochSeconds: 0) : try instant
        }
    }

    /// All headers. A header that also has an input of its own appears once.
    fileprivate var distinctHeaders: [NamedValue] {
        var seen: Set<String> = []
        return allHeaders.filter { seen.insert($0.name.lowercased()).inserted }
    }

    /// Makes a request that names no bucket.
    fileprivate func serviceRequest(headers: [NamedValue]) throws -> SignableRequest {
        SignableRequest(
            method: try required(\.method, .method),
            address: BucketAddress(service: try StoreEndpoint(required(\.endpoint, .endpoint))),
            key: try required(\.key, .key),
            headers: headers,
            query: allQuery
        )
    }
}
