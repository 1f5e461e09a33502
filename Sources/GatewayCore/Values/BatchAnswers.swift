extension GatewayError {
    /// The answer for an item of a batch that got none. This is a fault of the gateway.
    static let unanswered = GatewayError.unavailable(retryAfter: 1, cause: "an item has no answer")
}

extension Array {
    /// Returns an answer for each item of a batch: its own error where it could not be read, otherwise the next of the
    /// answers.
    ///
    /// - Parameter answers: The answers for the items that could be read, in order.
    package func answered<Item, Answer>(
        by answers: [Result<Answer, GatewayError>]
    ) -> [Result<Answer, GatewayError>] where Element == Result<Item, GatewayError> {
        var rest = answers[...]
        return map { item in item.flatMap { _ in rest.popFirst() ?? .failure(.unanswered) } }
    }
}
