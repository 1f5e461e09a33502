import Bytes
import Signing

/// How a scheme binds the size of an upload.
struct SizeBinding {
    /// Largest number of bytes that can arrive.
    let maxBytes: Int64
    /// Who refuses a larger upload.
    let enforcedBy: SizeEnforcement
    /// The header that states the size, if a header does.
    let header: NamedValue?
}

extension SchemeBinding {
    /// Returns how the scheme binds the size of an upload; `nil` if it does not.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: Size limit of a grant, in bytes.
    func size(of request: IssueRequest, limit: Int64?) -> SizeBinding? {
        guard request.carriesBytes else { return nil }
        if request.delivery == .postPolicy {
            return request.contentLength.map { SizeBinding(maxBytes: $0, enforcedBy: .policy, header: nil) }
        }
        if let length = request.contentLength {
            if bindsLength {
                let header = NamedValue("content-length", String(length))
                return SizeBinding(maxBytes: length, enforcedBy: .signature, header: header)
            }
            return lengthRangeHeader(for: request).map {
                let header = NamedValue($0, "\(length),\(length)")
                return SizeBinding(maxBytes: length, enforcedBy: .signature, header: header)
            }
        }
        guard let limit, let lengthRangeHeader = lengthRangeHeader(for: request) else { return nil }
        let largest = min(limit, IssueRequest.maxContentLength)
        return SizeBinding(
            maxBytes: largest, enforcedBy: .signature, header: NamedValue(lengthRangeHeader, "0,\(largest)"))
    }

    /// Whether the scheme would bind a length if the request stated one.
    func bindsStatedLength(of request: IssueRequest) -> Bool {
        bindsLength || lengthRangeHeader(for: request) != nil
    }

    // A range header applies only to an object that is uploaded as a whole.
    private func lengthRangeHeader(for request: IssueRequest) -> String? {
        request.multipart == nil ? lengthRangeHeader : nil
    }

    /// Returns the error for a limited size that the scheme cannot bind for this request. The reason names an
    /// alternative that can.
    func unboundSize(of request: IssueRequest) -> GatewayError {
        if let flaw = flawOfParts(in: request) { return flaw }
        let instead =
            if form != nil {
                "use a form, POST /v1/post-policies"
            } else {
                "use a bucket with a scheme that binds it, such as 'aws-v4'"
            }
        let what = request.multipart != nil ? "parts" : "an upload"
        return .notEnforceable(reason: "The bucket's signing scheme cannot bind the size of \(what); \(instead).")
    }

    /// Returns the error for the first part of a request that the scheme cannot bind; `nil` if it can bind all of it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - conditions: Conditions of the grant that would permit the request.
    func flaw(of request: IssueRequest, under conditions: GrantConditions) -> GatewayError? {
        if isOfCDN, let flaw = cdnFlaw(of: request) { return flaw }
        if let flaw = flawOfParts(in: request) { return flaw }
        if !takesQuestionMarks, request.key.rawValue.utf8.contains(UInt8(ascii: "?")) {
            return .invalidArgument(
                field: "key", reason: "The bucket's signing scheme cannot sign a key that contains '?'."
            )
        }
        if request.delivery == .postPolicy, form == nil {
            return .notEnforceable(reason: "The bucket's signing scheme has no browser forms.")
        }
        if closesUploads, request.isSentByHolder, let flaw = opening(in: request) { return flaw }
        if closesUploads, request.startsBareParts {
            return .notEnforceable(reason: "Each part would have to state its SHA-256 and length; send the file whole.")
        }
        // Only as the hash of the request itself: stores compare checksums of parts only if the upload was started with
        // checksums.
        if request.checksumSHA256 != nil, request.multipart != nil, !closesUploads {
            return Self.unbound("the SHA-256 of a part; use 'contentMD5'")
        }
        // Before the SHA-256, which clients of Git LFS can do without.
        if request.createsOnly, createsOnlyHeader == nil { return Self.unboundCreation }
        if request.checksumSHA256 != nil, !bindsChecksum { return Self.unboundChecksum }
        if request.process != nil, processParameter == nil { return Self.unbound("'process'") }
        switch request.action {
        case .putObject: return nil
        case .getObject: return downloadFlaw(of: request, under: conditions)
        case .listObjects: return signsListings ? nil : Self.unsignedListing
        case .deleteObject: return versionParameter != nil ? nil : Self.unsignedDeletion
        }
    }

