import Bytes
public import GatewayCore
import LibCurl

/// Requests documents of issuers, and tests their token endpoints, through ``OutboundClient``.
public struct IssuerProbe: IssuerDocuments {
    private let client: OutboundClient

    /// Makes a probe.
    public init(client: OutboundClient) {
        self.client = client
    }

    /// Requests the document at a URL.
    public func document(at url: String, within limit: Duration?) async -> IssuerDocument {
        let start = ContinuousClock.now
        do throws(OutboundError) {
            let answer = try await client.send(.get, url, maxBytes: KeySets.maxBytes, timeout: limit, for: .keySet)
            let content: Result<[UInt8], ProbeFailure> =
                switch answer.status {
                case 200: .success(answer.body)
                case 300..<400: .failure(.redirected(region: nil))
                default: .failure(.refused(status: answer.status, code: nil))
                }
            return IssuerDocument(content: content, status: answer.status, duration: .now - start)
        } catch {
            return IssuerDocument(content: .failure(ProbeFailure(error)), status: nil, duration: .now - start)
        }
    }

    /// Asks a token endpoint, and sends a preflight request beside.
    public func exchange(at url: String, clientID: String, origin: String?) async -> TokenEndpointAnswer {
        let start = ContinuousClock.now
        async let preflight = permission(of: origin, at: url)
        do throws(OutboundError) {
            var fields: [HTTPTransfer.Field] = [
                .init("content-type", "application/x-www-form-urlencoded"), .init("accept", "application/json"),
            ]
            if let origin { fields.append(.init("origin", origin)) }
            let answer = try await client.send(
                .post(body: Self.exchangeForm(clientID: clientID, origin: origin)), url, fields: fields,
                maxBytes: KeySets.maxBytes, for: .keySet)
            return TokenEndpointAnswer(
                content: .success(answer.body), status: answer.status, duration: .now - start,
                permitsOrigin: Self.permits(origin, answer), preflightPermitsOrigin: await preflight)
        } catch {
            return TokenEndpointAnswer(
                content: .failure(ProbeFailure(error)), status: nil, duration: .now - start, permitsOrigin: false,
                preflightPermitsOrigin: await preflight)
        }
    }

    private func permission(of origin: String?, at url: String) async -> Bool {
        guard let origin else { return false }
        let fields: [HTTPTransfer.Field] = [
            .init("origin", origin), .init("access-control-request-method", "POST"),
            .init("access-control-request-headers", "content-type"),
        ]
        do throws(OutboundError) {
            let answer = try await client.send(
                .options, url, fields: fields, maxBytes: KeySets.maxBytes, for: .keySet)
            return 200..<300 ~= answer.status && Self.permits(origin, answer)
        } catch {
            return false
        }
    }

    private static func permits(_ origin: String?, _ answer: HTTPTransfer.Answer) -> Bool {
        guard let origin, let permitted = answer.field("access-control-allow-origin") else { return false }
        return [origin, "*"].contains(permitted)
    }

    /// The form of an exchange (RFC 6749, section 4.1.3, and RFC 7636, section 4.5) with a code and a verifier that
    /// belong to no sign-in.
    private static func exchangeForm(clientID: String, origin: String?) -> [UInt8] {
        var pairs = [
            ("grant_type", "authorization_code"), ("code", "sluice-tests-this-endpoint"), ("client_id", clientID),
            ("code_verifier", "sluice-tests-this-endpoint-and-has-no-code-for-it"),
        ]
        if let origin { pairs.append(("redirect_uri", origin + "/console/")) }
        return Array(pairs.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&").utf8)
    }
}
