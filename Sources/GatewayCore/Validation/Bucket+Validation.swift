import Signing

extension Bucket {
    /// Checks a bucket before it is created and writes its endpoint in the one form that is kept, `http(s)://host[:port]`.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> Bucket {
        try require(1...schemeMaxTTL ~= maxTTL, "maxTTL", "A life is 1 to 604,800 seconds.")
        try require(1...maxTTL ~= defaultTTL, "defaultTTL", "The default life is 1 second to the longest life.")
        let isRegion = region.utf8.allSatisfy {
            UInt8(ascii: "-") == $0 || UInt8(ascii: "_") == $0 || ASCII.isAlphanumeric($0)
        }
        try require(1...64 ~= region.utf8.count && isRegion, "region", "A region is 1 to 64 letters, digits and '-'.")
        let endpoint = try origin()
        let isDotted = name.rawValue.utf8.contains(UInt8(ascii: "."))
        try require(
            !(isDotted && addressing == .virtual && endpoint.scheme == "https"), "addressing",
            "No certificate covers a bucket with dots in front of the host; use 'path'."
        )
        do throws(SigningError) {
            _ = try BucketAddress(endpoint: endpoint, bucket: name.rawValue, addressing: addressing.forSigning)
        } catch {
            throw .invalidArgument(field: "addressing", reason: error.detail)
        }
        var bucket = self
        bucket.endpoint = "\(endpoint.scheme)://\(endpoint.authority)"
        return bucket
    }

    private func origin() throws(GatewayError) -> StoreEndpoint {
        let endpoint: StoreEndpoint
        do throws(SigningError) {
            endpoint = try StoreEndpoint(self.endpoint)
        } catch {
            throw .invalidArgument(field: "endpoint", reason: error.detail)
        }
        try require(endpoint.path.isEmpty, "endpoint", "An endpoint is 'http(s)://host[:port]', without a path.")
        return endpoint
    }
}

extension StorageCredential {
    /// Checks a credential before it is created.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> StorageCredential {
        try require(name.isLine(1...128), "name", "A name is one line of 1 to 128 bytes.")
        // A slash would end the access key within the credential scope.
        try require(
            accessKeyID.isVisible(1...128) && !accessKeyID.utf8.contains(UInt8(ascii: "/")), "accessKeyID",
            "An access key is 1 to 128 visible ASCII characters without '/'."
        )
        try require(
            secretAccessKey.reveal().isVisible(1...1024), "secretAccessKey",
            "A secret is 1 to 1,024 visible ASCII characters."
        )
        try require(
            sessionToken?.reveal().isVisible(1...8192) ?? true, "sessionToken",
            "A session token is 1 to 8,192 visible ASCII characters."
        )
        try require(
            expiresAt == nil || sessionToken != nil, "expiresAt", "Only credentials with a session token end."
        )
        return self
    }
}
