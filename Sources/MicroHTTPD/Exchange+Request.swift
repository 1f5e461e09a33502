import CMicroHTTPD
import Glibc
import HTTPServing
import Synchronization
import HTTPTypes

/// The calls on libmicrohttpd's thread: the head, the body, the final call. `false` closes the connection.
extension Exchange {
    /// Handles one call of the access handler.
    func handle(line: HeadGuard.RequestLine, data: UnsafeRawBufferPointer, left: inout Int) -> Bool {
        if stage != .answering { loop.goesOn() }
        switch stage {
        case .head:
            loop.begin()
            return begin(line)
        case .collecting:
            return unsafe data.isEmpty ? answerCollected() : gather(data, left: &left)
        case .beforeStream: return beginStream()
        case .streaming: return unsafe data.isEmpty ? endStream() : receive(data, left: &left)
        case .answering: return queueOrWait()
        case .lingering:
            left = 0
            return unsafe !data.isEmpty && discard(data.count)
        case .queued:
            left = 0
            return true
        }
    }

    private func begin(_ line: HeadGuard.RequestLine) -> Bool {
        headMemory = unsafe HeadMemory.ofRequest(connection)
        let guarded: GuardedHead
        do {
            guarded = try unsafe HeadGuard.read(
                connection, line: line, target: target, memory: headMemory,
                maxTargetBytes: core.configuration.maxTargetBytes, maxBytes: core.configuration.maxHeadBytes)
        } catch {
            return refuse(error)
        }
        framing = guarded.framing
        expectsContinue = guarded.expectsContinue
        isHead = guarded.request.method == .head
        let plan = core.responder.begin(guarded.request)
        takesPlace = plan.takesPlace
        state.withLock {
            $0.request = RefusedRequest(
                head: guarded.request, remoteAddress: client.address.text, context: plan.context)
        }
        switch plan.body {
        case .collect(let maxBytes, let deadline): return collect(atMost: maxBytes, deadline: deadline)
        case .stream(let maxBytes, let deadline): return stream(atMost: maxBytes, deadline: deadline)
        }
    }

    private func collect(atMost maxBytes: Int, deadline: Duration?) -> Bool {
        if let deadline {
            let later = max(deadline, core.configuration.answerDeadline)
            state.withLock { $0.answerDeadline = later }
        }
        switch framing {
        case .none: break
        case .chunked: return refuse(.badRequest("This route does not accept a chunked body."))
        case .length(let length):
            guard length <= Int64(maxBytes) else { return refuse(.contentTooLarge(maxBytes: Int64(maxBytes))) }
            guard length <= Int64(core.configuration.maxGatheredBodyBytes) else {
                return handOver(
                    IncomingBody(maxBytes: length, highWater: HTTPServerConfiguration.maxUnreadBodyBytes, isKept: true))
            }
            collected.reserveCapacity(min(Int(length), 16 * 1_024))
        }
        stage = .collecting
        return true
    }

    /// Adds a piece to the body that is collected.
    private func gather(_ data: UnsafeRawBufferPointer, left: inout Int) -> Bool {
        left = 0
        guard core.configuration.bodyMemory.take(data.count) else {
            collected = []
            stage = .streaming
            answerAfterBody(
                refusal(.unavailable(retryAfter: core.configuration.retryAfter, lacking: .memory)))
            return true
        }
        keptBytes += data.count
        unsafe collected.append(contentsOf: data)
        return true
    }

    private func stream(atMost maxBytes: Int64, deadline: Duration?) -> Bool {
        isStreamed = true
        if let deadline { state.withLock { $0.answerDeadline = deadline } }
        switch framing {
        case .none:
            stage = .collecting
            return true
        case .length(let length) where length > maxBytes: return refuse(.contentTooLarge(maxBytes: maxBytes))
        case .length, .chunked: break
        }
        return handOver(
            IncomingBody(maxBytes: maxBytes, highWater: HTTPServerConfiguration.maxUnreadBodyBytes, isKept: false))
    }

