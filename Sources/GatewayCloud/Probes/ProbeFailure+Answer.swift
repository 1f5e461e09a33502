import Bytes
import GatewayCore
import LibCurl

extension ProbeFailure {
    /// Why an answer differs from the expected one.
    init(_ answer: HTTPTransfer.Answer) {
        switch answer.status {
        case 200..<300: self = .unexpected
        case 300..<400: self = .redirected(region: Self.region(answer))
        default:
            let code = StoreErrorCode.read(answer)
            let isElsewhere = code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect"
            if isElsewhere, let region = Self.region(answer) {
                self = .redirected(region: region)
            } else {
                self = .refused(status: answer.status, code: code)
            }
        }
    }

    private static func region(_ answer: HTTPTransfer.Answer) -> String? {
        answer.field("x-amz-bucket-region").flatMap { region in
            region.consists(of: .lowerAlphanumeric.union("-"), count: 1...32) ? region : nil
        }
    }
}
