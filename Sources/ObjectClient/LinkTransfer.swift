import Bytes
import FoundationEssentials
import GatewayTransport
import LibCurl
import LocalFiles
import Synchronization

/// Sends requests to stores by links. The bytes go straight to the store; the gateway never sees them.
struct LinkTransfer: Sendable {
    let timeout: Duration
    let stop: StopFlag
    let meter: TransferMeter

    /// Uploads a part of a file, or all of it.
    ///
    /// - Returns: The entity tag that the store answered, without quotes.
    func put(_ link: Link, _ file: LocalFile, _ range: Range<Int64>) async throws(ClientFailure) -> String? {
        let content = try file.open(at: range.lowerBound)
        let sent = Count(meter)
        let rest = Mutex(Int64(range.count))
        let next: @Sendable (Int) -> [UInt8]? = { most in
            guard !stop.isSet else { return nil }
            let wanted = Int(min(Int64(most), rest.withLock { $0 }))
            guard wanted > 0 else { return [] }
            guard let piece = try? content.read(atMost: wanted), !piece.isEmpty else { return nil }
            rest.withLock { $0 -= Int64(piece.count) }
            sent.add(piece.count)
            return piece
        }
        do throws(ClientFailure) {
            let answer = try await send(
                link, fields: [], upload: .stream(length: Int64(range.count), next), kept: ReceivedBody(atMost: 65_536))
            return answer["ETag"]?.withoutQuotes
        } catch {
            sent.takeBack()
            throw error
        }
    }

    /// Downloads an object.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - fields: Further headers, such as `Range`.
    ///   - receive: Gets the head and the next bytes of a successful answer; `false` ends the transfer.
    func get(
        _ link: Link, fields: [HTTPTransfer.Field],
        receive: @escaping @Sendable (StreamedTransfer.Head, [UInt8]) -> Bool
    ) async throws(ClientFailure) -> StreamedTransfer.Head {
        try await send(link, fields: fields, upload: .none, kept: ReceivedBody(atMost: 65_536), receive: receive)
    }

    /// The longest answer that is read whole. A page of a listing has at most 1,000 entries.
    private static let longestAnswer = 16 << 20

    /// Sends a request without a body, and reads the whole answer.
    func answer(to link: Link) async throws(ClientFailure) -> [UInt8] {
        let kept = ReceivedBody(atMost: Self.longestAnswer)
        _ = try await send(link, fields: [], upload: .none, kept: kept)
        guard !kept.isTooLong else { throw .unreachable("The store's answer is too long.") }
        return kept.bytes
    }

    private func send(
        _ link: Link, fields: [HTTPTransfer.Field], upload: StreamedTransfer.Upload, kept: ReceivedBody,
        receive: (@Sendable (StreamedTransfer.Head, [UInt8]) -> Bool)? = nil
    ) async throws(ClientFailure) -> StreamedTransfer.Head {
        // libcurl writes the length itself.
        let bound = link.headers.filter { $0.key.lowercased() != "content-length" }
            .sorted { $0.key < $1.key }.map { HTTPTransfer.Field($0.key, $0.value) }
        let transfer = StreamedTransfer(
            link.method, link.url, fields: bound + fields, upload: upload, connectTimeout: min(timeout, .seconds(30)),
            idleTimeout: timeout)
        let stop = stop
        let result = await blocking(until: stop) { () -> Result<StreamedTransfer.Head, StreamedTransfer.Failure> in
            Result { () throws(StreamedTransfer.Failure) in
                try transfer.perform { head, bytes in
                    guard !stop.isSet else { return false }
                    if let receive, 200..<300 ~= head.status { return receive(head, bytes) }
                    // Of a long error the beginning is enough.
                    _ = kept.append(bytes)
                    return true
                }
            }
        }
        switch result {
        case nil: throw .stopped("Interrupted.")
        case .success(let head) where 200..<300 ~= head.status: return head
        case .success(let head):
            throw .store(
                StoreRefusal(status: head.status, body: kept.bytes),
                retryAfter: head["Retry-After"].flatMap { Int($0) })
        case .failure(let failure):
            if stop.isSet { throw .stopped("Interrupted.") }
            if failure == .givenUp { throw .file("A file cannot be read or written, or changed meanwhile.") }
            if failure == .malformedHeader {
                throw .unreachable("A header that the gateway asked for contains a line break.")
            }
            throw ClientFailure(TransportFailure(failure, at: Self.origin(of: link.url)))
        }
    }

