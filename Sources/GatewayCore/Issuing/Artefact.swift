import Bytes
import FoundationEssentials
import Signing

/// A signed credential before it leaves the gateway, read back from the data that was signed. It describes the limits
/// that a store enforces for anyone who presents the credential.
protocol Artefact {
    /// The capabilities of the scheme that signed.
    var binding: SchemeBinding { get }
    /// The only HTTP method that the credential allows.
    var method: String { get }
    /// Maximum number of bytes that an upload with this credential can carry; `nil` if nothing limits it.
    var maxBytes: Int64? { get }
    /// The address from which alone the credential works; `nil` if it works from every address.
    var sourceAddress: IPAddress? { get }
    /// Number of bound query parameters that change the effect of the request.
    var parameterCount: Int { get }

    /// Returns whether the credential is valid for this object and no other. For an empty key, whether it is valid for
    /// the bucket itself.
    func isFor(_ key: String, in bucket: BucketName) -> Bool
    /// Returns whether the credential is expired at `end` and later. `end` is a whole second.
    func isDead(at end: Date) -> Bool
    /// Returns whether the credential is valid only for a request that sends this header.
    ///
    /// - Parameter place: The index to try first, before all others.
    func binds(header: NamedValue, at place: Int) -> Bool
    /// Returns whether the credential is valid only for a request that sends this query parameter, given decoded.
    func binds(parameter: NamedValue, at place: Int) -> Bool
}

extension Artefact {
    /// No address: only links to a content delivery network bind one.
    var sourceAddress: IPAddress? { nil }
}

/// Proves that a signed credential is limited to what its permit allows: method, object, expiry, every header, every
/// parameter, the size and the caller's address. Every delivery calls this before anything is recorded.
///
/// - Parameters:
///   - artefact: The signed credential.
///   - permit: The decision.
///   - request: The request that was decided.
/// - Throws: ``GatewayError/unproven(_:)``, which always means a bug in the gateway.
func prove(_ artefact: borrowing some Artefact, by permit: Permit, of request: IssueRequest) throws(GatewayError) {
    if let gap = gap(in: artefact, by: permit, of: request) { throw .unproven(gap) }
}

@inline(__always)
private func gap(in artefact: borrowing some Artefact, by permit: Permit, of request: IssueRequest) -> ProofGap? {
    guard artefact.binding === permit.bucketRow.binding else { return .scheme }
    guard artefact.method.isSameBytes(as: request.httpMethod) else { return .method }
    guard artefact.isFor(request.pathKey, in: permit.bucketRow.bucket.name) else { return .place }
    guard artefact.isDead(at: permit.expiresAt) else { return .expiry }
    for place in permit.headers.indices {
        guard artefact.binds(header: permit.headers[place], at: place) else { return .header }
    }
    guard artefact.parameterCount == permit.query.count else { return .parameter }
    for place in permit.query.indices {
        guard artefact.binds(parameter: permit.query[place], at: place) else { return .parameter }
    }
    if let most = permit.maxBytes {
        guard let bound = artefact.maxBytes, bound <= most else { return .size }
    }
    if let address = permit.sourceAddress {
        guard artefact.sourceAddress == address else { return .sourceAddress }
    }
    return nil
}

extension [NamedValue] {
    /// Returns whether the list contains an entry with this name and value.
    ///
    /// - Parameter place: The index to try first, before all others.
    func hold(_ wanted: NamedValue, at place: Int) -> Bool {
        if indices.contains(place), self[place].isSame(as: wanted) { return true }
        return contains { $0.isSame(as: wanted) }
    }
}

extension NamedValue {
    /// Compares byte by byte. Unicode considers some texts equal that a store treats as different.
    func isSame(as other: NamedValue) -> Bool {
        name.isSameBytes(as: other.name) && value.isSameBytes(as: other.value)
    }
}
