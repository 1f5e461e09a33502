public import FoundationEssentials

/// Tests issuers, their keys and a token of them, for admins.
public struct IssuerValidations: Sendable {
    private let issuers: any AdminStore<Issuer>
    private let audit: any AuditLog
    private let examine: @Sendable (Issuer, Secret<String>?, _ origin: String?) async -> IssuerValidation
    /// Limits concurrent checks, as each one holds connections to an issuer for some seconds.
    private let gate = Gate(size: 8, for: "issuers")

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuers: The rows.
    ///   - audit: Records each check.
    ///   - examine: Checks an issuer and, if there is one, a token. The sign-in to the console is checked for its
    ///     origin, if that is known. Every failure is a finding.
    public init(
        issuers: any AdminStore<Issuer>, audit: any AuditLog,
        examine: @escaping @Sendable (Issuer, Secret<String>?, _ origin: String?) async -> IssuerValidation
    ) {
        self.issuers = issuers
        self.audit = audit
        self.examine = examine
    }

    /// Tests an issuer. The audit entry is written before anything is requested. Nothing of the token is recorded.
    ///
    /// - Parameters:
    ///   - id: The issuer's identifier.
    ///   - token: A token of the issuer, if one is to be judged.
    ///   - origin: The origin of the console, if it is known.
    ///   - change: Who asks.
    /// - Throws: `notFound`, `slowDown` if too many checks run, `unavailable`.
    public func validate(
        _ id: UUID, token: Secret<String>?, origin: String?, by change: ChangeContext
    ) async throws(GatewayError) -> IssuerValidation {
        let issuer = try await issuers.get(id.lowercaseText).row
        return try await gate.pass { () async throws(GatewayError) in
            try await audit.note(
                AuditedAct(
                    .validate, .issuer, id.lowercaseText, details: ["token": token == nil ? "none" : "given"]),
                by: change)
            return await examine(issuer, token, origin)
        }
    }
}
