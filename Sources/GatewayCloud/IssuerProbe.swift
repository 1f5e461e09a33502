public import GatewayCore
import LibCurl

/// Requests documents of issuers for their check, through ``OutboundClient``.
public struct IssuerProbe: IssuerDocuments {
    private let client: OutboundClient

    /// Makes a probe.
    public init(client: OutboundClient) {
        self.client = client
    }

    /// Requests the document at a URL.
    public func document(at url: String) async -> IssuerDocument {
        let start = ContinuousClock.now
        do throws(OutboundError) {
            let answer = try await client.send(.get, url, maxBytes: KeySets.maxBytes, share: .keySets)
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
}