    private func downloadFlaw(of request: IssueRequest, under conditions: GrantConditions) -> GatewayError? {
        let forcesDownload = conditions.forceDownload == true
        let wanted = request.overrides(forcesDownload: forcesDownload)
        if let wrong = wanted.first(where: { !overrides.contains($0.0) }) {
            return Self.unbound("'\(wrong.0.rawValue)'")
        }
        // The holder can make a parameter the end of the value before it: the parameter is gone, and the value another.
        if !separatesParameters {
            func isJoined(_ value: String?) -> Bool { value?.utf8.contains(UInt8(ascii: "&")) == true }
            let joined =
                wanted.contains { isJoined($0.1) }
                ? "response"
                : isJoined(request.versionID?.text) ? "versionID" : isJoined(request.process?.text) ? "process" : nil
            if let joined {
                return .invalidArgument(
                    field: joined, reason: "The bucket's signing scheme cannot sign a value that contains '&'.")
            }
            let selecting = (request.versionID == nil ? 0 : 1) + (request.process == nil ? 0 : 1)
            if forcesDownload || selecting > 0, wanted.count + selecting > 1 {
                return .notEnforceable(
                    reason: """
                        The signing scheme lets the holder of the signature turn two parameters into one, and so remove \
                        a version, a process or the disposition that 'forceDownload' requires. Ask for one parameter \
                        alone, or use a bucket with a version 4 scheme.
                        """)
            }
        }
        if let version = request.versionID {
            if versionParameter == nil { return Self.unbound("'versionID'") }
            if versionParameter == Self.gcsV4.versionParameter, Int64(version.text) == nil {
                return .invalidArgument(field: "versionID", reason: "A generation must be a number.")
            }
        }
        if !signsDownloads, conditions.allowResponseContentType != true || conditions.allowVersions != true {
            return .notEnforceable(
                reason: """
                    The signing scheme lets the holder of the signature choose the answer's content type and the \
                    version, which requires a grant with 'allowResponseContentType' and 'allowVersions'; \
                    \(isOfCDN ? "another endpoint" : "a version 4 scheme") binds both.
                    """)
        }
        return nil
    }
}

extension SchemeBinding {
    /// Returns the error for what links to a content delivery network cannot be for.
    private func cdnFlaw(of request: IssueRequest) -> GatewayError? {
        guard request.action == .getObject, request.method == .get else {
            return .notEnforceable(
                reason: "Links to the bucket's CDN are for downloads by GET alone; choose another endpoint.")
        }
        if endsInInstant, AlibabaCDN.isAmbiguous(key: request.key.rawValue) {
            return .invalidArgument(
                field: "key",
                reason: """
                    The CDN's signing scheme cannot tell the end of a key apart from the time that follows it if the key \
                    ends with a digit, a letter from 'a' to 'f' or an escaped character.
                    """)
        }
        return nil
    }

    /// Returns the error for a step of an upload in parts that the store does not take by the scheme.
    private func flawOfParts(in request: IssueRequest) -> GatewayError? {
        guard request.multipart != nil, !signsParts else { return nil }
        return .notEnforceable(
            reason: """
                The store takes no parts by the bucket's signing scheme; upload the object at once, POST \
                /v1/presigned-urls, or use a bucket with 'gcs-v4-rsa' or 'gcs-v4-hmac'.
                """)
    }

    private static func unbound(_ what: String) -> GatewayError {
        .notEnforceable(reason: "The bucket's signing scheme cannot bind \(what).")
    }

    static let unboundCreation = unbound("'ifNoneMatch'")
    static let unboundChecksum = unbound("a SHA-256; use 'contentMD5'")
    private static let unsignedListing = GatewayError.notEnforceable(
        reason: """
            The bucket's signing scheme does not sign 'prefix', so a link would list the whole bucket; use a bucket \
            with 'aws-v4', 'oss-v4', 'gcs-v4-rsa' or 'gcs-v4-hmac'.
            """)
    private static let unsignedDeletion = GatewayError.notEnforceable(
        reason: """
            The signing scheme does not bind the version, so its holder could delete any version of the object; \
            use a version 4 scheme.
            """)

