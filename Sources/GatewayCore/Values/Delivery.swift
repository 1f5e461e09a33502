/// How a credential reaches the caller.
public enum Delivery: String, Sendable, CaseIterable, Codable {
    /// A URL in a JSON answer.
    case presignedURL = "presigned-url"
    /// The fields of a browser form with a signed policy.
    case postPolicy = "post-policy"
    /// A URL that a browser is led to.
    case redirect = "redirect"
    /// Not at all: the gateway starts an upload in parts with it.
    case multipartStart = "multipart-start"
    /// A URL for one part of an upload.
    case multipartPart = "multipart-part"
    /// Not at all: the gateway completes an upload in parts with it.
    case multipartComplete = "multipart-complete"
    /// Temporary credentials.
    case sts
    /// A signature for a request that the client makes itself.
    case remoteSignature = "remote-signature"
}
