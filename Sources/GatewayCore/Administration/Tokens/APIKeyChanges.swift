public import FoundationEssentials

/// Creates, changes and rotates API keys.
public struct APIKeyChanges: Sendable {
    private let keys: any AdminStore<APIKey>
    private let now: @Sendable () -> Date
    private let random: RandomSource

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - keys: The rows.
    ///   - now: The gateway's clock.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    public init(
        keys: any AdminStore<APIKey>, now: @escaping @Sendable () -> Date,
        randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.keys = keys
        self.now = now
        random = RandomSource(randomBytes)
    }

    /// Creates a key. This is the only time its text is returned.
    ///
    /// - Parameters:
    ///   - key: The new row; this method sets its prefix and hash.
    ///   - change: The admin and request that create the key.
    /// - Throws: `invalidArgument`, `unavailable`.
    public func create(
        _ key: Validated<APIKey>, by change: ChangeContext
    ) async throws(GatewayError) -> (stored: Stored<APIKey>, text: APIKeyText) {
        try checkExpiry(of: key.row, over: nil)
        let text = try newText()
        return (try await add(key, text, by: change), text)
    }

    /// Creates a key whose text exists, such as one that a demo keeps in a file.
    ///
    /// - Parameters:
    ///   - key: The new row; this method sets its prefix and hash.
    ///   - text: The text of the key.
    ///   - change: The admin and request that create the key.
    /// - Throws: `invalidArgument`, `alreadyExists`, `unavailable`.
    public func create(
        _ key: Validated<APIKey>, holding text: APIKeyText, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<APIKey> {
        try checkExpiry(of: key.row, over: nil)
        return try await add(key, text, by: change)
    }

    private func add(
        _ key: Validated<APIKey>, _ text: APIKeyText, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<APIKey> {
        var row = key.row
        row.prefix = text.prefix
        row.hash = text.digest
        return try await keys.create(Validated(unchecked: row), by: change)
    }

    /// Replaces a key's row, if it still has the revision that was read. The secret stays.
    ///
    /// - Throws: `invalidArgument`, `notFound`, `preconditionFailed`, `unavailable`.
    public func update(
        _ key: Validated<APIKey>, over old: Stored<APIKey>, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<APIKey> {
        try checkExpiry(of: key.row, over: old.row)
        return try await keys.update(key, from: old.revision, by: change)
    }

    /// Gives a key a new secret. This is the only time its text is returned.
    ///
    /// - Parameters:
    ///   - old: The key as it was read.
    ///   - overlap: How long the present secret remains valid.
    ///   - change: The admin and request that rotate the key.
    /// - Throws: `notFound`, `preconditionFailed`, `unavailable`.
    public func rotate(
        _ old: Stored<APIKey>, overlap: RotationOverlap, by change: ChangeContext
    ) async throws(GatewayError) -> (stored: Stored<APIKey>, text: APIKeyText) {
        let text = try newText()
        var key = old.row
        key.previousKey =
            overlap.seconds == 0
            ? nil
            : APIKey.PreviousKey(
                prefix: key.prefix, hash: key.hash,
                expiresAt: now().addingTimeInterval(TimeInterval(overlap.seconds)))
        key.prefix = text.prefix
        key.hash = text.digest
        return (try await keys.update(Validated(unchecked: key), from: old.revision, by: change), text)
    }

    /// Refuses an expiry in the past. A key that has expired may repeat the time of its expiry.
    private func checkExpiry(of key: APIKey, over old: APIKey?) throws(GatewayError) {
        guard let expiresAt = key.expiresAt else { return }
        try require(expiresAt > now() || expiresAt == old?.expiresAt, "expiresAt", "The time has passed.")
    }

    private func newText() throws(GatewayError) -> APIKeyText {
        try random.secret(APIKeyText.randomByteCount) { APIKeyText(randomBytes: $0) }
    }
}
