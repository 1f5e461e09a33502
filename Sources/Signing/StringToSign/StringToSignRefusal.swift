/// Why a client's string to sign is refused. The raw value is a stable code.
///
/// A refusal repeats no part of the string, so it can be shown and logged.
public enum StringToSignRefusal: String, Error, Sendable, Hashable, CaseIterable {
    /// It is longer than any request needs.
    case tooLong = "TooLong"
    /// It contains a control character other than the line feeds between its lines.
    case controlCharacter = "ControlCharacter"
    /// It has too few lines to be a request; POST policies have one.
    case notARequest = "NotARequest"
    /// It belongs to a "version 4" scheme and contains only a hash of the request.
    case canonicalRequestNeeded = "CanonicalRequestNeeded"
    /// The method is not one for objects.
    case methodNotAllowed = "MethodNotAllowed"
    /// The MD5 is not base64 of 16 bytes.
    case invalidContentMD5 = "InvalidContentMD5"
    /// The content type is not one line of printable ASCII.
    case invalidContentType = "InvalidContentType"
    /// An upload has no content type, so that the store would choose one.
    case contentTypeNeeded = "ContentTypeNeeded"
    /// The date is missing, or not in a format that the store reads.
    case invalidDate = "InvalidDate"
    /// The date is too far from now.
    case dateOutsideWindow = "DateOutsideWindow"
    /// The expiry has passed.
    case expired = "Expired"
    /// The expiry is later than allowed.
    case expiryTooFar = "ExpiryTooFar"
    /// Two dates of the request differ, or there is a date where none is allowed.
    case datesDiffer = "DatesDiffer"
    /// A line is neither a header of the vendor nor, as the last one, a resource.
    case invalidLine = "InvalidLine"
    /// Headers, parameters or their names are not sorted and distinct.
    case notAscending = "NotAscending"
    /// A header is not among those that may be set.
    case headerNotAllowed = "HeaderNotAllowed"
    /// A header or parameter has a value that may not be set.
    case valueNotAllowed = "ValueNotAllowed"
    /// The header would open the object to others.
    case accessControl = "AccessControl"
    /// The store would read another object.
    case copySource = "CopySource"
    /// The store would call an address of the client's choice: the callback is not the one of the bucket.
    case callback = "Callback"
    /// The token is not the one of the key that signs.
    case securityToken = "SecurityToken"
    /// The resource is the service itself.
    case serviceResource = "ServiceResource"
    /// The resource is a bucket.
    case bucketResource = "BucketResource"
    /// The bucket's name is not valid.
    case invalidBucketName = "InvalidBucketName"
    /// The path is not percent-encoded unambiguously.
    case invalidPath = "InvalidPath"
    /// The key is one that a client, proxy or store may rewrite.
    case invalidKey = "InvalidKey"
    /// The text after `?` is not a list of parameters that the store signs.
    case invalidSubResources = "InvalidSubResources"
    /// The parameters ask for more than reading or writing one object.
    case subResourceNotAllowed = "SubResourceNotAllowed"
    /// The processing would store its result, or there are several.
    case processNotAllowed = "ProcessNotAllowed"
    /// The canonical request is not in the form of its scheme.
    case invalidCanonicalRequest = "InvalidCanonicalRequest"
    /// The string to sign is not in the form of its scheme.
    case invalidStringToSign = "InvalidStringToSign"
    /// The hash in the string to sign is not that of the canonical request.
    case hashMismatch = "HashMismatch"
    /// The scope is for another day, region or service, or another key.
    case wrongScope = "WrongScope"
    /// The host is not the bucket's.
    case wrongHost = "WrongHost"

    /// A sentence for the caller.
    public var detail: String {
        switch self {
        case .tooLong: "The string is longer than 8 KiB, or the canonical request than 16 KiB."
        case .controlCharacter: "A control character other than a line feed is in the string."
        case .notARequest:
            "The string has fewer than five lines, so it is not a request; POST policies are not signed here."
        case .canonicalRequestNeeded:
            "This string contains only a hash of the request: send the canonical request with it, exactly as it was hashed."
        case .methodNotAllowed: "The first line must be GET, HEAD, PUT, POST or DELETE."
        case .invalidContentMD5: "The MD5 is not 16 bytes in base64."
        case .invalidContentType: "The content type is not printable ASCII of at most 255 characters."
        case .contentTypeNeeded:
            "The upload has no Content-Type, so the store would choose one, perhaps by the key: send one, and sign it."
        case .invalidDate:
            "The date is neither a date of HTTP in GMT nor, for a URL, 9 or 10 digits of seconds since 1970."
        case .dateOutsideWindow: "The date is 15 minutes or more behind, or more than 15 minutes ahead."
        case .expired: "The expiry is not in the future."
        case .expiryTooFar: "Digits in the date line make this the signature of a URL, and it would live too long."
        case .datesDiffer: "The vendor's date header differs from the date line, or is part of a URL."
        case .invalidLine: "A line is neither a header of the store nor, as the last and only one, a resource."
        case .notAscending: "Headers or parameters are not in ascending order, each once."
        case .headerNotAllowed: "A header is not among those that may be set."
        case .valueNotAllowed: "A header or parameter has a value that may not be set."
        case .accessControl: "A header would open the object to others."
        case .copySource: "A copy on the server would read another object."
        case .callback:
            "The callback differs from the bucket's, or the bucket has none: an upload may have only that one, with its variables."
        case .securityToken: "The security token is not the one of the key that would sign."
        case .serviceResource: "The resource is the service, not an object."
        case .bucketResource:
            "The resource is a bucket: only version 4 strings can hold what a listing asks for, with 'list-type=2'."
        case .invalidBucketName: "The bucket's name is not valid."
        case .invalidPath: "The path has a percent-encoding that can be read in two ways."
        case .invalidKey: "A client, proxy or store may rewrite the key or read it in two ways."
        case .invalidSubResources: "What follows '?' is not a list of parameters that the store signs."
        case .subResourceNotAllowed: "The parameters ask for more than reading or writing one object."
        case .processNotAllowed: "The processing is empty, occurs more than once, or stores its result."
        case .invalidCanonicalRequest: "The canonical request is not in the form of its scheme."
        case .invalidStringToSign: "The string to sign is not in the form of its scheme."
        case .hashMismatch: "The string to sign does not contain the hash of the canonical request."
        case .wrongScope: "The scope is for another day, region, service or key."
        case .wrongHost: "The host is not the bucket's."
        }
    }
}
