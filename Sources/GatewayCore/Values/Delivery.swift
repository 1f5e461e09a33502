/// The form in which an issued credential reaches the caller.
public enum Delivery: String, Sendable, CaseIterable, Codable {
    /// A URL in a JSON answer.
    case presignedURL = "presigned-url"
    /// The fields of a browser form with a signed policy.
    case postPolicy = "post-policy"
    /// A URL to which a browser is redirected.
    case redirect = "redirect"
    /// None: the gateway itself starts a multipart upload with the credential.
    case multipartStart = "multipart-start"
    /// A URL, or a signature of the client's request, for one part of a multipart upload.
    case multipartPart = "multipart-part"
    /// None: the gateway itself completes a multipart upload with the credential.
    case multipartComplete = "multipart-complete"
    /// Temporary credentials for the store.
    case sts
    /// Cookies that open a part of a bucket at its content delivery network.
    case cdnCookies = "cdn-cookies"
    /// A signature for a request that the client composes itself.
    case remoteSignature = "remote-signature"

    /// The actions under which credentials of this form are counted. Of several actions, that is the first.
    public var actions: [Action] {
        switch self {
        case .presignedURL, .sts, .remoteSignature: Action.allCases
        case .redirect, .cdnCookies: [.getObject]
        case .postPolicy, .multipartStart, .multipartPart, .multipartComplete: [.putObject]
        }
    }

    /// Whether the ledger's key may be a prefix, of which the credential reaches every key.
    var reachesPrefix: Bool { self == .sts || self == .cdnCookies }
}
