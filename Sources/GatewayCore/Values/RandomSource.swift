/// A source of unpredictable bytes.
struct RandomSource: Sendable {
    private let make: @Sendable (Int) throws -> [UInt8]

    /// Creates a source from a function that returns the given number of bytes.
    init(_ make: @escaping @Sendable (Int) throws -> [UInt8]) {
        self.make = make
    }

    /// Returns the given number of bytes.
    ///
    /// - Throws: `unavailable` if the system does not give them.
    func bytes(_ count: Int) throws(GatewayError) -> [UInt8] {
        guard let bytes = try? make(count), bytes.count == count else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return bytes
    }

    /// Makes a secret from random bytes.
    ///
    /// - Throws: `unavailable` if the system does not give the bytes.
    func secret<Text>(_ count: Int, _ make: ([UInt8]) -> Text?) throws(GatewayError) -> Text {
        guard let text = make(try bytes(count)) else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return text
    }
}
