/// The kinds of resources that admins manage. The raw value is the word in `NoSuch…` codes.
public enum ResourceKind: String, Sendable, CaseIterable {
    case bucket = "Bucket"
    case storageCredential = "StorageCredential"
    case grant = "Grant"
    case groupMember = "GroupMember"
    case quota = "Quota"
    case issuer = "Issuer"
    case apiKey = "APIKey"
    case ticket = "Ticket"
    case multipartUpload = "Upload"
    case issuance = "Issuance"
    case eventSecret = "EventSecret"
}
