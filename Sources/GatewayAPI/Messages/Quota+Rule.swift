import GatewayCore
import StrictJSON

extension Quota {
    /// Writes what the quota counts, for how long, and its limit.
    func writeRule(to json: inout JSONWriter) {
        json.member("bucket", bucket?.rawValue)
        json.member("action", action?.rawValue)
        json.member("metric", metric.rawValue)
        json.member("period", period.rawValue)
        json.member("sharing", sharing.rawValue)
        json.member("limit", limit)
    }
}

extension QuotaRemainder {
    /// Writes the amount that is left, and when there is more.
    func write(to json: inout JSONWriter) {
        json.member("remaining", max(0, remaining))
        if let resetsIn { json.member("resetsIn", resetsIn) }
    }
}
