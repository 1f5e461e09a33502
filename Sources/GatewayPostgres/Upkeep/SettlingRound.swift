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
    /// What the answers of a batch about one bucket had in common.
    private struct Batch {
        var answers: [SettlingAnswer] = []

        /// Whether the store told something about an object.
        var isTelling: Bool { answers.contains { $0.failure == nil && !$0.findings.isEmpty } }
        var isSlow: Bool {
            answers.reduce(.zero) { $0 + $1.duration } > SettlingRound.maxAnswerTime * answers.count
        }
    }

    private let logger: Logger
    /// Buckets that are not asked about again in this round.
    private var failed: Set<String> = []
    /// Buckets whose answers take long.
    private var slow: Set<String> = []
    /// Buckets of which the log has told that their stores tell nothing.
    private var reported: Set<String> = []
    private var batches: [String: Batch] = [:]
    /// Number of questions to which there was no answer, since the last batch in which the store told something.
    private var unanswered: [String: Int] = [:]

    /// Number of questions without an answer after which a bucket is passed over, unless others of the batch were
    /// answered: a single object may hang where all others do not.
    private static let maxUnanswered = 3
    /// Mean time of the answers about a bucket above which other buckets have their turn first.
    private static let maxAnswerTime = Duration.seconds(1)

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
        batches[bucket, default: Batch()].answers.append(answer)
        guard let failure = answer.failure else { return }
        if reported.insert(bucket).inserted {
            logger.warning(
                "\(failure.phrase)", metadata: ["bucket": "\(bucket)", "cause": "\(failure.cause)"])
        }
        if case .unclear = failure { return }
        unanswered[bucket, default: 0] += 1
        let isTelling = batches[bucket]?.isTelling ?? false
        if unanswered[bucket, default: 0] >= Self.maxUnanswered, !isTelling { failed.insert(bucket) }
    }

    /// Ends a batch; returns what is known about its reservations.
    ///
    /// One about which its store tells nothing is given up only if the store told something about another: else the
    /// store may be down, or the gateway's credential be refused, for longer than anybody expects.
    mutating func endBatch() -> [ReservationSweeper.Finding] {
        var findings: [ReservationSweeper.Finding] = []
        for (bucket, batch) in batches {
            var givenUp = 0
            for answer in batch.answers {
                for var finding in answer.findings {
                    if answer.failure != nil {
                        finding.isFinal = finding.isFinal && batch.isTelling
                        givenUp += finding.isFinal ? 1 : 0
                    }
                    findings.append(finding)
                }
            }
            if givenUp > 0 {
                logger.warning(
                    "reserved bytes stay counted, because the store told nothing about the uploads in time",
                    metadata: ["bucket": "\(bucket)", "count": "\(givenUp)"])
            }
            if batch.isSlow { slow.insert(bucket) }
            if batch.isTelling { unanswered[bucket] = 0 }
        }
        batches = [:]
        return findings
    }
}

extension StoreFailure {
    /// The failure as a line of the log.
    fileprivate var phrase: String {
        switch self {
        case .silent: "store gives no answer about uploads"
        case .unclear: "store tells nothing about an upload"
        case .unasked: "this gateway cannot ask a store about uploads"
        }
    }
}
