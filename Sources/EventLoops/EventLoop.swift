import Glibc
import Synchronization

/// Why an event loop could not be created.
public enum EventLoopError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The process has no file descriptor left.
    case noDescriptor

    /// One sentence for an operator.
    public var description: String { "The process may not open more files." }
}

/// Work that a loop's thread does besides running tasks, such as serving the sockets of a library. The loop calls it on
/// that thread only.
public protocol LoopWork: AnyObject {
    /// A descriptor that `poll` reports as readable when there is work to do.
    var descriptor: Int32 { get }
    /// How long the work may wait while the descriptor is not readable, in milliseconds: 0 for not at all, -1 for no
    /// limit.
    var timeout: Int32 { get }
    /// Does all work that is possible without waiting.
    func work()
    /// Ends the work. The loop calls this last, after it was stopped.
    func end()
}

/// A thread that runs tasks, waits for descriptors on their behalf, and does one further piece of work.
///
/// Tasks that prefer the loop as their executor run on its thread from start to end. A request therefore never changes
/// threads, and the data that it touches stays in that processor's cache. Tasks must not block. After the loop has
/// ended, its remaining tasks run on the system's threads, and each of their waits has a thread of its own.
public final class EventLoop: TaskExecutor {
    private let wakeUp: WakeUp
    private let hasStarted = Atomic<Bool>(false)
    private let isStopped = Atomic<Bool>(false)
    /// Whether there is work to do that no descriptor signals.
    private let isWorkDue = Atomic<Bool>(false)
    private let thread = Atomic<UInt>(0)
    private let jobs = Mutex(Jobs())
    private let waits = Mutex(Waits())

    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// Whether the thread will still run jobs.
        var isOpen = true
    }

    private struct Waits {
        var pending: [Wait] = []
        var isOpen = true
    }

    /// Creates a loop. It does nothing until ``run(_:)`` is called.
    ///
    /// - Throws: ``EventLoopError/noDescriptor``.
    public init() throws(EventLoopError) {
        wakeUp = try WakeUp()
    }

    /// Whether the caller is on the loop's thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Makes the thread give its work a turn. May be called from any thread.
    public func wake() {
        isWorkDue.store(true, ordering: .sequentiallyConsistent)
        wakeUp.signal()
    }

    /// Makes ``run(_:)`` return. A loop that has not started yet can then no longer run.
    public func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        if hasStarted.load(ordering: .sequentiallyConsistent) {
            wakeUp.signal()
        } else {
            close()
        }
    }

    /// Runs the loop on the calling thread until ``stop()`` is called. Call this once.
    ///
    /// - Parameter work: Further work for the thread, if any.
    public func run(_ work: (any LoopWork)? = nil) {
        hasStarted.store(true, ordering: .sequentiallyConsistent)
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        var polled: [pollfd] = []
        while !isStopped.load(ordering: .sequentiallyConsistent) {
            let isDue = rest(beside: work, &polled)
            runJobs()
            if isWorkDue.exchange(false, ordering: .sequentiallyConsistent) || isDue {
                work?.work()
                runJobs()
            }
        }
        work?.end()
        thread.store(0, ordering: .relaxed)
        close()
    }

    /// Runs waiting tasks in the middle of a long turn of the work. The work calls this; otherwise the tasks would wait
    /// until its turn ends.
    ///
    /// The tasks run before this function returns. They cannot start another turn of the work: ``wake()`` takes effect
    /// after the current turn.
    public func interrupt() {
        let pending = waits.withLock { $0.pending }
        if !pending.isEmpty {
            var polled: [pollfd] = []
            if look(at: pending, orReadable: (-1, -1), for: 0, &polled) > 0 { resume(pending, polled) }
        }
        runJobs()
    }

    /// Suspends the caller until a descriptor is ready for one of the events, another descriptor is readable, or the
    /// deadline passes.
    ///
    /// - Parameters:
    ///   - descriptor: A descriptor, or -1 to wait only for the other descriptor and the deadline.
    ///   - events: `POLLIN`, `POLLOUT` or both.
    ///   - other: A second descriptor, or -1.
    ///   - deadline: When the wait ends at the latest.
    /// - Returns: Whether `descriptor` is ready. It may also be broken, which its next use shows.
    public func wait(
        for descriptor: Int32, events: Int32, orReadable other: Int32, until deadline: ContinuousClock.Instant
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            let wait = Wait(
                descriptors: [
                    pollfd(fd: descriptor, events: Int16(events), revents: 0),
                    pollfd(fd: other, events: Int16(POLLIN), revents: 0),
                ], deadline: deadline, continuation: continuation)
            let isTaken = waits.withLock { waits in
                if waits.isOpen { waits.pending.append(wait) }
                return waits.isOpen
            }
            if isTaken {
                wakeUp.signal()
            } else if !startThread({ wait.block() }) {
                wait.block()
            }
        }
    }

    /// Returns once the thread has been between two turns of its work, and so does not hang in one.
    ///
    /// - Returns: Whether the loop still runs.
    public func turn() async -> Bool {
        _ = await wait(for: -1, events: 0, orReadable: -1, until: .now)
        return waits.withLock { $0.isOpen }
    }

    // MARK: Tasks

    /// Queues a job that prefers this loop.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isTaken = jobs.withLock { jobs in
            if jobs.isOpen { jobs.waiting.append(job) }
            return jobs.isOpen
        }
        if isTaken {
            wakeUp.signal()
        } else {
            globalConcurrentExecutor.enqueue(job)
        }
    }

    /// Runs the waiting jobs and the jobs that these make runnable, in at most 8 rounds. Jobs left after that run once
    /// the descriptors have been polled, so a task that yields repeatedly cannot starve them.
    private func runJobs() {
        for _ in 0..<8 {
            // From here on, a signal announces a job that the next line may not have taken.
            wakeUp.rise(isSignalled: false)
            let taken = jobs.withLock { exchange(&$0.waiting, with: []) }
            guard !taken.isEmpty else { return }
            for job in taken { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
        wakeUp.signal()
    }

    private func close() {
        let jobsLeft = jobs.withLock { jobs in
            jobs.isOpen = false
            return exchange(&jobs.waiting, with: [])
        }
        for job in jobsLeft { globalConcurrentExecutor.enqueue(job) }
        let waitsLeft = waits.withLock { waits in
            waits.isOpen = false
            return exchange(&waits.pending, with: [])
        }
        // The waiting tasks check again, and then wait on threads of their own.
        for wait in waitsLeft { wait.continuation.resume(returning: false) }
    }

    // MARK: Waiting

    /// Waits for the first event of any kind, then resumes the tasks whose waits are over.
    ///
    /// - Returns: Whether the work has something to do.
    private func rest(beside work: (any LoopWork)?, _ polled: inout [pollfd]) -> Bool {
        let pending = waits.withLock { $0.pending }
        let patience = work?.timeout ?? -1
        var milliseconds = patience
        for wait in pending { milliseconds = wait.shortening(milliseconds) }
        let isDue = patience == 0 || isWorkDue.load(ordering: .sequentiallyConsistent)
        let sleeps = milliseconds != 0 && !isDue && wakeUp.lieDown()
        // If the work has its turn anyway and no task waits, there is nothing to poll.
        guard !isDue || !pending.isEmpty else { return true }

        let ready = look(
            at: pending, orReadable: (wakeUp.descriptor, work?.descriptor ?? -1), for: sleeps ? milliseconds : 0,
            &polled)
        if sleeps { wakeUp.rise(isSignalled: polled[0].revents != 0) }
        if !pending.isEmpty { resume(pending, polled) }
        return isDue || polled[1].revents != 0 || sleeps && ready == 0
    }

    /// Polls for ready descriptors: the two given ones first, then two of each wait.
    private func look(
        at pending: [Wait], orReadable others: (Int32, Int32), for milliseconds: Int32, _ polled: inout [pollfd]
    ) -> Int32 {
        polled.removeAll(keepingCapacity: true)
        polled.append(pollfd(fd: others.0, events: Int16(POLLIN), revents: 0))
        polled.append(pollfd(fd: others.1, events: Int16(POLLIN), revents: 0))
        for wait in pending {
            polled.append(wait.descriptors[0])
            polled.append(wait.descriptors[1])
        }
        return unsafe poll(&polled, nfds_t(polled.count), milliseconds)
    }

    /// Resumes the tasks whose waits are over. Only this thread removes waits and other threads only append, so the
    /// polled waits are still the first ones.
    private func resume(_ pending: [Wait], _ polled: [pollfd]) {
        let now = ContinuousClock.now
        var isOver = 0
        for (place, wait) in pending.enumerated() {
            let isReady = polled[2 + 2 * place].revents != 0
            guard isReady || polled[3 + 2 * place].revents != 0 || wait.deadline <= now else { continue }
            waits.withLock { _ = $0.pending.remove(at: place - isOver) }
            isOver += 1
            wait.continuation.resume(returning: isReady)
        }
    }
}

/// A task that waits for descriptors.
private struct Wait: Sendable {
    let descriptors: InlineArray<2, pollfd>
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Bool, Never>

    /// Returns the smaller of a time in milliseconds and the time left until the deadline. The result is rounded up, so
    /// that the thread does not spin during the last millisecond.
    func shortening(_ milliseconds: Int32) -> Int32 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        guard left < .seconds(3600) else { return milliseconds }
        let own = Int32(left / .milliseconds(1)) + 1
        return milliseconds < 0 ? own : min(milliseconds, own)
    }

    /// Waits on the caller's thread. That should be one of its own: there are few on which tasks run.
    func block() {
        var polled = descriptors
        let milliseconds = shortening(-1)
        var span = polled.mutableSpan
        _ = unsafe span.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds) }
        continuation.resume(returning: polled[0].revents != 0)
    }
}
