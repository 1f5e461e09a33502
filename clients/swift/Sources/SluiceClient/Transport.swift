import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a server answered, with its body.
struct Answer: Sendable {
    let head: AnswerHead
    let body: Data

    var status: Int { head.status }
    var isOK: Bool { (200..<300).contains(status) }
    var retryAfter: Duration? { head.field("retry-after").flatMap(Int.init).map { .seconds($0) } }
}

/// Status and fields of an answer.
struct AnswerHead: Sendable {
    let status: Int
    private let fields: [String: String]

    init?(_ response: URLResponse?) {
        guard let response = response as? HTTPURLResponse else { return nil }
        status = response.statusCode
        var fields: [String: String] = [:]
        for case (let name as String, let value as String) in response.allHeaderFields {
            fields[name.lowercased()] = value
        }
        self.fields = fields
    }

    /// The field with this name, in small letters.
    func field(_ name: String) -> String? { fields[name] }

    /// The entity tag without quotes.
    var etag: String? { field("etag").map(unquoted) }

    /// When the server answered, by its clock.
    var date: Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return field("date").flatMap(formatter.date)
    }
}

func unquoted(_ tag: String) -> String {
    guard tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return tag }
    return String(tag.dropFirst().dropLast())
}

/// Where the bytes of an answer go, unless they are kept for it.
protocol AnswerSink: Sendable {
    /// Whether to take the body of an answer with this head. Without leave it is kept, as are those of refusals.
    func begin(_ head: AnswerHead) throws -> Bool
    func write(_ bytes: Data) throws
}

/// Sends requests by one `URLSession`, which ends with it.
final class Transport: Sendable {
    private let session: URLSession
    private let exchanges = Exchanges()

    /// - Parameter timeout: the time without any progress after which a request has failed.
    init(timeout: Duration) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout.inSeconds
        configuration.httpMaximumConnectionsPerHost = 16
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        #if canImport(Darwin)
            // A request waits until there is a network.
            configuration.waitsForConnectivity = true
        #endif
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    /// Sends a request, with the bytes of a file as its body if there is one, and collects the answer.
    ///
    /// - Parameter onSent: is told how many bytes of the body have been sent.
    func send(
        _ request: URLRequest, file: URL? = nil, sink: (any AnswerSink)? = nil,
        onSent: (@Sendable (Int64) -> Void)? = nil
    ) async throws -> Answer {
        let task: URLSessionTask
        if let file {
            task = try await onDisk { [session] _ in try session.uploadTask(request, of: file) }
        } else {
            task = session.dataTask(with: request)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.begin(task, Exchange(sink: sink, onSent: onSent, continuation: continuation))
                task.resume()
                // The handler may have run before the task had begun.
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            exchanges.cancel(task)
        }
    }
}

extension URLSession {
    /// A task that sends a file.
    func uploadTask(_ request: URLRequest, of file: URL) throws -> URLSessionUploadTask {
        #if canImport(FoundationNetworking)
            // On Linux, a task that reads a file ends the program if its connection is lost meanwhile: it makes libcurl
            // go on with a transfer that is over, and takes the refusal for impossible.
            return uploadTask(with: request, from: try Data(contentsOf: file))
        #else
            return uploadTask(with: request, fromFile: file)
        #endif
    }
}

/// One request under way.
struct Exchange: Sendable {
    let sink: (any AnswerSink)?
    let onSent: (@Sendable (Int64) -> Void)?
    let continuation: CheckedContinuation<Answer, any Error>
    var isTaken = false
    var kept = Data()
    /// What the sink could not do.
    var failure: (any Error)?
}

/// Tells each request under way what becomes of it.
final class Exchanges: NSObject, URLSessionDataDelegate {
    // Answers of the gateway have at most some MiB, and refusals of stores some KiB.
    private static let mostKept = 16 << 20

    private let underWay = Locked<[Int: Exchange]>([:])

    func begin(_ task: URLSessionTask, _ exchange: Exchange) {
        underWay.withLock { $0[task.taskIdentifier] = exchange }
    }

    /// Cancels a task that has begun. The end of one that has not would be told to nobody.
    func cancel(_ task: URLSessionTask) {
        let hasBegun = underWay.withLock { $0[task.taskIdentifier] != nil }
        if hasBegun { task.cancel() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        underWay.withLock { $0[task.taskIdentifier]?.onSent }?(totalBytesSent)
    }

    // A link says where its request goes.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let sink = underWay.withLock { $0[dataTask.taskIdentifier]?.sink }
        guard let sink, let head = AnswerHead(response) else { return completionHandler(.allow) }
        do {
            let isTaken = try sink.begin(head)
            underWay.withLock { $0[dataTask.taskIdentifier]?.isTaken = isTaken }
            completionHandler(.allow)
        } catch {
            fail(dataTask, error)
            completionHandler(.cancel)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let sink = underWay.withLock { exchanges -> (any AnswerSink)? in
            guard let exchange = exchanges[dataTask.taskIdentifier] else { return nil }
            if exchange.isTaken { return exchange.sink }
            if exchange.kept.count + data.count <= Self.mostKept {
                exchanges[dataTask.taskIdentifier]?.kept.append(data)
            }
            return nil
        }
        do {
            try sink?.write(data)
        } catch {
            fail(dataTask, error)
            dataTask.cancel()
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = underWay.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let failure = exchange.failure {
            exchange.continuation.resume(throwing: failure)
        } else if let error {
            let host = task.originalRequest?.url?.host ?? "The server"
            exchange.continuation.resume(
                throwing: SluiceError.lost("\(host) did not answer: \(error.localizedDescription)"))
        } else if let head = AnswerHead(task.response) {
            exchange.continuation.resume(returning: Answer(head: head, body: exchange.kept))
        } else {
            exchange.continuation.resume(throwing: SluiceError.lost("The answer is not one of HTTP."))
        }
    }

    private func fail(_ task: URLSessionTask, _ error: any Error) {
        underWay.withLock { $0[task.taskIdentifier]?.failure = error }
    }
}

extension Duration {
    var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
