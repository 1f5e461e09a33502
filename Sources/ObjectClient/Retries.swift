import FoundationEssentials

/// Repeats what may be repeated. Pauses double from attempt to attempt and are drawn at random, so that clients that
/// failed together do not come back together.
public struct Retries: Sendable {
    /// Longest pause in seconds that is worth waiting for.
    static let longestPause = 60

    private let limit: Int
    let stop: StopFlag
    private let pause: @Sendable (Duration) async -> Void

    /// Sets the limits.
    ///
    /// - Parameters:
    ///   - limit: Number of further attempts after the first.
    ///   - stop: Ends the waiting.
    ///   - pause: Waits; tests do not.
    public init(
        limit: Int, stop: StopFlag,
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.limit = limit
        self.stop = stop
        self.pause = pause
    }

    /// Calls `attempt` until it succeeds, fails for good or has failed too often.
    ///
    /// - Throws: The last failure; ``ClientFailure/stopped(_:)`` if the user asked for the end before another attempt.
    func run<Value: Sendable>(
        _ attempt: () async throws(ClientFailure) -> Value
    ) async throws(ClientFailure) -> Value {
        var number = 0
        while true {
            let failure: ClientFailure
            do throws(ClientFailure) {
                return try await attempt()
            } catch {
                failure = error
            }
            guard failure.mayPass, number < limit || stop.isSet else { throw failure }
            await wait(Self.pause(after: number, asked: failure.retryAfter, random: .random(in: 0...1)))
            guard !stop.isSet else { throw .stopped("Interrupted.") }
            number += 1
        }
    }

    /// The pause before the next attempt.
    ///
    /// - Parameters:
    ///   - number: Number of attempts before the one that failed.
    ///   - asked: Seconds that the other side asked for, which is the least.
    ///   - random: A number from 0 to 1.
    static func pause(after number: Int, asked: Int?, random: Double) -> Duration {
        let longest = min(20, 0.5 * Double(1 << min(number, 10)))
        return .seconds(Double(asked ?? 0)) + .seconds(longest / 2 * (1 + random))
    }

    /// Waits in steps, so that Ctrl-C is answered soon.
    private func wait(_ time: Duration) async {
        var rest = time
        while rest > .zero, !stop.isSet {
            let step = min(rest, .milliseconds(200))
            await pause(step)
            rest -= step
        }
    }
}
