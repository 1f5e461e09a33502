import FoundationEssentials
import GatewayCore
import Bytes

extension RecordedIssuance: ExportedRow {
    /// Users chose the keys and names, and nothing reads the file back.
    static let formulas = CSVWriter.Formulas.quoted

    static let columns = [
        "id", "issuedAt", "expiresAt", "delivery", "principal", "matchedPrincipal", "grantID", "credentialID",
        "actions", "method", "bucket", "key", "contentType", "contentMD5", "contentLength", "requestID",
        "policySequence",
    ]

    var cells: [String] {
        [
            id.lowercaseText, Timestamp.text(of: issuedAt), Timestamp.text(of: expiresAt), delivery, principal,
            matchedPrincipal, grantID.lowercaseText, credentialID.lowercaseText, actions.joined(separator: " "),
            method, bucket, key, contentType ?? "", contentMD5.map { Base64.encode($0) } ?? "",
            contentLength.map { String($0) } ?? "", requestID, String(policySequence),
        ]
    }
}
