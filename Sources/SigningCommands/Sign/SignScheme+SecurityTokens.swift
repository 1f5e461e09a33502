import Signing

extension SignScheme {
    /// The schemes that sign requests for temporary credentials.
    static let securityTokens = [
        SignScheme(name: "sts-aws-v4") { inputs in
            let scope = CredentialScope.aws(
                region: try inputs.required(\.region, .region), service: inputs.service ?? "sts")
            let instant = try inputs.instant
            let signed = try AWSV4.assumeRole(
                inputs.assumeRole, endpoint: inputs.serviceEndpoint,
                with: SigningKeyV4(inputs.credential, scope: scope, at: instant), at: instant)
            try inputs.agree(with: signed)
            return SignOutput(signed)
        },
        SignScheme(name: "sts-ali-acs3") { inputs in
            // The line may give the signer's own headers, so that an SDK's headers can be signed unchanged.
            let call = try inputs.assumeRole
            let request = SignableRequest(
                method: try inputs.required(\.method, .method),
                address: BucketAddress(service: try inputs.serviceEndpoint),
                key: "", headers: inputs.allHeaders, query: call.parameters,
                payload: PayloadHash(of: Array((inputs.body ?? "").utf8)))
            try inputs.agree(withQuery: request.query)
            return SignOutput(
                try ACS3.authorize(
                    request, action: inputs.required(\.action, .action), version: inputs.required(\.version, .version),
                    nonce: inputs.required(\.nonce, .nonce), with: inputs.credential, at: inputs.instant))
        },
    ]
}
