import Bytes
import GatewayCore
import LibCurl
import StrictXML

extension ProbeFailure {
    /// Why an answer differs from the expected one.
    init(_ answer: HTTPTransfer.Answer) {
        switch answer.status {
        case 200..<300: self = .unexpected
        case 300..<400: self = .redirected(region: Self.region(answer))
        default:
            let code = StoreErrorCode.read(answer)
            if let code, Self.namesRegion.contains(code), let region = Self.region(answer) {
                self = .redirected(region: region)
            } else {
                self = .refused(status: answer.status, code: code)
            }
        }
    }

    /// The codes with which a store tells the bucket's region.
    private static let namesRegion: Set = [
        "AuthorizationHeaderMalformed", "AuthorizationQueryParametersError", "PermanentRedirect",
    ]

    private static func region(_ answer: HTTPTransfer.Answer) -> String? {
        let told = answer.field("x-amz-bucket-region") ?? XMLElement.read(answer.body)?.text("Region")
        return told.flatMap { region in
            region.consists(of: .lowerAlphanumeric.union("-"), count: 1...32) ? region : nil
        }
    }
}
