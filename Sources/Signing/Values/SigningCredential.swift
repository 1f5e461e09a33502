/// The credential of a signer: an access key, and a security token if the key is temporary.
public struct SigningCredential: Sendable, Hashable {
    /// Public part, written into each URL.
    public let accessKeyID: String
    /// Secret part; never written anywhere.
    public let secretAccessKey: String
    /// Token of temporary credentials, written into each URL and signed with it.
    public let securityToken: String?

    /// Takes a credential as the store gave it.
    public init(accessKeyID: String, secretAccessKey: String, securityToken: String? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.securityToken = securityToken
    }
}

extension SigningCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Names the access key and hides the rest.
    public var description: String { "SigningCredential(\(accessKeyID), «redacted»)" }

    /// Names the access key and hides the rest.
    public var debugDescription: String { description }

    /// Names the access key and hides the rest.
    public var customMirror: Mirror { Mirror(self, children: ["accessKeyID": accessKeyID]) }
}
