import Bytes

/// Generates names of probe objects.
enum ProbeKey {
    /// The prefix of all probe objects. A lifecycle rule at the store can use it to remove leftovers.
    static let prefix = ".sluice-probe/"
    /// Number of random bytes in a name.
    static let randomByteCount = 16

    /// Generates an unguessable name.
    static func make(randomBytes: [UInt8]) throws(GatewayError) -> ObjectKey {
        guard randomBytes.count == randomByteCount else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return try ObjectKey(prefix + Hex.encode(randomBytes))
    }
}
