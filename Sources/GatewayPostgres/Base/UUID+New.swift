import FoundationEssentials
import GatewayCore
import LibCrypto

extension UUID {
    /// Makes an identifier for a new row.
    ///
    /// - Throws: `unavailable` if the system gives no random bytes.
    static func new(at instant: Date) throws(GatewayError) -> UUID {
        guard let random = try? randomBytes(count: 10) else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return .version7(at: instant, randomBytes: random)
    }
}
