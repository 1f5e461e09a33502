public import Signing

/// What a signing scheme can bind, and in which words: what differs between the vendors, and nothing else.
///
/// A class, as every decision looks at one of these few.
final class SchemeBinding: Sendable {
    /// What stands before the names of metadata.
    let metadataPrefix: String
    /// Whether a `content-length` can be signed.
    let bindsLength: Bool
    /// The header that bounds the length of an upload, where there is one.
    let lengthRangeHeader: String?
    /// Whether a SHA-256 can be demanded of the store.
    let bindsChecksum: Bool
    /// Whether headers are bound that keep out what the store would obey though it is not signed.
    let closesUploads: Bool
    /// The header that keeps an object that exists from being replaced.
    let createsOnlyHeader: NamedValue?
    /// Headers of a download's response that can be set.
    let overrides: Set<Override>
    /// Whether all parameters are signed that change what a download gives; else whoever holds the signature adds some.
    let signsDownloads: Bool
    /// The parameter that names a version of the object, where it is signed.
    let versionParameter: String?
    /// The parameter that has the object changed on its way.
    let processParameter: String?
    /// Whether `?` in a key is told apart from what follows a key.
    let takesQuestionMarks: Bool
    /// What browser forms can say.
    let form: Form

    private init(
        metadataPrefix: String, bindsLength: Bool, lengthRangeHeader: String?, bindsChecksum: Bool,
        closesUploads: Bool = false, createsOnlyHeader: NamedValue?, overrides: Set<Override>,
        signsDownloads: Bool = true,
        versionParameter: String? = "versionId", processParameter: String?, takesQuestionMarks: Bool, form: Form
    ) {
        self.metadataPrefix = metadataPrefix
        self.bindsLength = bindsLength
        self.lengthRangeHeader = lengthRangeHeader
        self.bindsChecksum = bindsChecksum
        self.closesUploads = closesUploads
        self.createsOnlyHeader = createsOnlyHeader
        self.overrides = overrides
        self.signsDownloads = signsDownloads
        self.versionParameter = versionParameter
        self.processParameter = processParameter
        self.takesQuestionMarks = takesQuestionMarks
        self.form = form
    }

    /// A header of a download's response.
    enum Override: String, CaseIterable {
        case cacheControl = "response-cache-control"
        case contentDisposition = "response-content-disposition"
        case contentEncoding = "response-content-encoding"
        case contentLanguage = "response-content-language"
        case contentType = "response-content-type"
        case expires = "response-expires"
    }

    /// What browser forms of a scheme can say.
    enum Form {
        /// There are none.
        case none
        /// One content type.
        case oneType
        /// A list of content types as well.
        case types
    }
}

extension Bucket {
    /// What its scheme can bind at its store.
    ///
    /// Of the schemes of stores that may obey unsigned headers, the old one has all of the vendor's headers in what is signed.
    var binding: SchemeBinding {
        honoursUnsignedHeaders && scheme == .awsV4 ? .awsV4Closed : scheme.binding
    }
}

extension Bucket {
    /// The headers that a link binds for an upload of bytes, as users get them; with the hash of `claimed` in place of theirs.
    ///
    /// - Parameters:
    ///   - length: Number of the bytes.
    ///   - claimed: SHA-256 in hexadecimal that is bound where the bucket's links bind one.
    public func uploadHeaders(length: Int, sha256 claimed: String) -> [NamedValue] {
        guard binding.closesUploads else { return [NamedValue("content-length", String(length))] }
        return [
            NamedValue("content-length", String(length)), NamedValue("x-amz-acl", "private"),
            NamedValue("x-amz-content-sha256", claimed),
        ]
    }

    /// The parameters by which its store calls somebody when an upload is complete.
    var callbackQuery: [NamedValue] {
        guard let callback else { return [] }
        return [NamedValue("callback", callback)] + (callbackVar.map { [NamedValue("callback-var", $0)] } ?? [])
    }
}

extension Bucket.Scheme {
    /// What the scheme can bind.
    ///
    /// What strings of clients bind is another matter: ``RemoteString/binding(at:)``.
    var binding: SchemeBinding {
        switch self {
        case .awsV4: .awsV4
        case .awsV2: .awsV2
        case .ossV4: .ossV4
        case .ossV1: .ossV1
        case .gcsV4RSA, .gcsV4HMAC: .gcsV4
        case .gcsV2RSA: .gcsV2
        }
    }
}

extension SchemeBinding {
    static let awsV4 = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: true, lengthRangeHeader: nil, bindsChecksum: true,
        createsOnlyHeader: NamedValue("if-none-match", "*"), overrides: Set(Override.allCases), processParameter: nil,
        takesQuestionMarks: true, form: .oneType
    )
    // Ceph 16: `x-amz-acl: private` leaves no room for another list, and refuses grants beside it. A copy in place of the upload
    // is refused where both the hash and a length above zero are signed; with either alone it is made.
    static let awsV4Closed = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: true, lengthRangeHeader: nil, bindsChecksum: true,
        closesUploads: true, createsOnlyHeader: NamedValue("if-none-match", "*"), overrides: Set(Override.allCases),
        processParameter: nil, takesQuestionMarks: true, form: .oneType
    )
    // What is not in the string to sign is whatever the client makes it: length and `if-none-match`.
    static let awsV2 = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: false, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: nil, overrides: Set(Override.allCases), processParameter: nil, takesQuestionMarks: true,
        form: .none
    )
    static let ossV4 = SchemeBinding(
        metadataPrefix: "x-oss-meta-", bindsLength: true, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: NamedValue("x-oss-forbid-overwrite", "true"), overrides: Set(Override.allCases),
        processParameter: "x-oss-process", takesQuestionMarks: true, form: .types
    )
    // Keys stand unescaped in the string to sign: `a?acl` is an object, or the ACL of `a`.
    static let ossV1 = SchemeBinding(
        metadataPrefix: "x-oss-meta-", bindsLength: false, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: NamedValue("x-oss-forbid-overwrite", "true"), overrides: Set(Override.allCases),
        processParameter: "x-oss-process", takesQuestionMarks: false, form: .types
    )
    // The XML API knows two parameters for the answer's headers, and ignores the others.
    static let gcsV4 = SchemeBinding(
        metadataPrefix: "x-goog-meta-", bindsLength: true, lengthRangeHeader: "x-goog-content-length-range",
        bindsChecksum: false, createsOnlyHeader: NamedValue("x-goog-if-generation-match", "0"),
        overrides: [.contentDisposition, .contentType], versionParameter: "generation", processParameter: nil,
        takesQuestionMarks: true, form: .oneType
    )
    // Parameters for the answer's headers and the version are no part of what is signed: a holder may change them.
    static let gcsV2 = SchemeBinding(
        metadataPrefix: "x-goog-meta-", bindsLength: false, lengthRangeHeader: "x-goog-content-length-range",
        bindsChecksum: false, createsOnlyHeader: NamedValue("x-goog-if-generation-match", "0"), overrides: [],
        signsDownloads: false, versionParameter: nil, processParameter: nil, takesQuestionMarks: true, form: .none
    )
    // Google Cloud Storage takes the words of AWS, and signs none of those parameters either.
    static let gcsInteroperable = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: false, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: nil, overrides: [], signsDownloads: false, versionParameter: nil, processParameter: nil,
        takesQuestionMarks: true, form: .none
    )
}
