import HTTPServing

extension RequestBody {
    /// The pieces of the body, whether it was collected or not.
    var chunks: RequestBodyStream {
        switch self {
        case .stream(let stream): return stream
        case .collected(let bytes):
            let rest = OnePiece(bytes)
            return RequestBodyStream { rest.take() }
        }
    }

    /// Reads the whole body.
    ///
    /// - Throws: ``StoreError`` if it is longer than `maxBytes`.
    func bytes(atMost maxBytes: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in chunks {
            bytes += chunk
            guard bytes.count <= maxBytes else { throw StoreError.entityTooLarge(maxBytes: Int64(maxBytes)) }
        }
        return bytes
    }
}
