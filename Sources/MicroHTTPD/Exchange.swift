import CMicroHTTPD
import HTTPServing
import HTTPTypes
import Synchronization

/// One request and its answer, between libmicrohttpd's thread and the task that answers.
///
/// Retain contract: `MHD_OPTION_URI_LOG_CALLBACK` makes it and retains it once, `MHD_OPTION_NOTIFY_COMPLETED` releases that once.
/// A streamed answer retains it a second time, until its response object is destroyed.
///
/// - Invariant: `stage`, `head` and `collected` are touched by the one libmicrohttpd thread that serves the connection, and by
///   nobody before or after it. `connection` is valid until `complete()`; other threads use it only to resume, under the lock
///   of `state` and only while suspended, which keeps libmicrohttpd from destroying it. All else is in `state` or constant.
@safe final class Exchange: @unchecked Sendable {
    /// What the next call of libmicrohttpd is about.
    enum Stage {
        case head
        case collecting
        /// The task runs, but has not asked for the streamed body yet.
        case beforeStream
        case streaming
        case answering
        /// Refused past libmicrohttpd; what still arrives is thrown away.
        case lingering
        case queued
    }

    /// What a suspended connection waits for.
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
        /// It went past libmicrohttpd.
        case sent
    }

    struct State {
        var pause: Pause?
        var answer = Answer.none
        var isComplete = false
        var isGivenUp = false
        var isTaskOver = false
        var task: Task<Void, Never>?
        /// When something last moved, for the deadline of the answer and the idle time of a streamed body.
        var progress: ContinuousClock.Instant
        var isStreamed = false
        /// The route's own, where it has one.
        var answerDeadline: Duration?
        var incoming = IncomingBody()
        var outgoing: OutgoingBody?
    }

    let loop: ServerLoop
    let client: ClientConnection
    let connection: OpaquePointer
    let target: TargetLine
    let start = ContinuousClock.now
    let state: Mutex<State>
    var stage = Stage.head
    var head: GuardedHead?
    var collected: [UInt8] = []

    var core: ServerCore { loop.core }

    init(loop: ServerLoop, client: ClientConnection, connection: OpaquePointer, target: TargetLine) {
        self.loop = loop
        self.client = client
        unsafe self.connection = connection
        self.target = target
        state = Mutex(State(progress: start))
        loop.core.openExchanges.add(1, ordering: .relaxed)
    }

    /// Suspends the connection; the caller holds the lock, so nobody can resume before this is done.
    func suspend(_ state: inout State, for pause: Pause) -> Bool {
        guard !core.isStopping.load(ordering: .sequentiallyConsistent) else { return false }
        state.pause = pause
        unsafe MHD_suspend_connection(connection)
        return true
    }

    /// Resumes the connection if it is suspended; the caller holds the lock.
    func resume(_ state: inout State) {
        guard state.pause != nil else { return }
        state.pause = nil
        unsafe MHD_resume_connection(connection)
        loop.wake()
    }

    // MARK: The task

    /// Suspends and starts the task that answers; `false` where the server is stopping.
    func launch(_ body: RequestBody, pause: Pause) -> Bool {
        guard let head else { return false }
        let request = ServerRequest(head: head.request, body: body, remoteAddress: client.address.text)
        let hasBody = head.request.method != .head
        let isSuspended = state.withLock { state in
            state.progress = .now
            return suspend(&state, for: pause)
        }
        guard isSuspended else { return false }
        core.runningTasks.add(1, ordering: .relaxed)
        let task = Task(executorPreference: loop.events) { [self] in
            await answer(request, hasBody: hasBody)
            state.withLock { state in
                state.isTaskOver = true
                state.task = nil
            }
            core.runningTasks.subtract(1, ordering: .relaxed)
        }
        let isGivenUp = state.withLock { state in
            if !state.isTaskOver, !state.isGivenUp { state.task = task }
            return state.isGivenUp
        }
        if isGivenUp { task.cancel() }
        return true
    }

    private func answer(_ request: ServerRequest, hasBody: Bool) async {
        let response = await core.responder.respond(to: request)
        guard case .stream(let length, let produce) = response.body, hasBody, response.head.status.allowsBody else {
            publish(response, outgoing: nil)
            return
        }
        guard publish(response, outgoing: OutgoingBody(length: length)) else { return }
        do {
            try await produce(StreamWriter(exchange: self))
            finishOutput(complete: true)
        } catch {
            finishOutput(complete: false)
        }
    }

    /// Hands the answer over; `false` where it comes too late.
    @discardableResult
    private func publish(_ response: ServerResponse, outgoing: OutgoingBody?) -> Bool {
        state.withLock { state in
            guard !state.isComplete, case .none = state.answer else { return false }
            state.answer = .ready(response)
            state.outgoing = outgoing
            state.progress = .now
            resume(&state)
            return true
        }
    }

    // MARK: The end

    /// The request is over, however it ended; called once by libmicrohttpd.
    func complete() {
        let (task, reader, writer) = state.withLock { state in
            state.isComplete = true
            state.pause = nil
            defer { state.task = nil }
            return (state.task, state.incoming.fail(.disconnected), state.outgoing?.close())
        }
        reader?.resume(throwing: RequestBodyError.disconnected)
        writer?.resume()
        task?.cancel()
        client.end()
        core.openExchanges.subtract(1, ordering: .relaxed)
    }

    /// Gives up whatever the connection is suspended for.
    func abort() {
        state.withLock { giveUp(&$0) }
    }

    /// A slow answer becomes 503, a slow stream ends; a client that owes bytes for too long is to be cut off.
    func sweep(now: ContinuousClock.Instant) -> SweepVerdict? {
        let limits = core.configuration
        return state.withLock { state in
            if state.pause != nil {
                if now - state.progress > state.answerDeadline ?? limits.answerDeadline { giveUp(&state) }
                return nil
            }
            switch state.answer {
            case .taken: return nil
            case .sent: return now - state.progress > limits.idleTimeout ? SweepVerdict(farewell: nil) : nil
            case .ready(let response):
                guard now - state.progress > limits.idleTimeout else { return nil }
                return SweepVerdict(farewell: rawBytes(of: response))
            case .none:
                let isLate =
                    state.isStreamed ? now - state.progress > limits.idleTimeout : now - start > limits.requestTimeout
                guard isLate else { return nil }
                state.incoming.fail(.timedOut)?.resume(throwing: RequestBodyError.timedOut)
                return SweepVerdict(farewell: core.rawAnswer(to: .requestTimeout))
            }
        }
    }

    private func giveUp(_ state: inout State) {
        guard let pause = state.pause else { return }
        state.isGivenUp = true
        state.task?.cancel()
        state.task = nil
        if pause == .output {
            state.outgoing?.close()?.resume()
        } else {
            let failure = ServerFailure.unavailable(retryAfter: core.configuration.retryAfter)
            state.answer = .ready(core.responder.response(to: failure))
            state.incoming.fail(.timedOut)?.resume(throwing: RequestBodyError.timedOut)
        }
        resume(&state)
    }
}

/// What is to happen to a client that owes bytes for too long.
struct SweepVerdict {
    /// What to send before the connection is cut, if anything.
    var farewell: [UInt8]?
}

extension HTTPResponse.Status {
    /// Whether an answer with this status has a body (RFC 9110, 6.4.1).
    var allowsBody: Bool {
        kind != .informational && code != 204 && code != 304
    }
}
