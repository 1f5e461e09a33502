import CMicroHTTPD
import HTTPServing
import HTTPTypes
import Synchronization

/// One request and its answer, between libmicrohttpd's thread and the task that answers.
///
/// Retain contract: `MHD_OPTION_URI_LOG_CALLBACK` makes it and retains it once; `MHD_OPTION_NOTIFY_COMPLETED` releases
/// it. A streamed answer retains it again until its response object is destroyed.
///
/// - Invariant: Only the libmicrohttpd thread that serves the connection touches the variables other than `state`.
///   `connection` is valid until `complete()`. Other threads use it only to resume the connection, under the lock of
///   `state` and only while it is suspended, which keeps libmicrohttpd from destroying it. Everything else is in
///   `state` or constant.
@safe final class Exchange: @unchecked Sendable {
    /// What the next call of libmicrohttpd is about.
    enum Stage {
        case head
        case collecting
        /// The task runs, but has not asked for the streamed body yet.
        case beforeStream
        case streaming
        case answering
        /// Refused directly on the socket. What still arrives is discarded.
        case lingering
        case queued
    }

    /// What a connection waits for.
    enum Pause {
        case answer
        case reader
        case space
        case output
    }

    enum Answer {
        case none
        case ready(ServerResponse)
        /// libmicrohttpd sends it.
        case taken
        /// It was written directly to the socket.
        case sent
    }

    struct State {
        var pause: Pause?
        /// Whether libmicrohttpd has suspended the connection, so that it must be told when the pause ends.
        var isSuspended = false
        /// For how many turns of its loop the connection still waits for the answer before it is suspended; 0 if it
        /// does not wait, or is suspended.
        var turnsLeft = 0
        var answer = Answer.none
        var isComplete = false
        var isGivenUp = false
        var isTaskOver = false
        var task: Task<Void, Never>?
        /// The request, once its head has arrived.
        var request: RefusedRequest?
        /// The request that the task answers, until its answer is ready.
        var asked: ServerRequest?
        /// When data last moved. The deadline of the answer and the idle time of a streamed body depend on it.
        var progress: Moment
        /// The route's own deadline, if it has one.
        var answerDeadline: Duration?
        /// The body, if it is streamed.
        var incoming: IncomingBody?
        /// The answer, if it is streamed.
        var outgoing: OutgoingBody?
        /// Number of discarded bytes of the body.
        var discarded = 0
    }

    let loop: ServerLoop
    let client: ClientConnection
    let connection: OpaquePointer
    let target: TargetLine
    let start: Moment
    let state: Mutex<State>
    var stage = Stage.head
    /// Bytes of the connection's memory that the head takes.
    var headMemory = 0
    var framing = GuardedHead.Framing.none
    var expectsContinue = false
    /// Whether the answer consists of a head only.
    var isHead = false
    /// Whether the route streams.
    var isStreamed = false
    /// Whether the request is refused while too many are in flight.
    var takesPlace = true
    var collected: [UInt8] = []
    /// Bytes of the body that count as memory until the exchange, which holds the body, is freed.
    var keptBytes = 0
    /// The body of the answer. libmicrohttpd reads it in place until the request is complete.
    var sent: [UInt8] = []

    var core: ServerCore { loop.core }

    init(loop: ServerLoop, client: ClientConnection, connection: OpaquePointer, target: TargetLine) {
        self.loop = loop
        self.client = client
        unsafe self.connection = connection
        self.target = target
        start = .now
        state = Mutex(State(progress: start))
        loop.core.openExchanges.add(1, ordering: .relaxed)
    }

    deinit {
        if keptBytes > 0 { loop.core.configuration.bodyMemory.giveBack(keptBytes) }
    }

    /// Suspends the connection. The caller holds the lock, so nobody can resume it before this returns.
    func suspend(_ state: inout State, for pause: Pause) -> Bool {
        guard !core.isStopping.load(ordering: .sequentiallyConsistent) else { return false }
        state.pause = pause
        state.isSuspended = true
        unsafe MHD_suspend_connection(connection)
        return true
    }

    /// Ends the pause, if there is one. The caller holds the lock.
    func resume(_ state: inout State) {
        state.pause = nil
        if state.isSuspended {
            state.isSuspended = false
            unsafe MHD_resume_connection(connection)
        } else if state.turnsLeft == 0 {
            return
        }
        loop.wake()
    }

