import Foundation
import LibCrypto
import Signing

/// What is about to leave, as read from what was signed: all that a store holds whoever brings it to.
protocol Artefact {
    /// What the scheme that signed can bind.
    var binding: SchemeBinding { get }
    /// The one method of the request.
    var method: String { get }
    /// Most bytes that can arrive by it; `nil` where nothing says.
    var maxBytes: Int64? { get }
    /// How many parameters are bound that change what is done.
    var parameterCount: Int { get }

    /// Whether it is for this object and no other.
    func isFor(_ key: ObjectKey, in bucket: BucketName) -> Bool
    /// Whether it is dead from an instant on, a whole second.
    func isDead(at end: Date) -> Bool
    /// Whether it holds only for a request with a header.
    ///
    /// - Parameter place: Where to look first.
    func binds(header: NamedValue, at place: Int) -> Bool
    /// Whether it holds only for a request with a parameter, decoded.
    func binds(parameter: NamedValue, at place: Int) -> Bool
}

/// Proves that something is held to all that its permit says: method, object, end, each header, each parameter and the size. Every
/// delivery asks here before anything is recorded.
///
/// - Parameters:
///   - artefact: What was signed.
///   - permit: What was decided.
///   - request: What it was decided about.
/// - Throws: ``GatewayError/unproven(_:)``, for which only a fault of ours can be the reason.
func prove(_ artefact: borrowing some Artefact, by permit: Permit, of request: IssueRequest) throws(GatewayError) {
    if let gap = gap(in: artefact, by: permit, of: request) { throw .unproven(gap) }
}

@inline(__always)
private func gap(in artefact: borrowing some Artefact, by permit: Permit, of request: IssueRequest) -> ProofGap? {
    guard artefact.binding === permit.bucketRow.binding else { return .scheme }
    guard artefact.method.isSameBytes(as: request.httpMethod) else { return .method }
    guard artefact.isFor(request.key, in: permit.bucketRow.bucket.name) else { return .place }
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
    return nil
}

extension [NamedValue] {
    /// Whether there is one of this name and value.
    ///
    /// - Parameter place: Where to look first.
    func hold(_ wanted: NamedValue, at place: Int) -> Bool {
        if indices.contains(place), self[place].isSame(as: wanted) { return true }
        return contains { $0.isSame(as: wanted) }
    }
}

extension NamedValue {
    /// Compares byte by byte: texts that Unicode holds for equal are different to a store.
    func isSame(as other: NamedValue) -> Bool {
        name.isSameBytes(as: other.name) && value.isSameBytes(as: other.value)
    }
}
