import EventLoops
import Glibc
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test func tasksThatPreferItRunOnItsThread() async throws {
        try await withLoop { loop in
            #expect(!loop.isCurrent)
            let seen = await withTaskExecutorPreference(loop) {
                var seen = [loop.isCurrent]
                await Task.yield()
                seen.append(loop.isCurrent)
                return seen
            }
            #expect(seen == [true, true])
        }
    }

    @Test func whoWaitsIsToldWhatCame() async throws {
        try await withLoop { loop in
            let pipe = try Pipe()
            let other = try Pipe()
            async let isReady = loop.wait(for: pipe.output, events: POLLIN, orReadable: other.output, until: .never)
            pipe.write()
            #expect(await isReady)
            async let isWoken = loop.wait(for: -1, events: 0, orReadable: other.output, until: .never)
            other.write()
            #expect(await !isWoken)
            // Input that is already readable ends the next wait at once; so does a time that has passed.
            #expect(await loop.wait(for: pipe.output, events: POLLIN, orReadable: -1, until: .never))
            #expect(await !loop.wait(for: -1, events: 0, orReadable: -1, until: .now))
        }
    }

    @Test func itWaitsForManyAtOnce() async throws {
        try await withLoop { loop in
            let pipes = try (0..<20).map { _ in try Pipe() }
            let order = Order()
            try await withThrowingTaskGroup { group in
                for (place, pipe) in pipes.enumerated() {
                    group.addTask(executorPreference: loop) {
                        #expect(await loop.wait(for: pipe.output, events: POLLIN, orReadable: -1, until: .never))
                        order.places.withLock { $0.append(place) }
                    }
                }
                for place in pipes.indices.reversed() {
                    pipes[place].write()
                    while order.places.withLock({ !$0.contains(place) }) { await Task.yield() }
                }
                try await group.waitForAll()
            }
            #expect(order.places.withLock { $0 } == Array(pipes.indices.reversed()))
        }
    }

    @Test func itsTurnIsOverOnceNothingHangsInIt() async throws {
        final class Hang: Sendable {
            let hasBegun = Atomic(false)
            let isOver = Atomic(false)
            let isNoticed = Atomic(false)
        }
        try await withLoop { loop in
            #expect(await loop.turn())
            let hang = Hang()
            await withTaskGroup { group in
                group.addTask(executorPreference: loop) {
                    hang.hasBegun.store(true, ordering: .sequentiallyConsistent)
                    while !hang.isOver.load(ordering: .sequentiallyConsistent) { sched_yield() }
                }
                while !hang.hasBegun.load(ordering: .sequentiallyConsistent) { await Task.yield() }
                group.addTask {
                    _ = await loop.turn()
                    hang.isNoticed.store(true, ordering: .sequentiallyConsistent)
                }
                let end = ContinuousClock.now + .milliseconds(100)
                while ContinuousClock.now < end { await Task.yield() }
                #expect(hang.isNoticed.load(ordering: .sequentiallyConsistent) == false)
                hang.isOver.store(true, ordering: .sequentiallyConsistent)
            }
            #expect(hang.isNoticed.load(ordering: .sequentiallyConsistent) == true)
        }
    }

    @Test func aLoopThatWasStoppedBeforeItRanHasNoTurn() async throws {
        let loop = try EventLoop()
        async let turn = loop.turn()
        loop.stop()
        #expect(await !turn)
        #expect(await !loop.turn())
    }

    @Test func itsWorkGetsATurnWheneverItsDescriptorIsReadable() async throws {
        let work = try CountingWork()
        let loop = try EventLoop()
        async let thread: Void = onThread { loop.run(work) }
        for turn in 1...3 {
            work.pipe.write()
            while work.reads.load(ordering: .sequentiallyConsistent) < turn { await Task.yield() }
        }
        #expect(work.ends.load(ordering: .sequentiallyConsistent) == 0)
        loop.stop()
        await thread
        #expect(work.ends.load(ordering: .sequentiallyConsistent) == 1)
    }

    @Test func tasksThatNeverRestLeaveItsWorkItsTurns() async throws {
        let work = try CountingWork()
        let loop = try EventLoop()
        async let thread: Void = onThread { loop.run(work) }
        async let restless: Void = withTaskExecutorPreference(loop) {
            while work.reads.load(ordering: .sequentiallyConsistent) == 0, !Task.isCancelled { await Task.yield() }
        }
        work.pipe.write()
        await restless
        loop.stop()
        await thread
    }

    @Test func workThatIsLongLetsTasksGoOnInItsMidst() async throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        let work = LongWork(loop, pipe)
        async let thread: Void = onThread { loop.run(work) }
        await withTaskExecutorPreference(loop) {
            #expect(await loop.wait(for: pipe.output, events: POLLIN, orReadable: -1, until: .never))
            work.isSeen.store(true, ordering: .sequentiallyConsistent)
        }
        loop.stop()
        await thread
    }

    @Test func whatGoesOnInTheMidstOfItsWorkBeginsNoOtherTurn() async throws {
        let loop = try EventLoop()
        let work = InterruptedWork(loop)
        async let thread: Void = onThread { loop.run(work) }
        await withTaskExecutorPreference(loop) {
            while work.turns.load(ordering: .sequentiallyConsistent) < 100 {
                loop.wake()
                await Task.yield()
            }
        }
        loop.stop()
        await thread
        let isNested = work.isNested.load(ordering: .sequentiallyConsistent)
        #expect(!isNested)
    }

    @Test func whatIsLeftWhenItEndsGoesOnElsewhere() async throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        async let thread: Void = onThread { loop.run() }
        let hasStarted = Atomic(false)
        async let left = withTaskExecutorPreference(loop) {
            hasStarted.store(true, ordering: .sequentiallyConsistent)
            // The end of the loop is not an event: a wait continues.
            while await !loop.wait(for: pipe.output, events: POLLIN, orReadable: -1, until: .never) {}
            return loop.isCurrent
        }
        while !hasStarted.load(ordering: .sequentiallyConsistent) { await Task.yield() }
        loop.stop()
        await thread
        pipe.write()
        #expect(await !left)
        #expect(await withTaskExecutorPreference(loop) { !loop.isCurrent })
    }

    @Test func whatIsLeftWhenItEndsWaitsWithoutKeepingOtherTasksWaiting() async throws {
        let loop = try EventLoop()
        loop.stop()
        let pipe = try Pipe()
        // More tasks than the system has threads for them.
        let count = 2 * sysconf(CInt(_SC_NPROCESSORS_ONLN))
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    await loop.wait(for: pipe.output, events: POLLIN, orReadable: -1, until: .now + .seconds(10))
                }
            }
            group.addTask {
                pipe.write()
                return true
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes == [Bool](repeating: true, count: count + 1))
    }

    @Test func whoWaitsForALoopThatNeverRunsIsNotForgotten() async throws {
        let loop = try EventLoop()
        async let left = withTaskExecutorPreference(loop) { loop.isCurrent }
        loop.stop()
        #expect(await !left)
        loop.run()
    }
}