    /// The error for an upload without a length where the store obeys unsigned headers. No grant asks for it.
    private static let openUploadLength = GatewayError.invalidArgument(
        field: "contentLength",
        reason: "The bucket's store obeys unsigned headers, so 'contentLength' is required.")

    /// Returns the error for a missing field without which unsigned headers could turn the upload into something else.
    private func opening(in request: IssueRequest) -> GatewayError? {
        guard request.checksumSHA256 != nil else {
            return .invalidArgument(
                field: "checksumSHA256",
                reason: "The bucket's store obeys unsigned headers, so 'checksumSHA256' is required.")
        }
        guard let length = request.contentLength else { return Self.openUploadLength }
        guard length > 0 else {
            return .invalidArgument(
                field: "contentLength",
                reason:
                    "The bucket's store obeys unsigned headers, so the upload must have at least 1 byte; for an empty object, use a form."
            )
        }
        return nil
    }
}

extension IssueRequest {
    /// Whether the holder sends bytes with headers that the store reads. Stores ignore such headers in a form's
    /// request.
    fileprivate var isSentByHolder: Bool { carriesBytes && delivery != .postPolicy }

    /// The header that binds the SHA-256, if the request states one.
    private func checksumHeader(by binding: SchemeBinding) -> NamedValue? {
        guard let checksumSHA256, let checksumSHA256Text else { return nil }
        return binding.closesUploads
            ? NamedValue("x-amz-content-sha256", Hex.encode(checksumSHA256))
            : NamedValue("x-amz-checksum-sha256", checksumSHA256Text)
    }

    /// Returns the headers that a URL for this request binds and that the client must send.
    func boundHeaders(by binding: SchemeBinding, in bucket: Bucket, size: SizeBinding?) -> [NamedValue] {
        guard action == .putObject else { return [] }
        var headers: [NamedValue] = []
        headers.reserveCapacity(3 + metadata.entries.count)
        // Content type and encryption of a multipart object are bound when the upload starts.
        if beginsObject {
            if let contentType { headers.append(NamedValue("content-type", contentType.text)) }
            headers += bucket.encryptionHeaders
        }
        if let contentMD5Text { headers.append(NamedValue("content-md5", contentMD5Text)) }
        if let header = size?.header { headers.append(header) }
        if let header = checksumHeader(by: binding) { headers.append(header) }
        if binding.closesUploads, multipart == nil, isSentByHolder {
            headers += SchemeBinding.closingHeaders
        }
        for entry in metadata.entries {
            headers.append(NamedValue(binding.metadataPrefix + entry.name, entry.value))
        }
        if createsOnly, let header = binding.createsOnlyHeader { headers.append(header) }
        return headers
    }

    /// Returns the parameters that a URL for this request binds, decoded.
    ///
    /// Only a link for a whole object carries a callback. Parts trigger none. The gateway itself completes a multipart
    /// upload, and with a callback it would receive the answer of the callback's receiver instead of the store's.
    func boundQuery(by binding: SchemeBinding, in bucket: Bucket, forcesDownload: Bool) -> [NamedValue] {
        var query = multipartQuery
        switch action {
        case .putObject:
            if delivery == .presignedURL, multipart == nil { query += bucket.callbackQuery }
            return query
        case .listObjects: return listing?.query ?? query
        case .deleteObject: return query
        case .getObject: break
        }
        query += overrides(forcesDownload: forcesDownload).map { NamedValue($0.rawValue, $1) }
        if let process, let name = binding.processParameter { query.append(NamedValue(name, process.text)) }
        if let versionID, let name = binding.versionParameter { query.append(NamedValue(name, versionID.text)) }
        return query
    }

    /// Returns the headers that the response to a download must have.
    fileprivate func overrides(forcesDownload: Bool) -> [(SchemeBinding.Override, String)] {
        let disposition = response.contentDisposition ?? (forcesDownload ? "attachment" : nil)
        let values: [(SchemeBinding.Override, String?)] = [
            (.cacheControl, response.cacheControl),
            (.contentDisposition, disposition),
            (.contentEncoding, response.contentEncoding),
            (.contentLanguage, response.contentLanguage),
            (.contentType, response.contentType?.text),
            (.expires, response.expires),
        ]
        return values.compactMap { name, value in value.map { (name, $0) } }
    }
}
