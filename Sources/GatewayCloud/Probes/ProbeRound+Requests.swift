import Bytes
import FoundationEssentials
import GatewayCore
import LibCurl
import Signing

extension ProbeRound {
    /// What the URL of a request is signed for.
    enum Signed: ExpressibleByStringLiteral {
        /// A method, from now on.
        case now(String)
        /// A method, for a time that is over.
        case expired(String)
        /// A method, from now on, in a URL that somebody adds a parameter to.
        case extended(String, by: String)
        /// Nothing.
        case unsigned

        init(stringLiteral method: String) { self = .now(method) }
    }

    /// The result of a request.
    struct Reply {
        var answer: HTTPTransfer.Answer?
        var failure: ProbeFailure?
        var duration: Duration?

        /// Whether the store carried out the request.
        var isDone: Bool { answer.map { 200..<300 ~= $0.status } ?? false }

        /// Whether the store may have carried out the request.
        var mayHaveWritten: Bool {
            if let answer { return 200..<300 ~= answer.status || answer.status >= 500 }
            return switch failure {
            // A request that was not sent took no time.
            case .timedOut, .unreadable: duration != nil
            default: false
            }
        }

        /// Whether nothing tells what the store does with such requests: it was too busy, in trouble or silent.
        var isOpen: Bool { failure != nil || answer.map { ProbeFailure($0).isTemporary } ?? false }
    }

    /// Sends a request with a link for the probe object, or for another key, if there is time until an instant: for all
    /// but removals, ``deadline``.
    mutating func ask(
        _ signed: Signed, _ method: HTTPTransfer.Method, of key: ObjectKey? = nil, at place: Bucket? = nil,
        headers: [NamedValue] = [], query: [NamedValue] = [], fields: [HTTPTransfer.Field]? = nil,
        timeout: Duration = BucketProbe.stepTimeout, until end: ContinuousClock.Instant? = nil
    ) async -> Reply {
        let left = min(timeout, ContinuousClock.now.duration(to: end ?? deadline))
        guard left > .milliseconds(10) else { return Reply(failure: .timedOut) }
        let place = place ?? bucket
        let url: Secret<String>
        do throws(ProbeFailure) {
            url = try self.url(signed, key ?? validation.probeKey, place, headers, query)
        } catch {
            return Reply(failure: error)
        }
        let start = ContinuousClock.now
        do throws(OutboundError) {
            let sent = probe.now()
            let answer = try await probe.client.send(
                method, url.reveal(), fields: fields ?? headers.map { .init($0.name, $0.value) },
                maxBytes: BucketProbe.maxAnswerBytes, timeout: left)
            if place.endpoint == linked.endpoint { wasReached = true }
            noteClock(answer, sent)
            return Reply(answer: answer, duration: start.duration(to: ContinuousClock.now))
        } catch {
            return Reply(failure: ProbeFailure(error), duration: start.duration(to: ContinuousClock.now))
        }
    }

    private func url(
        _ signed: Signed, _ key: ObjectKey, _ place: Bucket, _ headers: [NamedValue], _ query: [NamedValue]
    ) throws(ProbeFailure) -> Secret<String> {
        let method: String
        var instant = probe.now()
        var addition: String?
        do throws(GatewayError) {
            switch signed {
            case .unsigned: return Secret(try probe.signer.unsignedURL(of: key, in: place))
            case .now(let signed): method = signed
            case .expired(let signed):
                method = signed
                instant.addTimeInterval(-BucketProbe.expiredFor)
            case .extended(let signed, let parameter):
                method = signed
                addition = parameter
            }
            guard let signer = place.hasCDNLinks ? cdnCredential : credential else {
                throw GatewayError.unavailable(retryAfter: 60, cause: "no credential signs for the bucket's CDN")
            }
            let url = try probe.signer.url(
                method, of: key, in: place, with: signer, headers: headers, query: query,
                expiresIn: BucketProbe.urlLife, at: instant)
            guard let addition else { return url }
            let text = url.reveal()
            return Secret(text + (text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + addition)
        } catch {
            throw .notSignable
        }
    }

    /// The version of the object, so that its removal leaves no earlier version behind, and no delete marker where the
    /// bucket keeps versions no more: then it is `null`.
    func versionID(in answer: HTTPTransfer.Answer) -> NamedValue? {
        let (field, name) =
            switch bucket.provider {
            case .aws, .s3: ("x-amz-version-id", "versionId")
            case .oss: ("x-oss-version-id", "versionId")
            case .gcs: ("x-goog-generation", "generation")
            }
        guard let id = answer.field(field), id.consists(of: .visible, count: 1...1024) else { return nil }
        return NamedValue(name, id)
    }
}
