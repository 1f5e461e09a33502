public import GatewayCore
public import HTTPTypes

extension GatewayError {
    /// The status of the answer that a caller gets.
    public var httpStatus: HTTPResponse.Status { Problem(self).kind.status }
}