    /// Starts the answer before the body has arrived.
    private func handOver(_ incoming: IncomingBody) -> Bool {
        guard !isOverloaded else {
            return refuse(.unavailable(retryAfter: core.configuration.retryAfter, lacking: .requests))
        }
        state.withLock { $0.incoming = incoming }
        stage = .beforeStream
        let body = RequestBodyStream { [self] in try await nextChunk() }
        switch launch(.stream(body), pause: .reader) {
        case .stopping: return false
        case .waiting: return true
        case .reading:
            stage = .streaming
            return true
        case .answered(let response): return answerUnread(response)
        }
    }

    private func answerCollected() -> Bool {
        stage = .answering
        guard !isOverloaded else {
            state.withLock { $0.answer = .taken }
            return queue(
                refusal(.unavailable(retryAfter: core.configuration.retryAfter, lacking: .requests)), closes: false)
        }
        let body =
            isStreamed
            ? RequestBody.stream(RequestBodyStream { nil }) : .collected(exchange(&collected, with: []))
        switch launch(body, pause: .answer) {
        case .stopping: return false
        case .waiting, .reading: return true
        case .answered(let response): return queue(response, closes: false)
        }
    }

    private var isOverloaded: Bool {
        takesPlace && core.runningTasks.load(ordering: .relaxed) >= core.configuration.maxRequestsInFlight
    }

    // MARK: A streamed body

    private func beginStream() -> Bool {
        var isOpen = true
        let ready = state.withLock { state -> ServerResponse? in
            if let response = state.takeAnswer() { return response }
            if state.incoming?.isWanted == true {
                stage = .streaming
            } else {
                isOpen = suspend(&state, for: .reader)
            }
            return nil
        }
        if let ready { return answerUnread(ready) }
        return isOpen
    }

    private func receive(_ data: UnsafeRawBufferPointer, left: inout Int) -> Bool {
        var discarded = false
        var mayGoOn = true
        var consumed = false
        let reader = state.withLock { state -> IncomingBody.Reader? in
            if case .ready = state.answer {
                discarded = true
                return nil
            }
            guard let incoming = state.incoming, !incoming.isFull, incoming.failure == nil else {
                mayGoOn = suspend(&state, for: state.incoming?.failure == nil ? .space : .answer)
                return nil
            }
            consumed = true
            state.progress = .now
            if incoming.isKept {
                guard core.configuration.bodyMemory.take(data.count, isLarge: true) else {
                    return incoming.failed(.noMemory)
                }
                keptBytes += data.count
            }
            return unsafe incoming.append(data)
        }
        reader?.resume()
        if consumed { left = 0 }
        guard discarded else { return mayGoOn }
        left = 0
        return endsSoon && discard(data.count) || lingerWithAnswer()
    }

    /// Whether the rest of the body may be short enough to be discarded before the answer.
    private var endsSoon: Bool {
        guard case .length(let length) = framing else { return true }
        return length - Int64(keptBytes) <= Int64(maxDiscardedBytes)
    }

    private var maxDiscardedBytes: Int {
        core.isSecure ? core.configuration.maxDiscardedBytesUnderTLS : core.configuration.maxDiscardedBytes
    }

    private func endStream() -> Bool {
        stage = .answering
        let reader = state.withLock { state -> IncomingBody.Reader? in
            state.incoming?.isEnded = true
            state.progress = .now
            return state.incoming?.takeReaderIfReady()
        }
        reader?.resume()
        return queueOrWait()
    }

    /// Discards unwanted bytes; `false` once there were too many.
    private func discard(_ count: Int) -> Bool {
        state.withLock { state in
            state.discarded += count
            return state.discarded <= maxDiscardedBytes
        }
    }

    // MARK: Answering

    private func queueOrWait() -> Bool {
        var isWaiting = false
        let ready = state.withLock { state -> ServerResponse? in
            if let response = state.takeAnswer() {
                endTurns(&state)
                return response
            }
            isWaiting = waitOn(&state)
            return nil
        }
        guard let ready else { return isWaiting }
        loop.goesOn()
        return queue(ready, closes: false)
    }

    private func queue(_ response: ServerResponse, closes: Bool) -> Bool {
        stage = .queued
        guard let response = fitting(response) else { return false }
        // Nothing follows chunks, for libmicrohttpd 0.9.75 accepts some that others read in another way: lines that end
        // with a bare LF, and extensions without an end.
        let isLast = closes || framing == .chunked || core.isLeaving.load(ordering: .relaxed)
        guard let made = unsafe makeResponse(response, closes: isLast) else { return false }
        defer { unsafe MHD_destroy_response(made) }
        return unsafe sluice_queue_response(connection, UInt32(response.head.status.code), made) == MHD_Result.YES
    }

