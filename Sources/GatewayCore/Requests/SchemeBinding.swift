public import Signing

/// What a signing scheme can bind, and the names it uses. This table holds what decisions need to know about a scheme.
///
/// A class, because there are few instances and every decision uses one.
final class SchemeBinding: Sendable {
    /// Text before the names of metadata.
    let metadataPrefix: String
    /// Whether the scheme can sign `content-length`.
    let bindsLength: Bool
    /// The header that bounds the length of an upload, if the store has one.
    let lengthRangeHeader: String?
    /// Whether the scheme can make the store check a SHA-256.
    let bindsChecksum: Bool
    /// Whether uploads bind extra headers that make unsigned headers ineffective, at a store that would obey those.
    let closesUploads: Bool
    /// The header that makes the store refuse to replace an existing object, if there is one.
    let createsOnlyHeader: NamedValue?
    /// The response headers of a download that the scheme can bind.
    let overrides: Set<Override>
    /// Whether the scheme signs all parameters that change the result of a download. If not, the holder of the
    /// signature can add some.
    let signsDownloads: Bool
    /// Whether the scheme signs all parameters of a listing. If not, its holder can list the whole bucket.
    let signsListings: Bool
    /// Whether the store takes the steps of an upload in parts by the scheme.
    let signsParts: Bool
    /// The parameter that names a version of the object; `nil` if the scheme does not sign it.
    let versionParameter: String?
    /// The parameter that makes the store process the object, if there is one.
    let processParameter: String?
    /// Whether the scheme distinguishes a parameter from the end of the value before it. If not, the holder can encode
    /// the `&` between two parameters, and the store sees the first one alone.
    let separatesParameters: Bool
    /// Whether no signature for the bucket takes a `?` in a key for the `?` that ends the key.
    let takesQuestionMarks: Bool
    /// What browser forms bind; `nil` if the scheme has none.
    let form: Form?
    /// Whether the scheme signs links to a content delivery network, which know nothing but downloads by `GET`.
    let isOfCDN: Bool
    /// Whether the scheme signs the instant right after the path in hexadecimal, so that the end of a key could be
    /// taken for the beginning of an instant.
    let endsInInstant: Bool

    private init(
        metadataPrefix: String, bindsLength: Bool, lengthRangeHeader: String?, bindsChecksum: Bool,
        closesUploads: Bool = false, createsOnlyHeader: NamedValue?, overrides: Set<Override>,
        signsDownloads: Bool = true, signsListings: Bool = true, signsParts: Bool = true,
        versionParameter: String? = "versionId", processParameter: String?, separatesParameters: Bool = true,
        takesQuestionMarks: Bool, form: Form? = nil, isOfCDN: Bool = false, endsInInstant: Bool = false
    ) {
        self.metadataPrefix = metadataPrefix
        self.bindsLength = bindsLength
        self.lengthRangeHeader = lengthRangeHeader
        self.bindsChecksum = bindsChecksum
        self.closesUploads = closesUploads
        self.createsOnlyHeader = createsOnlyHeader
        self.overrides = overrides
        self.signsDownloads = signsDownloads
        self.signsListings = signsListings
        self.signsParts = signsParts
        self.versionParameter = versionParameter
        self.processParameter = processParameter
        self.separatesParameters = separatesParameters
        self.takesQuestionMarks = takesQuestionMarks
        self.form = form
        self.isOfCDN = isOfCDN
        self.endsInInstant = endsInInstant
    }

    /// Creates the binding of a scheme of a content delivery network: it has links for downloads alone, without headers
    /// and parameters.
    private convenience init(ofCDNThatSignsQuery signsQuery: Bool, endsInInstant: Bool = false) {
        self.init(
            metadataPrefix: "", bindsLength: false, lengthRangeHeader: nil, bindsChecksum: false,
            createsOnlyHeader: nil, overrides: [], signsDownloads: signsQuery, signsListings: false,
            versionParameter: nil, processParameter: nil, takesQuestionMarks: true, isOfCDN: true,
            endsInInstant: endsInInstant)
    }

    /// A response header of a download.
    enum Override: String, CaseIterable {
        case cacheControl = "response-cache-control"
        case contentDisposition = "response-content-disposition"
        case contentEncoding = "response-content-encoding"
        case contentLanguage = "response-content-language"
        case contentType = "response-content-type"
        case expires = "response-expires"
    }

