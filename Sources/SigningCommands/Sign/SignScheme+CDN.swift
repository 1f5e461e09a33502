import Signing

extension SignScheme {
    /// The schemes of links to a content delivery network, and of its cookies.
    static let cdn = [
        SignScheme(name: "cloudfront") { inputs in
            try link(.cloudFront(hash(inputs)), inputs.privateKeyCredential, inputs)
        },
        SignScheme(name: "cloudfront-cookies") { inputs in
            let request = CDNCookieRequest(
                address: try inputs.address, prefix: try inputs.required(\.key, .key),
                expiresInSeconds: try inputs.required(\.expiresIn, .expiresIn))
            let signer = try CDNSigner(.cloudFront(hash(inputs)), inputs.privateKeyCredential)
            return SignOutput(try signer.cookies(request, for: inputs.sourceAddress, at: inputs.instant))
        },
        SignScheme(name: "alibaba-cdn-a") { try alibaba(.a, $0) },
        SignScheme(name: "alibaba-cdn-b") { try alibaba(.b, $0) },
        SignScheme(name: "alibaba-cdn-c") { try alibaba(.c, $0) },
        SignScheme(name: "nginx-secure-link") { try link(.nginxSecureLink, $0.credential, $0) },
    ]

    private static func hash(_ inputs: SignInput.Inputs) throws(LineFailure) -> CloudFront.Hash {
        let hashes: [String: CloudFront.Hash] = ["SHA-1": .sha1, "SHA-256": .sha256]
        guard let hash = hashes[inputs.hash ?? "SHA-1"] else {
            throw LineFailure(code: "InvalidInput", detail: "'hash' is 'SHA-1' or 'SHA-256'.")
        }
        return hash
    }

    private static func alibaba(_ form: AlibabaCDN.Form, _ inputs: SignInput.Inputs) throws -> SignOutput {
        let validity = try inputs.required(\.validity, .validity)
        // The instant in the link must be one that can be written.
        guard 1...31_536_000 ~= validity else {
            throw LineFailure(code: "InvalidInput", detail: "'validity' is 1 to 31536000 seconds.")
        }
        return try link(.alibaba(form, validity: validity), inputs.credential, inputs)
    }

    private static func link(
        _ scheme: CDNScheme, _ credential: SigningCredential, _ inputs: SignInput.Inputs
    ) throws -> SignOutput {
        let request = try inputs.presignRequest(binding: inputs.allHeaders)
        let signer = try CDNSigner(scheme, credential)
        return SignOutput(try signer.presign(request, for: inputs.sourceAddress, at: inputs.instant))
    }
}
