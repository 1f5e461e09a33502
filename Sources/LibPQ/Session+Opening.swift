import Logging

extension Session {
    /// Takes over the connection of an attempt that has ended, and applies the settings.
    convenience init(
        _ attempt: ConnectAttempt, _ configuration: PostgresConfiguration, wakeUp: WakeUp
    ) throws(PostgresError) {
        guard let handle = try attempt.take() else { throw .unavailable(reason: "still connecting") }
        self.init(handle, wakeUp: wakeUp, cancelTimeout: configuration.cancelTimeout)
        let settings = configuration.sessionSettings
        _ = try execute(
            Self.setSettings, (settings.map(\.name), settings.map(\.value)),
            deadline: .now + configuration.connectTimeout)
    }

    /// Connects; ends early when the task is cancelled.
    static func open(
        _ configuration: PostgresConfiguration, logger: Logger, wakeUp: WakeUp, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Session {
        let attempt = ConnectAttempt(configuration, logger: logger, wakeUp: wakeUp)
        try attempt.wait(wakeUp, until: deadline)
        return try Session(attempt, configuration, wakeUp: wakeUp)
    }

    private static let setSettings = Statement<(names: [String], values: [String]), Void>(
        "SELECT set_config(name, value, false) FROM unnest($1, $2) AS settings (name, value)"
    ) { [$0.names, $0.values] }
}

extension ConnectAttempt {
    /// Waits until the attempt has ended.
    func wait(_ wakeUp: WakeUp, until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while isRunning {
            guard !Task.isCancelled else { throw .cancelled }
            guard ContinuousClock.now < deadline else { throw .unavailable(reason: "still connecting") }
            wakeUp.wait(for: -1, events: 0, until: deadline)
        }
    }
}
