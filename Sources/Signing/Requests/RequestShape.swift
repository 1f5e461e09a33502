import Bytes

/// The parts of a request that all requests of one template share: method, address, and the names of the headers in
/// order.
struct RequestShape: Sendable {
    let method: String
    let address: BucketAddress
    private let headerNames: [String]

    init(_ request: PresignRequest) {
        method = request.method
        address = request.address
        headerNames = request.headers.map(\.name)
    }

    /// Whether a request has this shape. Its query is not compared.
    func matches(_ request: borrowing PresignRequest) -> Bool {
        guard request.address === address, request.method.isSame(asASCII: method),
            request.headers.count == headerNames.count
        else { return false }
        for place in headerNames.indices {
            guard request.headers[place].name.isSame(asASCII: headerNames[place]) else { return false }
        }
        return true
    }
}
