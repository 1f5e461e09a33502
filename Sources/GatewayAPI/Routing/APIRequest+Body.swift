import GatewayCore
import HTTPServing
import HTTPTypes

extension APIRequest {
    /// The same request with its body, once it is known who asks: one whose body is coded is refused before any of it is read,
    /// and one that the server handed over as it arrives is gathered, where the route collects it.
    func withBody() async throws -> APIRequest {
        try refuseCodedBody()
        guard case .route(let route, _, _) = match else { return self }
        guard case .stream(let pieces) = body, case .collect(let maxBytes) = route.bodyPlan else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(maxBytes, headers[.contentLength].flatMap { Int($0) } ?? 0))
        do {
            for try await piece in pieces { bytes += piece }
        } catch let error as RequestBodyError {
            throw ServerFailure(error, maxBytes: Int64(maxBytes))
        }
        return with(body: .collected(bytes))
    }

    /// Refuses a body that is coded, where there may be one.
    func refuseCodedBody() throws(APIError) {
        guard headers.nameContentCoding, case .route(let route, _, _) = match, route.takesBody else { return }
        throw .unsupportedContentCoding
    }
}

extension HeaderFields {
    /// Whether the body is said to be sent in another form than its own: what it grows to is not known beforehand.
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
    /// Why a body ended early, as the client is told.
    init(_ error: RequestBodyError, maxBytes: Int64) {
        switch error {
        case .disconnected: self = .badRequest("The body ended early.")
        case .timedOut: self = .requestTimeout
        case .tooLarge: self = .contentTooLarge(maxBytes: maxBytes)
        case .noMemory: self = .unavailable(retryAfter: 1)
        }
    }
}
