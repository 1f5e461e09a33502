import HTTPTypes
import Signing

extension V4Verifier {
    /// Verifies a request; a refusal is reported in S3's terms.
    func verifyAsStore(_ request: ReceivedRequest, at now: SigningInstant) throws(StoreError) -> VerifiedRequest {
        let query = request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let isPresigned = query.split(separator: "&").contains { $0.hasPrefix("X-Amz-Signature=") }
        if request.headers.contains(where: { $0.name == "authorization" }) {
            guard isPresigned else { throw .notImplemented("This store takes presigned URLs only.") }
            throw StoreError(
                status: .badRequest, code: "InvalidArgument",
                message: "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, "
                    + "Signature query string parameter or the Authorization header should be specified.")
        }
        guard isPresigned else { throw .accessDenied("Access Denied") }
        do {
            return try verify(presigned: request, at: now)
        } catch {
            throw Self.refusal(for: error, at: now)
        }
    }

    private static func refusal(for error: VerificationError, at now: SigningInstant) -> StoreError {
        switch error {
        case .malformed(let reason): .badParameters("The URL cannot be verified: \(reason).")
        case .wrongScope:
            .badParameters("The credential in the URL is for another day, region or service.")
        case .unknownAccessKey:
            StoreError(
                status: .forbidden, code: "InvalidAccessKeyId",
                message: "The AWS Access Key Id you provided does not exist in our records.")
        case .wrongSecurityToken:
            StoreError(status: .forbidden, code: "InvalidToken", message: "The provided token is malformed or invalid.")
        case .notYetValid: .accessDenied("Request is not valid yet", details: [["ServerTime", now.extended]])
        case .expired: .accessDenied("Request has expired", details: [["ServerTime", now.extended]])
        case .headerNotSigned(let name):
            .accessDenied(
                "There were headers present in the request which were not signed",
                details: [["HeadersNotSigned", name]])
        case .headerMissing, .signatureMismatch:
            StoreError(
                status: .forbidden, code: "SignatureDoesNotMatch",
                message: "The request signature we calculated does not match the signature you provided. "
                    + "Check your key and signing method.")
        }
    }
}
