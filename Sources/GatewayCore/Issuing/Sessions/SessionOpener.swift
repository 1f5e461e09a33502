import Bytes
public import FoundationEssentials
import LibCrypto

/// Opens sessions at a security token service.
public protocol SessionOpener: Sendable {
    /// Opens a session.
    ///
    /// - Throws: `slowDown` if the service throttles, `unavailable` if it does not answer or refuses the gateway,
    ///   `notEnforceable` if it does not accept the policy.
    func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential
}

/// The parameters for opening a session. Equal orders may share one session.
public struct SessionOrder: Sendable, Hashable {
    /// The storage credential that assumes the role.
    public let credential: StorageCredential
    /// The role to assume.
    public let role: SessionRole
    /// Session name derived from the user: 2…64 characters of `A-Z a-z 0-9 . @ _ -`.
    public let name: String
    /// The session policy that narrows the role; never absent.
    public let policy: String
    /// Lifetime in seconds.
    public let duration: Int
    /// The principal that the session is for. It is part of the order, so sessions are never shared between principals.
    package let principal: Principal

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

    /// Compares the values that the service sees. The access key id stands for the credential's secrets.
    public static func == (left: SessionOrder, right: SessionOrder) -> Bool {
        left.principal == right.principal && left.policy == right.policy && left.role == right.role
            && left.duration == right.duration && left.credential.id == right.credential.id
            && left.credential.accessKeyID == right.credential.accessKeyID
    }

    /// Hashes the values that distinguish orders.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(principal)
        hasher.combine(policy)
        hasher.combine(duration)
        hasher.combine(credential.id)
    }
}

/// Temporary credentials issued by a security token service.
public struct SessionCredential: Sendable, Equatable {
    /// The access key id, which is public.
    public var accessKeyID: String
    /// The secret access key.
    public var secretAccessKey: Secret<String>
    /// The session token that must be sent with the keys.
    public var sessionToken: Secret<String>
    /// When the credentials expire; a whole second, never later than the service stated.
    public var expiresAt: Date

    /// Creates credentials; `expiresAt` is rounded down to a whole second.
    public init(
        accessKeyID: String, secretAccessKey: Secret<String>, sessionToken: Secret<String>, expiresAt: Date
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresAt = Date(timeIntervalSince1970: expiresAt.timeIntervalSince1970.rounded(.down))
    }
}

/// Names for sessions, which appear in the service's own audit log.
enum SessionName {
    /// Returns the user's name in the alphabet that all services accept. A name that does not fit is shortened and gets
    /// part of its digest, which keeps different users distinct.
    static func text(for principal: Principal) -> String {
        let name = principal.rawValue.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        if 2...64 ~= name.count, name.allSatisfy(allowed.contains) { return String(decoding: name, as: UTF8.self) }
        let kept = name.prefix(47).map { allowed.contains($0) ? $0 : UInt8(ascii: "-") }
        let digest = DigestAlgorithm.sha256.digest(of: principal.rawValue).hex.prefix(16)
        return String(decoding: kept, as: UTF8.self) + "-" + digest
    }

    private static let allowed = ByteSet.alphanumeric.union(".@_-")
}
