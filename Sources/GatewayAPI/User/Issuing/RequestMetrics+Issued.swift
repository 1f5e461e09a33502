import GatewayCore

extension RequestMetrics {
    /// Counts an issued URL.
    func issued(_ issued: IssuedURL) {
        self.issued(action: issued.method.action.rawValue, method: issued.method.rawValue)
    }

    /// Counts one item of a batch.
    func count(_ answer: Result<IssuedURL, GatewayError>) {
        switch answer {
        case .success(let issued): self.issued(issued)
        case .failure(let error): refused(code: error.code)
        }
    }
}