    // MARK: Waiting for the answer

    /// The number of turns for which a connection waits for its answer before it is suspended. Suspending takes two
    /// calls of `epoll_ctl` and one of `recv` in vain; each turn takes one call of the access handler. Most answers are
    /// there after few turns.
    private static let turnsOfWaiting = 64

    /// Lets the connection wait for its answer without being suspended. libmicrohttpd calls the access handler in each
    /// turn of the loop, as it does for every request that has arrived and has no answer. The caller holds the lock.
    private func waitInTurns(_ state: inout State) {
        state.turnsLeft = Self.turnsOfWaiting
        loop.waits()
    }

    /// Waits for another turn, or suspends the connection after the last one. The caller holds the lock.
    ///
    /// - Returns: Whether the connection waits. If not, it must be closed.
    func waitOn(_ state: inout State) -> Bool {
        // A server that stops gives up every pause, and each request gets its 503.
        if state.turnsLeft > 1 || state.turnsLeft == 1 && core.isStopping.load(ordering: .relaxed) {
            state.turnsLeft = max(1, state.turnsLeft - 1)
            return true
        }
        endTurns(&state)
        return suspend(&state, for: .answer)
    }

    /// Ends the waiting in turns, if the connection does. The caller holds the lock.
    func endTurns(_ state: inout State) {
        guard state.turnsLeft > 0 else { return }
        state.turnsLeft = 0
        loop.waitsNoLonger()
    }

    // MARK: The task

    /// How far a task came before it had to wait.
    enum Start {
        /// It did not start: the server is stopping.
        case stopping
        /// It waits, and so does the connection.
        case waiting
        /// It reads the body.
        case reading
        /// The answer is ready, and the caller queues it.
        case answered(ServerResponse)
    }

    /// Starts the task that answers. It runs at once on this thread until it has to wait. Only then does the connection
    /// wait, too: suspended, unless for the answer alone.
    func launch(_ body: RequestBody, pause: Pause) -> Start {
        let request = state.withLock { state -> ServerRequest? in
            guard !core.isStopping.load(ordering: .sequentiallyConsistent), let request = state.request else {
                return nil
            }
            state.request?.isCounted = true
            state.progress = .now
            state.pause = pause
            let asked = ServerRequest(
                head: request.head, body: body, remoteAddress: request.remoteAddress, context: request.context)
            state.asked = asked
            return asked
        }
        guard let request else { return .stopping }
        core.runningTasks.add(1, ordering: .relaxed)
        let task = Task.immediate(executorPreference: loop.events) { [self, hasBody = !isHead] in
            await answer(request, hasBody: hasBody)
            core.runningTasks.subtract(1, ordering: .relaxed)
        }
        let (start, isGivenUp) = state.withLock { state -> (Start, Bool) in
            if !state.isGivenUp, !state.isTaskOver { state.task = task }
            if let pause = state.pause {
                if pause == .answer {
                    waitInTurns(&state)
                } else {
                    state.isSuspended = true
                    unsafe MHD_suspend_connection(connection)
                }
                return (.waiting, state.isGivenUp)
            }
            return (state.takeAnswer().map { .answered($0) } ?? .reading, state.isGivenUp)
        }
        if isGivenUp { task.cancel() }
        return start
    }

    private func answer(_ request: ServerRequest, hasBody: Bool) async {
        let response = await core.responder.respond(to: request)
        guard case .stream(let length, let produce) = response.body, hasBody, response.head.status.allowsBody else {
            publish(response) { $0.taskIsOver() }
            return
        }
        await stream(response, length: length, produce)
    }

    // Apart from whole answers, whose frame would otherwise hold what streaming needs.
    private func stream(
        _ response: ServerResponse, length: Int64?, _ produce: @Sendable (any ResponseBodyWriter) async throws -> Void
    ) async {
        guard publish(response, { $0.outgoing = OutgoingBody(length: length) }) else { return }
        do {
            try await produce(StreamWriter(exchange: self))
            finishOutput(complete: true)
        } catch {
            finishOutput(complete: false)
        }
        state.withLock { $0.taskIsOver() }
    }

    /// Hands over the answer; `false` if it comes too late.
    @discardableResult
    private func publish(_ response: ServerResponse, _ change: (inout State) -> Void) -> Bool {
        state.withLock { state in
            guard !state.isComplete, case .none = state.answer else {
                state.taskIsOver()
                return false
            }
            state.answer = .ready(response)
            state.asked = nil
            state.progress = .now
            change(&state)
            resume(&state)
            return true
        }
    }

