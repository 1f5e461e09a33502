import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto

/// Finds out who calls, and whether the route is for them, before the endpoint sees the request.
final class Authenticate: Sendable {
    let authenticator: any Authenticator
    /// Reads the changes of policy that were committed before the call.
    let advancePolicy: @Sendable () async throws(GatewayError) -> Void
    let idempotency: Idempotency
    /// How many requests each principal may send; without limit where `nil`.
    let rate: RequestRate?
    /// The same of requests with tickets, so that whoever came by one keeps nobody from taking it back.
    let ticketRate: RequestRate?
    private let longBodies = LongBodies()

    init(
        authenticator: any Authenticator, advancePolicy: @escaping @Sendable () async throws(GatewayError) -> Void,
        idempotency: Idempotency, rate: RequestRate?, ticketRate: RequestRate?
    ) {
        self.authenticator = authenticator
        self.advancePolicy = advancePolicy
        self.idempotency = idempotency
        self.rate = rate
        self.ticketRate = ticketRate
    }

    /// Calls the endpoint of a matched route.
    func answer(_ request: APIRequest, on route: Route) async throws -> ServerResponse {
        switch route.endpoint {
        case .open(let endpoint):
            return try await endpoint(request)
        case .authenticated(let endpoint):
            let caller = try await caller(of: request, for: route.access)
            try (caller.hasTicket ? ticketRate : rate)?.take(from: caller.principal, at: request.start)
            try Self.check(caller.roles, reach: route.access)
            guard case .stream = request.body, case .collect(let maxBytes) = route.bodyPlan else {
                try request.refuseCodedBody()
                guard request.isRepeatable else { return try await endpoint(request, caller) }
                return try await idempotency.answer(request, from: caller, on: route, endpoint)
            }
            // Nobody holds a long body for a caller who is not known.
            let length = request.headers[.contentLength].flatMap { Int($0) } ?? maxBytes
            return try await longBodies.hold(min(length, maxBytes), of: caller.principal) {
                let request = try await request.withBody()
                // Whoever was an admin when it began need not be one when the last of it comes.
                let caller = try await self.caller(of: request, for: route.access)
                try Self.check(caller.roles, reach: route.access)
                guard request.isRepeatable else { return try await endpoint(request, caller) }
                return try await idempotency.answer(request, from: caller, on: route, endpoint)
            }
        }
    }

    private func caller(of request: APIRequest, for access: Route.Access) async throws(GatewayError) -> Caller {
        let token = try Self.token(of: request, for: access)
        // A revoked admin must not act on what this gateway has not read yet: nothing after this proves the key anew.
        if access == .admin || access == .auditor { try await advancePolicy() }
        return try Self.admit(await authenticator.authenticate(token), to: access, request)
    }

    // Apart from what waits, which would find room for all that is looked at here.
    private static func admit(
        _ caller: Caller, to access: Route.Access, _ request: APIRequest
    ) throws(GatewayError) -> Caller {
        guard !caller.hasTicket || access == .userOrTicket else {
            throw .unauthenticated(reason: "A ticket is not accepted here.")
        }
        request.notes.note(principal: caller.principal)
        return caller
    }

    private static func check(_ roles: Set<Role>, reach access: Route.Access) throws(GatewayError) {
        switch access {
        case .anyone, .store, .user, .userOrTicket: break
        case .auditor:
            guard roles.contains(.auditor) || roles.contains(.admin) else { throw .roleRequired(Role.auditor.rawValue) }
        case .admin:
            guard roles.contains(.admin) else { throw .roleRequired(Role.admin.rawValue) }
        }
    }

    /// The ticket in the query, where the route takes one and there is one; else the bearer token.
    private static func token(
        of request: APIRequest, for access: Route.Access
    ) throws(GatewayError) -> Secret<String> {
        guard access == .userOrTicket, let text = try request.query("ticket") else {
            return try bearerToken(in: request.headers)
        }
        guard !request.headers.contains(.authorization) else {
            throw .unauthenticated(reason: "Send a ticket or a bearer token, not both.")
        }
        guard let ticket = TicketText(parsing: Secret(text)) else {
            throw .unauthenticated(reason: "The ticket is not accepted.")
        }
        return ticket.text
    }

    /// The token of exactly one `Authorization: Bearer`.
    static func bearerToken(in headers: HeaderFields) throws(GatewayError) -> Secret<String> {
        guard let value = headers.onlyValue(of: .authorization) else {
            guard headers.contains(.authorization) else {
                throw .unauthenticated(reason: "Send Authorization: Bearer and a token.")
            }
            throw .unauthenticated(reason: "There is more than one Authorization field.")
        }
        let bytes = value.span
        guard bytes.count > schemeByteCount, isBearer(bytes) else {
            throw .unauthenticated(reason: "The Authorization scheme must be Bearer.")
        }
        guard bytes.count - schemeByteCount <= TokenAuthenticator.longestTokenBytes else {
            throw .unauthenticated(reason: "The token is too long.")
        }
        let token = bytes.extracting(schemeByteCount..<bytes.count)
        guard isToken(token) else { throw .unauthenticated(reason: "The token holds characters that no token has.") }
        return Secret(String(decoding: value.dropFirst(schemeByteCount), as: UTF8.self))
    }

    /// Bytes of `Bearer` and the space behind it.
    private static let schemeByteCount = 7

    private static func isBearer(_ value: Span<UInt8>) -> Bool {
        value[0] | 0x20 == UInt8(ascii: "b") && value[1] | 0x20 == UInt8(ascii: "e")
            && value[2] | 0x20 == UInt8(ascii: "a") && value[3] | 0x20 == UInt8(ascii: "r")
            && value[4] | 0x20 == UInt8(ascii: "e") && value[5] | 0x20 == UInt8(ascii: "r")
            && value[6] == UInt8(ascii: " ")
    }

    /// `b64token` of RFC 6750, 2.1.
    private static func isToken(_ bytes: Span<UInt8>) -> Bool {
        let marks = SIMD4(UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "="))
        // Most tokens have no others.
        return bytes.isAlphanumeric(or: marks) || holdsTokenBytesOnly(bytes)
    }

    private static func holdsTokenBytesOnly(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices where !isTokenByte(bytes[index]) { return false }
        return true
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}

extension APIRequest {
    /// Whether it comes with a key by which it may be sent again.
    fileprivate var isRepeatable: Bool { method == .post && headers.contains(.idempotencyKey) }
}
