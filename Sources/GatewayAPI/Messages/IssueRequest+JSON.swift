import GatewayCore

extension IssueRequest.Fields {
    /// Reads the members of a body.
    init(_ body: inout JSONObject) throws(GatewayError) {
        self.init()
        action = try body.string("action")
        method = try body.string("method")
        bucket = try body.string("bucket")
        key = try body.string("key")
        prefix = try body.string("prefix")
        if var list = try body.object("list") {
            self.list = try Listing.Fields(&list)
            try list.end()
        }
        keyPrefix = try body.string("keyPrefix")
        keyExtension = try body.string("keyExtension")
        contentType = try body.string("contentType")
        contentMD5 = try body.string("contentMD5")
        checksumSHA256 = try body.string("checksumSHA256")
        contentLength = try body.integer("contentLength")
        expiresIn = try body.integer("expiresIn").map { Int($0) }
        if var response = try body.object("response") {
            self.response = try ResponseOverrides.Fields(&response)
            try response.end()
        }
        metadata = try body.dictionary("metadata", atMost: ObjectMetadata.maxCount)
        ifNoneMatch = try body.string("ifNoneMatch")
        process = try body.string("process")
        versionID = try body.string("versionID")
        endpoint = try body.string("endpoint")
    }
}

extension Listing.Fields {
    /// Reads the members of `list`.
    fileprivate init(_ json: inout JSONObject) throws(GatewayError) {
        self.init()
        delimiter = try json.string("delimiter")
        maxKeys = try json.integer("maxKeys")
        continuationToken = try json.string("continuationToken")
        startAfter = try json.string("startAfter")
        encodingType = try json.string("encodingType")
    }
}

extension ResponseOverrides.Fields {
    /// Reads the members of `response`.
    fileprivate init(_ json: inout JSONObject) throws(GatewayError) {
        self.init()
        contentDisposition = try json.string("contentDisposition")
        filename = try json.string("filename")
        contentType = try json.string("contentType")
        contentLanguage = try json.string("contentLanguage")
        cacheControl = try json.string("cacheControl")
        expires = try json.string("expires")
        contentEncoding = try json.string("contentEncoding")
    }
}