    // MARK: The end

    /// Ends the request, however it went. libmicrohttpd calls it once.
    func complete() {
        let (task, reader, writer) = state.withLock { state in
            state.isComplete = true
            endTurns(&state)
            state.pause = nil
            state.isSuspended = false
            // A reader that learns of the end learns who made it.
            noteAbandoned(&state)
            defer { state.task = nil }
            return (state.task, state.incoming?.fail(.disconnected), state.outgoing?.close())
        }
        reader?.resume(throwing: RequestBodyError.disconnected)
        writer?.resume()
        task?.cancel()
        client.end()
        core.openExchanges.subtract(1, ordering: .relaxed)
    }

    /// Notes with the request that its client has gone, if the task still makes its answer. The caller holds the lock.
    private func noteAbandoned(_ state: inout State) {
        let asked = state.asked.take()
        guard !state.isGivenUp, !core.isStopping.load(ordering: .sequentiallyConsistent) else { return }
        asked?.abandon()
    }

    /// Gives up what the connection waits for.
    func abort() {
        state.withLock { giveUp(&$0) }?.cancel()
    }

    /// A slow answer becomes 503, and a slow stream ends. A client that sends nothing for too long is to be
    /// disconnected. It may close its side while the answer is made, but not before the end of its request.
    func sweep(now: Moment) -> SweepVerdict {
        let limits = core.configuration
        var task: Task<Void, Never>?
        defer { task?.cancel() }
        return state.withLock { state -> SweepVerdict in
            let silence = now - state.progress
            if state.pause != nil {
                if silence > state.answerDeadline ?? limits.answerDeadline { task = giveUp(&state) }
                return .stays
            }
            switch state.answer {
            case .taken: return .stays
            case .sent:
                // A server that shuts down does not wait for the end of a body that is answered.
                let isDraining = core.isDraining.load(ordering: .relaxed)
                if silence > (isDraining ? min(.seconds(1), limits.idleTimeout) : limits.idleTimeout) {
                    return .ends(farewell: nil)
                }
            case .ready(let response):
                if silence > limits.idleTimeout {
                    return .ends(farewell: rawBytes(of: response, isHead: state.isForHead))
                }
            case .none:
                let isIdle = state.incoming != nil && silence > limits.idleTimeout
                let isSlow = state.incoming?.isKept != false && now - start > limits.requestTimeout
                if isIdle || isSlow {
                    state.incoming?.fail(.timedOut)?.resume(throwing: RequestBodyError.timedOut)
                    let timeout = refusal(.requestTimeout, of: &state.request)
                    return .ends(farewell: rawBytes(of: timeout, isHead: state.isForHead))
                }
            }
            return silence > ClientConnection.silence ? .needsClient : .stays
        }
    }

    /// Answers in place of the task. Returns the task, which the caller cancels after the lock: its handlers of
    /// cancellation take the lock.
    private func giveUp(_ state: inout State) -> Task<Void, Never>? {
        guard let pause = state.pause else { return nil }
        state.isGivenUp = true
        let task = state.task.take()
        if pause == .output {
            state.outgoing?.close()?.resume()
        } else {
            let failure = ServerFailure.unavailable(retryAfter: core.configuration.retryAfter, lacking: .time)
            state.answer = .ready(refusal(failure, of: &state.request))
            state.incoming?.fail(.timedOut)?.resume(throwing: RequestBodyError.timedOut)
        }
        resume(&state)
        return task
    }
}

extension Exchange.State {
    /// The answer, if there is one that nobody has taken yet.
    mutating func takeAnswer() -> ServerResponse? {
        guard case .ready = answer, case .ready(let response) = exchange(&answer, with: .taken) else { return nil }
        return response
    }

    /// Whether the request asks for a head only.
    var isForHead: Bool { request?.head.method == .head }

    /// The task does nothing more that could be cancelled.
    fileprivate mutating func taskIsOver() {
        isTaskOver = true
        task = nil
        asked = nil
    }
}

extension HTTPResponse.Status {
    /// Whether an answer with this status has a body (RFC 9110, 6.4.1).
    var allowsBody: Bool {
        kind != .informational && code != 204 && code != 304
    }
}
