public import Figures
import LibCurl

/// Counts the requests to other servers, by purpose and outcome.
public final class OutboundFigures: Sendable {
    /// What a request came to.
    public enum Outcome: String, Sendable, CaseIterable {
        /// An answer with a status below 500.
        case answered
        /// An answer with a status of 500 or above.
        case failed
        /// No whole answer in time.
        case timedOut = "timed_out"
        /// The name does not resolve, or no address accepts the connection.
        case notConnected = "not_connected"
        /// TLS failed, or the certificate is not valid for the name.
        case tls
        /// The gateway may not connect to the address.
        case notPermitted = "not_permitted"
        /// Too many requests waited.
        case busy
        /// The request was given up.
        case cancelled
        /// Anything else.
        case other
    }

    /// The figures of one purpose.
    public final class PurposeFigures: Sendable {
        /// Requests, by what they came to.
        public let outcomes = Counters<Outcome>()
        /// Time of a request, with its wait for a turn.
        public let durations = Histogram.ofDurations()
        /// Requests that wait or are under way.
        public let inFlight = Level()
    }

    /// A request under way.
    struct Call {
        fileprivate let figures: PurposeFigures
        private let start = ContinuousClock.now

        fileprivate init(_ figures: PurposeFigures) {
            self.figures = figures
            figures.inFlight.rise()
        }

        func ended(_ outcome: Outcome) {
            figures.inFlight.fall()
            figures.durations.observe(.now - start)
            figures.outcomes[outcome].add()
        }
    }

    /// The figures of each purpose.
    public let all = OutboundClient.Purpose.allCases.map { (of: $0, figures: PurposeFigures()) }

    func began(_ purpose: OutboundClient.Purpose) -> Call {
        for (own, figures) in all where own == purpose { return Call(figures) }
        preconditionFailure("allCases lists every purpose.")
    }
}

extension OutboundFigures.Outcome {
    /// The outcome of a request that failed.
    init(_ error: OutboundError) {
        switch error {
        case .notPermitted, .noAnswer(.addressRefused): self = .notPermitted
        case .noAnswer(.timedOut): self = .timedOut
        case .noAnswer(.nameNotFound), .noAnswer(.notConnected): self = .notConnected
        case .noAnswer(.tls), .noAnswer(.notTrusted): self = .tls
        case .noAnswer(.busy): self = .busy
        case .noAnswer(.cancelled): self = .cancelled
        case .noAnswer, .status: self = .other
        }
    }
}
