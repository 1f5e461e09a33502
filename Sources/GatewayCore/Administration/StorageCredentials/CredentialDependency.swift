public import FoundationEssentials

/// Finds the buckets and issuances that depend on a storage credential.
public protocol CredentialDependency: Sendable {
    /// Reads the dependents of a credential.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents

    /// Reads how a credential is used with regard to an endpoint, which must be in the form that buckets store.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse
}
