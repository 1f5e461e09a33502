public import Foundation
import LibCrypto

/// Opens sessions at a security token service.
public protocol SessionOpener: Sendable {
    /// Opens a session.
    ///
    /// - Throws: `slowDown` where the service asks for patience, `unavailable` where it does not answer or refuses us, and
    ///   `notEnforceable` where it does not take the policy.
    func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential
}

/// What a session is opened with. Orders that are equal may share one.
public struct SessionOrder: Sendable, Hashable {
    /// Who assumes the role.
    public let credential: StorageCredential
    /// The role.
    public let role: SessionRole
    /// Whose session it is: 2…64 of `A-Z a-z 0-9 . @ _ -`.
    public let name: String
    /// What narrows the role; never absent.
    public let policy: String
    /// Life in seconds.
    public let duration: Int
    /// For whom, so that nobody gets a session that was opened for somebody else.
    package let principal: Principal

    /// Puts an order together.
    package init(
        credential: StorageCredential, role: SessionRole, name: String, policy: String, duration: Int,
        principal: Principal
    ) {
        self.credential = credential
        self.role = role
        self.name = name
        self.policy = policy
        self.duration = duration
        self.principal = principal
    }

    /// Compares what the service sees; the secrets of a credential belong to its access key.
    public static func == (left: SessionOrder, right: SessionOrder) -> Bool {
        left.principal == right.principal && left.policy == right.policy && left.role == right.role
            && left.duration == right.duration && left.credential.id == right.credential.id
            && left.credential.accessKeyID == right.credential.accessKeyID
    }

    /// Hashes what tells orders apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(principal)
        hasher.combine(policy)
        hasher.combine(duration)
        hasher.combine(credential.id)
    }
}

/// Temporary credentials.
public struct SessionCredential: Sendable, Equatable {
    /// Public half.
    public var accessKeyID: String
    /// Secret half.
    public var secretAccessKey: Secret<String>
    /// The token that goes with them.
    public var sessionToken: Secret<String>
    /// When they end; a whole second, not after the service's own.
    public var expiresAt: Date

    /// Puts credentials together.
    public init(
        accessKeyID: String, secretAccessKey: Secret<String>, sessionToken: Secret<String>, expiresAt: Date
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresAt = Date(timeIntervalSince1970: expiresAt.timeIntervalSince1970.rounded(.down))
    }
}

/// Names of sessions, for the service's own audit.
enum SessionName {
    /// The user's name in the alphabet of all services. One that does not fit is shortened and carries a piece of its digest, so
    /// that two users stay two.
    static func text(for principal: Principal) -> String {
        let name = principal.rawValue.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        if 2...64 ~= name.count, name.allSatisfy(isAllowed) { return String(decoding: name, as: UTF8.self) }
        let kept = name.prefix(47).map { isAllowed($0) ? $0 : UInt8(ascii: "-") }
        let digest = DigestAlgorithm.sha256.digest(of: principal.rawValue).hex.prefix(16)
        return String(decoding: kept, as: UTF8.self) + "-" + digest
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        ASCII.isAlphanumeric(byte) || ".@_-".utf8.contains(byte)
    }
}
