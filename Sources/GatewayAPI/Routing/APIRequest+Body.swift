import HTTPServing
import HTTPTypes

extension APIRequest {
    /// Size in bytes of a body that this step has to gather: the server hands it over as it arrives, but the route
    /// collects it. `nil` for any other body.
    var bytesToGather: Int? {
        guard case .stream = body, case .collect(let maxBytes, _) = route.bodyPlan else { return nil }
        return min(headers[.contentLength].flatMap { Int($0) } ?? maxBytes, maxBytes)
    }

    /// Returns the same request with its whole body. A body with a content coding is refused before any of it is read.
    func withBody() async throws -> APIRequest {
        try refuseCodedBody()
        guard case .stream(let pieces) = body, case .collect(let maxBytes, _) = route.bodyPlan else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(maxBytes, headers[.contentLength].flatMap { Int($0) } ?? 0))
        do {
            for try await piece in pieces { bytes += piece }
        } catch let error as RequestBodyError {
            throw ServerFailure(error, maxBytes: Int64(maxBytes))
        }
        return with(body: .collected(bytes))
    }

    /// Refuses a body with a content coding, on a route that takes a body.
    func refuseCodedBody() throws(APIError) {
        guard headers.nameContentCoding, route.takesBody else { return }
        throw .unsupportedContentCoding
    }
}

extension HeaderFields {
    /// Whether `Content-Encoding` names a coding. Such a body is refused because its decoded length is not known in
    /// advance.
    var nameContentCoding: Bool {
        guard contains(.contentEncoding) else { return false }
        return self[values: .contentEncoding].contains { value in
            value.utf8.split(separator: UInt8(ascii: ",")).contains { coding in
                let name = Substring(coding).trimming { $0 == " " || $0 == "\t" }
                return !name.isEmpty && name.lowercased() != "identity"
            }
        }
    }
}

extension ServerFailure {
    /// The failure for a body that its sender did not finish.
    static let earlyEnd = ServerFailure.badRequest("The body ended early.")

    /// The failure for a body that ended early.
    init(_ error: RequestBodyError, maxBytes: Int64) {
        switch error {
        case .disconnected: self = .earlyEnd
        case .timedOut: self = .requestTimeout
        case .tooLarge: self = .contentTooLarge(maxBytes: maxBytes)
        case .noMemory: self = .unavailable(retryAfter: 1, lacking: .memory)
        }
    }
}
