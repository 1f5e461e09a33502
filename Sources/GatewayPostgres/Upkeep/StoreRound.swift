import GatewayCore
import Logging

/// What a store's answer told.
struct StoreAnswer<Finding: Sendable>: Sendable {
    /// The bucket that was asked about.
    let bucket: String
    /// What is known about what was asked for; empty if nobody was asked.
    var findings: [Finding] = []
    /// Why nothing was told; `nil` if something was.
    var failure: StoreFailure?
    /// The time that the answer took.
    var duration = Duration.zero
}

/// What a round of questions has learnt about stores, so that one that hangs, is slow or cannot be asked delays no
/// others.
struct StoreRound<Finding: Sendable> {
    /// What the answers of a batch about one bucket had in common.
    struct Batch {
        var answers: [StoreAnswer<Finding>] = []

        /// Whether the store told something about what it was asked for.
        var isTelling: Bool { answers.contains { $0.failure == nil && !$0.findings.isEmpty } }
        fileprivate var isSlow: Bool {
            answers.reduce(.zero) { $0 + $1.duration } > StoreRound.maxAnswerTime * answers.count
        }
    }

    let logger: Logger
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
    private static var maxUnanswered: Int { 3 }
    /// Mean time of the answers about a bucket above which other buckets have their turn first.
    private static var maxAnswerTime: Duration { .seconds(1) }

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

    /// Asks several questions at once and takes the answers into account. None is asked about a bucket that is passed
    /// over by then.
    ///
    /// - Parameters:
    ///   - questions: The questions of a batch, or some of them.
    ///   - bucket: Returns the bucket that a question is about.
    ///   - count: Maximum number of questions at once.
    ///   - reply: Asks a store.
    mutating func ask<Question: Sendable>(
        _ questions: [Question], about bucket: (Question) -> String, atOnce count: Int,
        _ reply: @escaping @Sendable (Question) async -> StoreAnswer<Finding>
    ) async {
        await withTaskGroup(of: StoreAnswer<Finding>.self) { group in
            var running = 0
            for question in questions {
                if running >= count, let answer = await group.next() {
                    running -= 1
                    note(answer)
                }
                guard !passedOver.contains(bucket(question)) else { continue }
                running += 1
                group.addTask { await reply(question) }
            }
            for await answer in group { note(answer) }
        }
    }

    /// Takes an answer into account.
    mutating func note(_ answer: StoreAnswer<Finding>) {
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

    /// Ends a batch; returns its answers by their buckets.
    @discardableResult
    mutating func closeBatch() -> [String: Batch] {
        defer { batches = [:] }
        for (bucket, batch) in batches {
            if batch.isSlow { slow.insert(bucket) }
            if batch.isTelling { unanswered[bucket] = 0 }
        }
        return batches
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