    /// What browser forms of a scheme bind.
    struct Form {
        /// The field that determines the content type of the object, whatever the part of the file says.
        let typeField: String
        /// Whether a form can permit a list of content types. If not, it permits exactly one.
        let listsTypes: Bool
        /// The field that gives the object the bucket's ACL, at a store whose forms could choose another.
        let accessList: NamedValue?

        /// S3 and Google Cloud Storage refuse fields that the policy does not name.
        static let strict = Form(typeField: "Content-Type", listsTypes: false, accessList: nil)
        // Alibaba, "PostObject": of the three places that name a type, `x-oss-content-type` counts first, the part of
        // the file second, and `Content-Type` last. Fields that the policy does not name are obeyed.
        static let oss = Form(
            typeField: "x-oss-content-type", listsTypes: true, accessList: NamedValue("x-oss-object-acl", "default"))
    }
}

extension SchemeBinding {
    /// What a closed upload link binds so that its holder can send no other value: nobody else may read the object, and
    /// OpenStack Swift does not guess a type from the key.
    static let closingHeaders = [NamedValue("x-amz-acl", "private"), NamedValue("x-detect-content-type", "false")]
}

extension Bucket {
    /// The binding of the scheme in which links to the bucket are signed.
    ///
    /// Stores that may obey unsigned headers use `aws-v4` or `aws-v2`. `aws-v2` signs all of the vendor's headers, so
    /// only `aws-v4` needs the closed form.
    var binding: SchemeBinding {
        if let cdn { return cdn.scheme.binding }
        return honoursUnsignedHeaders && scheme == .awsV4 ? .awsV4Closed : scheme.binding
    }
}

extension Bucket {
    /// Returns the headers that an upload link binds besides content type and encryption, as users receive them, with
    /// `claimed` in place of their hash.
    ///
    /// - Parameters:
    ///   - length: Number of bytes in the upload.
    ///   - claimed: SHA-256 in hexadecimal, used only if the bucket's links bind one.
    public func uploadHeaders(length: Int, sha256 claimed: String) -> [NamedValue] {
        guard binding.closesUploads else { return [NamedValue("content-length", String(length))] }
        return [NamedValue("content-length", String(length)), NamedValue("x-amz-content-sha256", claimed)]
            + SchemeBinding.closingHeaders
    }

    /// The headers that request the bucket's encryption, names in lower case. Each request that begins an object binds
    /// them: an upload of the whole, a form, and the start of an upload in parts.
    public var encryptionHeaders: [NamedValue] {
        guard let encryption, let words = provider.encryption else { return [] }
        return [NamedValue(words.algorithmHeader, encryption.algorithm.rawValue)]
            + (encryption.keyID.map { [NamedValue(words.keyHeader, $0)] } ?? [])
    }

    /// Whether the store encrypts as the bucket requests what is signed by a scheme. Amazon S3 takes KMS only by
    /// version 4.
    ///
    /// - SeeAlso: Amazon S3, "Using server-side encryption with AWS KMS keys (SSE-KMS)".
    func encrypts(by scheme: Scheme) -> Bool {
        guard let encryption else { return true }
        return provider != .aws || scheme != .awsV2 || encryption.algorithm == .aes256
    }

    /// The parameters that make the store send a callback when an upload is complete.
    var callbackQuery: [NamedValue] {
        guard let callback else { return [] }
        return [NamedValue("callback", callback)] + (callbackVar.map { [NamedValue("callback-var", $0)] } ?? [])
    }
}

