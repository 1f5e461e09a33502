import GatewayCore

extension RotationOverlap {
    /// Reads the body of a rotation, which may be absent.
    init(_ request: APIRequest) throws {
        var body = try request.jsonObjectIfAny()
        try self.init(seconds: body.integer("overlapSeconds"))
        try body.end()
    }
}
