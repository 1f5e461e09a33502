import GatewayCore
import Testing

@testable import GatewayCloud

/// What the statuses of stores and token services mean: a failure that may pass, or a refusal that stays.
@Suite struct StoreRefusalTests {
    @Test(arguments: [400, 403, 404, 409, 429, 500, 501, 502, 503, 504], [nil, "AccessDenied", "SlowDown"])
    func `a store that refuses is never asked again, nor is one that lacks the operation`(status: Int, code: String?) {
        let error = OutboundError.refusal(status: status, code: code)
        if status != 501, code == "SlowDown" || status == 429 || status >= 500 {
            #expect(error == .unavailable(retryAfter: 5))
            #expect(error.cause?.description.contains("\(status)") == true)
            #expect(error.cause?.advice?.contains("\(status)") == true)
        } else {
            #expect(error == .storeRefused(status: status, code: code))
        }
    }

    @Test func `a token service that lacks the operation has refused`() {
        #expect(
            SessionFailure.refused(status: 501, code: "NotImplemented").asGatewayError
                == .storeRefused(status: 501, code: "NotImplemented"))
        #expect(!SessionFailure.refused(status: 501, code: nil).mayPass)
        #expect(SessionFailure.refused(status: 503, code: nil).mayPass)
        let cause = SessionFailure.refused(status: 403, code: "NoPermission").asGatewayError.cause
        #expect(cause?.advice?.contains("403 NoPermission") == true)
    }

    @Test func `causes name the setting, and advice names no host`() {
        for error in [OutboundError.notPermitted.asGatewayError, SessionFailure.notPermitted.asGatewayError] {
            #expect(error.cause?.description.contains("SLUICE_OUTBOUND_ALLOW") == true)
            #expect(error.cause?.advice?.contains("SLUICE") == false)
        }
    }
}