extension Bucket.Scheme {
    /// The binding of the scheme.
    ///
    /// Strings that clients compose have a binding of their own: ``RemoteString/binding(at:)``.
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

extension CDNSigning.Scheme {
    /// The binding of the scheme.
    var binding: SchemeBinding {
        switch self {
        case .cloudFront: .cloudFront
        case .alibabaA, .alibabaB, .nginxSecureLink: .unsignedQuery
        case .alibabaC: .alibabaC
        }
    }
}

extension SchemeBinding {
    static let awsV4 = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: true, lengthRangeHeader: nil, bindsChecksum: true,
        createsOnlyHeader: NamedValue("if-none-match", "*"), overrides: Set(Override.allCases), processParameter: nil,
        takesQuestionMarks: true, form: .strict
    )
    // Ceph 16: a signed `x-amz-acl: private` excludes any other ACL, and Ceph refuses grant headers beside it. Ceph
    // refuses to turn the upload into a copy if both the hash and a length above zero are signed. With only one of them
    // signed, it copies.
    static let awsV4Closed = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: true, lengthRangeHeader: nil, bindsChecksum: true,
        closesUploads: true, createsOnlyHeader: NamedValue("if-none-match", "*"), overrides: Set(Override.allCases),
        processParameter: nil, takesQuestionMarks: true, form: .strict
    )
    // The string to sign does not contain the length or `if-none-match`, so the client can choose both freely.
    static let awsV2 = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: false, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: nil, overrides: Set(Override.allCases), signsListings: false, processParameter: nil,
        separatesParameters: false, takesQuestionMarks: true
    )
    // Clients that sign with the gateway's help may use version 1 for these buckets too; see there.
    static let ossV4 = SchemeBinding(
        metadataPrefix: "x-oss-meta-", bindsLength: true, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: NamedValue("x-oss-forbid-overwrite", "true"), overrides: Set(Override.allCases),
        processParameter: "x-oss-process", takesQuestionMarks: false, form: .oss
    )
    // The string to sign holds keys unescaped: `a?acl` could be an object, or the ACL of `a`.
    static let ossV1 = SchemeBinding(
        metadataPrefix: "x-oss-meta-", bindsLength: false, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: NamedValue("x-oss-forbid-overwrite", "true"), overrides: Set(Override.allCases),
        signsListings: false, processParameter: "x-oss-process", separatesParameters: false, takesQuestionMarks: false,
        form: .oss
    )
    // The XML API has two parameters for response headers and ignores the others.
    static let gcsV4 = SchemeBinding(
        metadataPrefix: "x-goog-meta-", bindsLength: true, lengthRangeHeader: "x-goog-content-length-range",
        bindsChecksum: false, createsOnlyHeader: NamedValue("x-goog-if-generation-match", "0"),
        overrides: [.contentDisposition, .contentType], versionParameter: "generation", processParameter: nil,
        takesQuestionMarks: true, form: .strict
    )
    // The parameters for response headers and for the version are not signed, so the holder can change them. Google
    // documents no signed POST, and the scheme writes the names of parameters in lower case, which parts do not have.
    static let gcsV2 = SchemeBinding(
        metadataPrefix: "x-goog-meta-", bindsLength: false, lengthRangeHeader: "x-goog-content-length-range",
        bindsChecksum: false, createsOnlyHeader: NamedValue("x-goog-if-generation-match", "0"), overrides: [],
        signsDownloads: false, signsListings: false, signsParts: false, versionParameter: nil, processParameter: nil,
        takesQuestionMarks: true
    )
    // Google Cloud Storage accepts AWS's names here. It does not sign those parameters either.
    private static let interoperable = SchemeBinding(
        metadataPrefix: "x-amz-meta-", bindsLength: false, lengthRangeHeader: nil, bindsChecksum: false,
        createsOnlyHeader: nil, overrides: [], signsDownloads: false, signsListings: false, versionParameter: nil,
        processParameter: nil, takesQuestionMarks: true
    )
    /// Returns what a client's string of AWS version 2 binds.
    ///
    /// MinIO lets the holder of such a signature remove a parameter, and add one in other capitals. Where the bucket's
    /// own links are of that version, its admin has accepted this; elsewhere nothing rests on a parameter.
    static func ofVersion2(at bucket: Bucket) -> SchemeBinding { bucket.scheme == .awsV2 ? .awsV2 : .interoperable }
    // CloudFront signs the query, so nobody can add to it. Whether it passes parameters on to the store is a matter of
    // its configuration; therefore links bind none.
    static let cloudFront = SchemeBinding(ofCDNThatSignsQuery: true)
    // Whoever holds such a link can add parameters, which the network may pass on to the store.
    static let unsignedQuery = SchemeBinding(ofCDNThatSignsQuery: false)
    static let alibabaC = SchemeBinding(ofCDNThatSignsQuery: false, endsInInstant: true)
}
