import GatewayCore
import Logging

/// What a store's answer told.
struct SettlingAnswer: Sendable {
    /// The bucket that was asked about.
    let bucket: String
    /// What is known about the reservations in question; empty if nobody was asked.
    var findings: [ReservationSweeper.Finding] = []
    /// Why nothing was told; `nil` if something was.
    var failure: StoreFailure?
    /// The time that the answer took.
    var duration = Duration.zero
}

/// What a round of settling has learnt about stores, so that one that hangs, is slow or cannot be asked delays no
/// others.
struct SettlingRound {
    private let logger: Logger
    /// Buckets that are not asked about again in this round.
    private var failed: Set<String> = []
    /// Buckets whose answers take long.
    private var slow: Set<String> = []
    /// How often in a row a store has given no answer.
    private var silences: [String: Int] = [:]
    /// The time that the answers of the batch took.
    private var durations: [String: Duration] = [:]
    /// How many reservations of the batch end because a store was asked in vain for long enough.
    private var givenUp: [String: Int] = [:]

    /// Number of questions without an answer between them after which a store is not asked again. A single object may
    /// hang where all others do not.
    private static let maxSilences = 3
    /// Time that a bucket may take of a batch before others have their turn.
    private static let maxTurn = Duration.seconds(5)

    /// Begins a round.
    init(logger: Logger) {
        self.logger = logger
    }

    /// The buckets that nobody is asked about now.
    var passedOver: Set<String> { failed.union(slow) }

    /// Lets buckets with slow answers have their turn again; returns whether there are any.
    mutating func returnToSlow() -> Bool {
        defer { slow = [] }
        return !slow.isEmpty
    }

    /// Takes an answer into account.
    mutating func note(_ answer: SettlingAnswer) {
        let bucket = answer.bucket
        durations[bucket, default: .zero] += answer.duration
        if answer.failure != nil { givenUp[bucket, default: 0] += answer.findings.count(where: \.isFinal) }
        switch answer.failure {
        case .silent:
            silences[bucket, default: 0] += 1
            guard silences[bucket, default: 0] >= Self.maxSilences, failed.insert(bucket).inserted else { return }
            logger.warning("store gives no answer about uploads", metadata: ["bucket": "\(bucket)"])
        case .unasked(let cause):
            guard failed.insert(bucket).inserted else { return }
            logger.warning(
                "this gateway cannot ask a store about uploads",
                metadata: ["bucket": "\(bucket)", "cause": "\(cause)"])
        case .unclear, nil: silences[bucket] = 0
        }
    }

    /// Ends a batch with some questions at once.
    mutating func endBatch(of questions: Int) {
        slow.formUnion(durations.filter { $0.value > Self.maxTurn * questions }.keys)
        for (bucket, count) in givenUp where count > 0 {
            logger.warning(
                "the bytes of uploads stay counted, because their store told nothing in time",
                metadata: ["bucket": "\(bucket)", "count": "\(count)"])
        }
        (durations, givenUp) = ([:], [:])
    }
}