    /// The origin of a URL, which may be shown, unlike the URL.
    static func origin(of url: String) -> String {
        guard let parts = URLComponents(string: url) else { return "the store" }
        return "\(parts.scheme ?? "")://\(parts.host ?? "")" + (parts.port.map { ":\($0)" } ?? "")
    }

    /// The bytes of one attempt.
    private final class Count: Sendable {
        private let meter: TransferMeter
        private let bytes = Mutex<Int64>(0)

        init(_ meter: TransferMeter) { self.meter = meter }

        func add(_ number: Int) {
            bytes.withLock { $0 += Int64(number) }
            meter.add(Int64(number))
        }

        func takeBack() { meter.add(-bytes.withLock { $0 }) }
    }
}

/// A link that is renewed when it has expired.
struct RenewableLink: Sendable {
    private var link: Link
    private var usableUntil: ContinuousClock.Instant

    /// Time before the end of its life from which a link is not used any more, unless that is more than half of it.
    private static let margin = Duration.seconds(5)

    init(_ link: Link, now: ContinuousClock.Instant) {
        self.link = link
        usableUntil = Self.end(of: link, now)
    }

    /// Uses the link. If it has expired, asks for another one first. If the store refuses it with 403, asks for another
    /// one and uses that, but no third.
    ///
    /// - Returns: What the use results in, or why there is no other link.
    /// - Throws: What the use fails with.
    mutating func use<Value: Sendable>(
        now: ContinuousClock.Instant, fresh: () async throws(ClientFailure) -> Link,
        _ use: (Link) async throws(ClientFailure) -> Value
    ) async throws(ClientFailure) -> Result<Value, ClientFailure> {
        if now < usableUntil {
            do throws(ClientFailure) {
                return .success(try await use(link))
            } catch {
                guard case .store(let refusal, _) = error, refusal.mayBeExpiry else { throw error }
            }
        }
        do throws(ClientFailure) { link = try await fresh() } catch { return .failure(error) }
        usableUntil = Self.end(of: link, now)
        return .success(try await use(link))
    }

    private static func end(of link: Link, _ now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let life = Duration.seconds(link.expiresIn)
        return now + life - min(margin, life / 2)
    }
}

extension Retries {
    /// Uses a link until that succeeds, fails for good or has failed too often. If there is no other link when one is
    /// needed, that is final: the request for it was repeated already.
    func use<Value: Sendable>(
        _ link: RenewableLink, fresh: () async throws(ClientFailure) -> Link,
        _ use: (Link) async throws(ClientFailure) -> Value
    ) async throws(ClientFailure) -> Value {
        var renewable = link
        let used = try await run { () async throws(ClientFailure) -> Result<Value, ClientFailure> in
            try await renewable.use(now: .now, fresh: fresh, use)
        }
        return try used.get()
    }
}

extension GatewayClient {
    /// Asks for a link and uses it, until that succeeds, fails for good or has failed too often.
    func use<Value: Sendable>(
        _ request: LinkRequest, _ use: (Link) async throws(ClientFailure) -> Value
    ) async throws(ClientFailure) -> Value {
        let first = RenewableLink(try await link(request), now: .now)
        return try await retries.use(first) { () async throws(ClientFailure) -> Link in
            try await link(request)
        } _: { (link) async throws(ClientFailure) -> Value in
            try await use(link)
        }
    }
}

extension StoreRefusal {
    /// Whether the link may have expired: stores answer that with 403, and some with 400 or 401.
    fileprivate var mayBeExpiry: Bool {
        status == 403 || ([400, 401].contains(status) && code.contains("Expired"))
    }
}
