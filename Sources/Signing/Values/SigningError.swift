/// Why a request cannot be signed.
public enum SigningError: Error, Sendable, Equatable {
    /// The endpoint is not `http(s)://host[:port][/path]`; the text says what is wrong with it.
    case invalidEndpoint(String)
    /// The bucket's name does not fit the addressing; the text says why.
    case invalidBucket(String)
    /// The credential, region or service cannot be written into a credential scope; the text says why.
    case invalidScope(String)
    /// The method does not consist of upper-case letters.
    case invalidMethod(String)
    /// A header's name is not a token of RFC 9110.
    case invalidHeaderName(String)
    /// A header's value holds a line break or a NUL.
    case invalidHeaderValue(name: String)
    /// A header is given twice.
    case duplicateHeader(String)
    /// The signer writes this header itself, and the request gives it with another value.
    case reservedHeader(String)
    /// The scheme does not sign this header, so a URL cannot bind it.
    case headerNotBindable(String)
    /// The scheme does not sign the method, so it has links for `GET` alone.
    case methodNotBindable(String)
    /// The scheme does not sign query parameters, so a URL cannot bind this one.
    case queryNotBindable(String)
    /// The signer writes this query parameter itself.
    case reservedQueryParameter(String)
    /// A query parameter that the scheme signs is given twice.
    case duplicateQueryParameter(String)
    /// The value of a query parameter would be signed as if it were further parameters.
    case ambiguousQueryParameter(String)
    /// The key would be signed like another key with query parameters; the text says why.
    case ambiguousKey(String)
    /// The access key id cannot be written into a header, or the scheme has no place for the token; the text says why.
    case invalidCredential(String)
    /// The scheme binds the body, but its hash is not given.
    case payloadNotBound
    /// The signer writes this field of a form itself.
    case reservedField(String)
    /// A field of a form is given twice.
    case duplicateField(String)
    /// The store does not know a condition of the policy.
    case conditionNotSupported(String)
    /// The policy is not base64.
    case invalidPolicy
    /// The private key cannot be used; the text says why.
    case invalidPrivateKey(String)
    /// The key was made for another scheme.
    case keyOfAnotherScheme
    /// The life of the URL, in seconds, is outside what the scheme allows.
    case expiryOutOfRange(seconds: Int, allowed: ClosedRange<Int>)
    /// The path to send names another object than the bucket and key do.
    case pathNamesAnotherObject(String)
    /// The key was derived for another day than the instant of signing.
    case keyOfAnotherDay

    /// A stable code of the error, such as `InvalidEndpoint`.
    public var code: String {
        switch self {
        case .invalidEndpoint: "InvalidEndpoint"
        case .invalidBucket: "InvalidBucketName"
        case .invalidScope: "InvalidCredentialScope"
        case .invalidMethod: "InvalidMethod"
        case .invalidHeaderName, .invalidHeaderValue: "InvalidHeader"
        case .duplicateHeader: "DuplicateHeader"
        case .reservedHeader: "ReservedHeader"
        case .headerNotBindable: "HeaderNotBindable"
        case .methodNotBindable: "MethodNotBindable"
        case .queryNotBindable: "QueryNotBindable"
        case .reservedQueryParameter: "ReservedQueryParameter"
        case .duplicateQueryParameter: "DuplicateQueryParameter"
        case .ambiguousQueryParameter: "AmbiguousQueryParameter"
        case .ambiguousKey: "AmbiguousKey"
        case .invalidCredential: "InvalidCredential"
        case .payloadNotBound: "PayloadNotBound"
        case .reservedField: "ReservedField"
        case .duplicateField: "DuplicateField"
        case .conditionNotSupported: "ConditionNotSupported"
        case .invalidPolicy: "InvalidPolicy"
        case .invalidPrivateKey: "InvalidPrivateKey"
        case .keyOfAnotherScheme: "KeyOfAnotherScheme"
        case .expiryOutOfRange: "ExpiryOutOfRange"
        case .pathNamesAnotherObject: "PathNamesAnotherObject"
        case .keyOfAnotherDay: "KeyOfAnotherDay"
        }
    }

    /// A sentence for the caller that contains no secrets.
    public var detail: String {
        switch self {
        case .invalidEndpoint(let reason): "The endpoint is not usable: \(reason)."
        case .invalidBucket(let reason): "The bucket's name is not usable: \(reason)."
        case .invalidScope(let reason): "The credential scope cannot be written: \(reason)."
        case .invalidMethod(let method): "'\(method)' is not a method in upper-case letters."
        case .invalidHeaderName(let name): "'\(name)' is not a header name."
        case .invalidHeaderValue(let name): "The value of header '\(name)' holds a line break or a NUL."
        case .duplicateHeader(let name): "Header '\(name)' is given twice."
        case .reservedHeader(let name): "Header '\(name)' is written by the signer."
        case .headerNotBindable(let name): "The scheme does not sign header '\(name)'."
        case .methodNotBindable(let method): "The scheme has links for GET alone, not for '\(method)'."
        case .queryNotBindable(let name): "The scheme does not sign query parameter '\(name)'."
        case .reservedQueryParameter(let name): "Query parameter '\(name)' is written by the signer."
        case .duplicateQueryParameter(let name): "Query parameter '\(name)' is given twice."
        case .ambiguousQueryParameter(let name):
            "The value of query parameter '\(name)' would be signed like further parameters."
        case .ambiguousKey(let reason): "The key is ambiguous in this scheme: \(reason)."
        case .invalidCredential(let reason): "The credential is not usable: \(reason)."
        case .payloadNotBound: "The scheme binds the body, whose SHA-256 is not given."
        case .reservedField(let name): "Field '\(name)' is written by the signer."
        case .duplicateField(let name): "Field '\(name)' is given twice."
        case .conditionNotSupported(let name): "The store knows no condition '\(name)'."
        case .invalidPolicy: "The policy is not base64."
        case .invalidPrivateKey(let reason): "The private key is not usable: \(reason)."
        case .keyOfAnotherScheme: "The signing key belongs to another scheme."
        case .expiryOutOfRange(let seconds, let allowed):
            "A life of \(seconds) s is outside \(allowed.lowerBound)...\(allowed.upperBound) s."
        case .pathNamesAnotherObject(let path): "The path '\(path)' does not decode to the bucket and key."
        case .keyOfAnotherDay: "The signing key belongs to another day than the instant of signing."
        }
    }
}
