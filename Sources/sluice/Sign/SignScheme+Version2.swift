import Signing

extension SignScheme {
    /// The schemes that sign the request itself, with HMAC-SHA1.
    static let version2 = [
        SignScheme(name: "aws-v2-query") { inputs, _ in
            let request = try inputs.presignRequest(binding: inputs.allHeaders)
            return SignOutput(try AWSV2.presign(request, with: SigningKeyV2(inputs.credential), at: inputs.instant))
        },
        SignScheme(name: "oss-v1-query") { inputs, _ in
            let request = try inputs.presignRequest(binding: inputs.allHeaders)
            return SignOutput(try OSSV1.presign(request, with: SigningKeyV2(inputs.credential), at: inputs.instant))
        },
    ]
}
