import EventLoops
import Logging

extension Session {
    /// Takes over the connection of an attempt that has ended. The caller must apply the settings before anything else.
    convenience init(
        _ attempt: ConnectAttempt, _ configuration: PostgresConfiguration, waiter: SocketWaiter
    ) throws(PostgresError) {
        guard let handle = try attempt.take() else { throw .unavailable(reason: "still connecting") }
        self.init(
            handle, waiter: waiter, cancelDelay: configuration.cancelDelay, cancelTimeout: configuration.cancelTimeout)
    }

    /// Takes over the connection of an attempt that has ended, and applies the settings.
    static func opened(
        by attempt: ConnectAttempt, _ configuration: PostgresConfiguration, waiter: SocketWaiter
    ) throws(PostgresError) -> Session {
        let session = try Session(attempt, configuration, waiter: waiter)
        let deadline = ContinuousClock.now + configuration.connectTimeout
        _ = try session.execute(Self.setSettings, configuration.settings, deadline: deadline)
        if configuration.primary != nil {
            let seen = try session.execute(ServerSighting.look, (), deadline: deadline)
            try session.judge(seen, of: attempt, by: configuration)
        }
        return session
    }

    /// Takes over the connection of an attempt that has ended, and applies the settings. Meanwhile, the loop's thread
    /// does other work.
    static func opened(
        by attempt: ConnectAttempt, _ configuration: PostgresConfiguration, waiter: SocketWaiter, on loop: EventLoop
    ) async throws(PostgresError) -> Session {
        let session = try Session(attempt, configuration, waiter: waiter)
        let deadline = ContinuousClock.now + configuration.connectTimeout
        _ = try await session.execute(Self.setSettings, configuration.settings, deadline: deadline, on: loop)
        if configuration.primary != nil {
            let seen = try await session.execute(ServerSighting.look, (), deadline: deadline, on: loop)
            try session.judge(seen, of: attempt, by: configuration)
        }
        return session
    }

    /// Refuses a session that does not lead to the primary.
    private func judge(
        _ result: borrowing PostgresResult, of attempt: ConnectAttempt, by configuration: PostgresConfiguration
    ) throws(PostgresError) {
        guard let primary = configuration.primary, let host = attempt.host else { return }
        guard let sighting = try result.decodeRows(ServerSighting.look.decode).first else {
            throw .decoding(column: 0, reason: "no row")
        }
        admission = try primary.admit(sighting, at: host)
    }

    /// Connects. Throws early if the task is cancelled.
    static func open(
        _ configuration: PostgresConfiguration, logger: Logger, waiter: SocketWaiter,
        until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Session {
        let attempt = try ConnectAttempt(configuration, logger: logger, waiter: waiter)
        try attempt.wait(waiter, until: deadline)
        return try opened(by: attempt, configuration, waiter: waiter)
    }

    /// Applies settings to the session.
    static let setSettings = Statement<[(name: String, value: String)], Void>(
        "SELECT set_config(name, value, false) FROM unnest($1, $2) AS settings (name, value)", onlyReads: true
    ) {
        [$0.map(\.name), $0.map(\.value)]
    } decode: { _ throws(PostgresError) in
    }
}

extension ConnectAttempt {
    /// Waits until the attempt has ended.
    func wait(_ waiter: SocketWaiter, until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while isRunning {
            try checkPatience(until: deadline)
            waiter.wait(for: -1, events: 0, until: deadline)
        }
    }

    /// Throws if the caller should not wait any longer.
    func checkPatience(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        guard !Task.isCancelled else { throw .cancelled }
        guard ContinuousClock.now < deadline else { throw .unavailable(reason: "still connecting") }
        guard !isObsolete else { throw .unavailable(reason: "another server is the primary, or none is") }
    }
}
