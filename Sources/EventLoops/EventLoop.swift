import Glibc
import Synchronization

/// Why there is no event loop.
public enum EventLoopError: Error, Sendable, Equatable {
    /// The process has no file descriptor left.
    case noDescriptor
}

/// What a loop's thread does besides running tasks, such as serving the
/// sockets of a library; called on that thread only.
public protocol LoopWork: AnyObject {
    /// Readable when there is something to do, as `poll` sees it.
    var descriptor: Int32 { get }
    /// How long it may be left alone unless the descriptor is readable, in milliseconds: 0 not at all, -1 for ever.
    var timeout: Int32 { get }
    /// Does what can be done without waiting.
    func work()
    /// The last call, when the loop was stopped.
    func end()
}

/// A thread that runs tasks, waits for descriptors on their behalf, and has one piece of work of its own.
///
/// Tasks that prefer it as their executor run on that thread from end to end, so that a request moves to no other and
/// whatever it touches is in that processor's cache. They must not block. Once the loop has ended, what is left of them
/// runs on the system's threads, and they wait there.
public final class EventLoop: TaskExecutor {
    private let wakeUp: WakeUp
    private let hasStarted = Atomic<Bool>(false)
    private let isStopped = Atomic<Bool>(false)
    /// Whether there is something to do that no descriptor tells.
    private let isWorkDue = Atomic<Bool>(false)
    private let thread = Atomic<UInt>(0)
    private let jobs = Mutex(Jobs())
    private let waits = Mutex(Waits())

    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// Whether the thread will look at them.
        var isOpen = true
    }

    private struct Waits {
        var pending: [Wait] = []
        var isOpen = true
    }

    /// Makes a loop that does nothing before ``run(_:)``.
    public init() throws(EventLoopError) {
        wakeUp = try WakeUp()
    }

    /// Whether the caller is on the loop's thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Makes the thread give its work a turn, from any thread.
    public func wake() {
        isWorkDue.store(true, ordering: .sequentiallyConsistent)
        wakeUp.signal()
    }

    /// Makes ``run(_:)`` return; a loop that does not run yet never will.
    public func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        if hasStarted.load(ordering: .sequentiallyConsistent) {
            wakeUp.signal()
        } else {
            close()
        }
    }

    /// Works until ``stop()`` on the thread that calls it; to be called once.
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

    /// Lets tasks go on in the midst of a long turn of the work, which calls this; they would wait for its end otherwise.
    ///
    /// The tasks run before this returns. None of them gives the work another turn: ``wake()`` is remembered until the present
    /// turn is over.
    public func interrupt() {
        let pending = waits.withLock { $0.pending }
        if !pending.isEmpty {
            var polled: [pollfd] = []
            if look(at: pending, orReadable: (-1, -1), for: 0, &polled) > 0 { resume(pending, polled) }
        }
        runJobs()
    }

    /// Suspends the caller until a descriptor is ready for one of the
    /// events, another one is readable, or the time is over.
    ///
    /// - Parameters:
    ///   - descriptor: A descriptor, or -1 to wait for the other two only.
    ///   - events: `POLLIN`, `POLLOUT`.
    ///   - other: A second descriptor, or -1.
    /// - Returns: Whether `descriptor` is ready (or broken, which using it will tell).
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
            } else {
                wait.block()
            }
        }
    }

    // MARK: Tasks

    /// Takes a job that prefers this loop.
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

    /// Runs what is waiting, and what that makes runnable, as long as it does not go on for ever: who asks for a second
    /// turn has it after the descriptors were looked at, of all that came at once.
    private func runJobs() {
        for _ in 0..<8 {
            // A signal after this is for what is not taken here.
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
        // Who waited looks again, and then waits on a thread of the system's.
        for wait in waitsLeft { wait.continuation.resume(returning: false) }
    }

    // MARK: Waiting

    /// Waits for whatever comes first, and resumes the tasks whose waiting is over.
    ///
    /// - Returns: Whether the work has something to do.
    private func rest(beside work: (any LoopWork)?, _ polled: inout [pollfd]) -> Bool {
        let pending = waits.withLock { $0.pending }
        let patience = work?.timeout ?? -1
        var milliseconds = patience
        for wait in pending { milliseconds = wait.shortening(milliseconds) }
        let isDue = patience == 0 || isWorkDue.load(ordering: .sequentiallyConsistent)
        let sleeps = milliseconds != 0 && !isDue && wakeUp.lieDown()
        // Where the work has its turn anyway, and nobody waits, there is nothing to look at.
        guard !isDue || !pending.isEmpty else { return true }

        let ready = look(
            at: pending, orReadable: (wakeUp.descriptor, work?.descriptor ?? -1), for: sleeps ? milliseconds : 0,
            &polled)
        if sleeps { wakeUp.rise(isSignalled: polled[0].revents != 0) }
        if !pending.isEmpty { resume(pending, polled) }
        return isDue || polled[1].revents != 0 || sleeps && ready == 0
    }

    /// Asks which descriptors are ready: two, then two of each wait.
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

    /// Only this thread takes waits out, and others only append: those looked at are the first.
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

    /// The shorter of a time in milliseconds and what is left, rounded up so that nobody spins through the last one.
    func shortening(_ milliseconds: Int32) -> Int32 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        guard left < .seconds(3600) else { return milliseconds }
        let own = Int32(left / .milliseconds(1)) + 1
        return milliseconds < 0 ? own : min(milliseconds, own)
    }

    /// Waits on the caller's thread.
    func block() {
        var polled = descriptors
        let milliseconds = shortening(-1)
        var span = polled.mutableSpan
        _ = unsafe span.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds) }
        continuation.resume(returning: polled[0].revents != 0)
    }
}