    /// Returns the answer that libmicrohttpd can send. It closes connections without one where the head of the answer
    /// does not fit beside that of the request. Such an answer goes directly to the socket (`nil`). A refusal takes the
    /// place of one that does not fit into the socket's buffer, and of each under TLS.
    private func fitting(_ response: ServerResponse) -> ServerResponse? {
        let limits = core.configuration
        guard headMemory + HeadMemory.ofAnswer(response.head) > limits.connectionBytes else { return response }
        let tooLong = ServerFailure.headerFieldsTooLarge(maxBytes: limits.maxHeadBytes)
        guard !core.isSecure else { return refusal(tooLong) }
        let bytes =
            rawBytes(of: response, isHead: isHead).flatMap { $0.count <= Self.maxRawBytes ? $0 : nil }
            ?? rawBytes(of: refusal(tooLong), isHead: isHead)
        if let bytes { client.answer(raw: bytes) }
        return nil
    }

    /// What the buffer of an established connection takes in any case.
    private static let maxRawBytes = 32 * 1_024

    /// Refuses a request whose head has arrived.
    private func refuse(_ failure: ServerFailure) -> Bool {
        answerUnread(refusal(failure))
    }

    /// Returns the server's own answer: to the request, or to what is known of it while its head is read.
    func refusal(_ failure: ServerFailure) -> ServerResponse {
        if let head = refusedHead { return core.responder.response(to: failure, of: head) }
        return state.withLock { refusal(failure, of: &$0.request) }
    }

    /// What is known of a request whose head was not accepted; `nil` if not even its target is.
    private var refusedHead: RefusedHead? {
        guard let text = target.text, state.withLock({ $0.request == nil }) else { return nil }
        guard let origin = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, "Origin") else {
            return RefusedHead(target: text)
        }
        return RefusedHead(target: text, origin: unsafe String(cString: origin))
    }

    /// Returns the server's own answer, and notes that the request is counted. The caller holds the lock.
    func refusal(_ failure: ServerFailure, of request: inout RefusedRequest?) -> ServerResponse {
        guard let refused = request else { return core.responder.response(to: failure) }
        request?.isCounted = true
        return core.responder.response(to: failure, of: refused)
    }

    /// Answers a request whose body was not read. The connection takes no further requests.
    private func answerUnread(_ response: ServerResponse) -> Bool {
        // A client that sends its body without waiting would get a reset, which can overtake the answer. It therefore
        // gets the answer at once, and some time to read it.
        if framing != .none, !expectsContinue {
            if !core.isSecure, let bytes = rawBytes(of: response, isHead: isHead) { return linger(bytes) }
            // Under TLS nothing can be written directly to the socket, so the answer comes after the body.
            var isShort = core.isSecure
            if case .length(let length) = framing { isShort = length <= Int64(maxDiscardedBytes) }
            if isShort {
                stage = .streaming
                answerAfterBody(response)
                return true
            }
        }
        state.withLock { $0.answer = .taken }
        return queue(response, closes: true)
    }

    /// Discards the rest of the body first.
    private func answerAfterBody(_ response: ServerResponse) {
        state.withLock { state in
            state.answer = .ready(response)
            state.progress = .now
        }
    }

    /// Called when libmicrohttpd sends a refusal by itself.
    func isRefused() {
        stage = .queued
        state.withLock { state in
            if case .none = state.answer { state.answer = .taken }
        }
    }

    private func linger(_ bytes: [UInt8]) -> Bool {
        client.answer(raw: bytes)
        stage = .lingering
        state.withLock { state in
            state.answer = .sent
            state.progress = .now
            state.discarded = 0
        }
        return true
    }

    /// The client still sends a body that is already answered. It gets the answer here, and nothing after it.
    private func lingerWithAnswer() -> Bool {
        guard !core.isSecure else { return false }
        let response = state.withLock { state -> ServerResponse? in
            guard case .ready(let response) = state.answer else { return nil }
            return response
        }
        guard let response, let bytes = rawBytes(of: response, isHead: isHead) else { return false }
        return linger(bytes)
    }
}