/// Runs `body` with a running loop.
private func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop()
    async let thread: Void = onThread { loop.run() }
    let result = await Result { try await body(loop) }
    loop.stop()
    await thread
    try result.get()
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension ContinuousClock.Instant {
    fileprivate static var never: Self { .now + .seconds(3600) }
}

/// Records the order of events.
private final class Order: Sendable {
    let places = Mutex<[Int]>([])
}

/// A pipe to which the test writes bytes.
private final class Pipe: Sendable {
    let output: Int32
    private let input: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        (output, input) = (ends[0], ends[1])
    }

    deinit {
        close(output)
        close(input)
    }

    func write() {
        var byte: UInt8 = 1
        #expect(unsafe Glibc.write(input, &byte, 1) == 1)
    }
}

/// Work that reads one byte in each turn, where there is one.
private final class CountingWork: LoopWork, Sendable {
    let pipe: Pipe
    let reads = Atomic(0)
    let ends = Atomic(0)

    init() throws { pipe = try Pipe() }

    var descriptor: Int32 { pipe.output }
    var timeout: Int32 { -1 }

    func work() {
        var polled = pollfd(fd: pipe.output, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&polled, 1, 0) == 1 else { return }
        var byte: UInt8 = 0
        #expect(unsafe read(pipe.output, &byte, 1) == 1)
        reads.add(1, ordering: .sequentiallyConsistent)
    }

    func end() { ends.add(1, ordering: .sequentiallyConsistent) }
}

/// Work with a single turn, which lasts until a task has seen what the turn wrote.
private final class LongWork: LoopWork, Sendable {
    let isSeen = Atomic(false)
    private let loop: EventLoop
    private let pipe: Pipe

    init(_ loop: EventLoop, _ pipe: Pipe) {
        self.loop = loop
        self.pipe = pipe
    }

    var descriptor: Int32 { -1 }
    var timeout: Int32 { isSeen.load(ordering: .sequentiallyConsistent) ? -1 : 0 }

    func work() {
        pipe.write()
        while !isSeen.load(ordering: .sequentiallyConsistent) { loop.interrupt() }
    }

    func end() {}
}

/// Work that lets tasks continue in each of its turns.
private final class InterruptedWork: LoopWork, Sendable {
    let turns = Atomic(0)
    /// Whether a turn began before the previous one had ended.
    let isNested = Atomic(false)
    private let isAtWork = Atomic(false)
    private let loop: EventLoop

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    var descriptor: Int32 { -1 }
    var timeout: Int32 { -1 }

    func work() {
        if isAtWork.exchange(true, ordering: .sequentiallyConsistent) {
            isNested.store(true, ordering: .sequentiallyConsistent)
        }
        turns.add(1, ordering: .sequentiallyConsistent)
        loop.interrupt()
        isAtWork.store(false, ordering: .sequentiallyConsistent)
    }

    func end() {}
}
