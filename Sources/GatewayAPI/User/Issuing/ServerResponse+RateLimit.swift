import GatewayCore
import HTTPServing
import HTTPTypes

extension ServerResponse {
    /// Adds the fields that state what is left of each quota.
    mutating func setRateLimit(_ balances: [QuotaBalance]) {
        guard !balances.isEmpty else { return }
        let items = balances.map(RateLimit.Item.init)
        head.headerFields.append(.rateLimit, RateLimit.remaining(items))
        head.headerFields.append(.rateLimitPolicy, RateLimit.policy(items))
    }

    /// Adds the fields that state what is left of each quota after the last item that it admitted.
    mutating func setRateLimit(ofBatch answers: [Result<IssuedURL, GatewayError>]) {
        setRateLimit(Self.lowestBalances(of: answers))
    }

    private static func lowestBalances(of answers: [Result<IssuedURL, GatewayError>]) -> [QuotaBalance] {
        var lowest: [QuotaBalance] = []
        for case .success(let issued) in answers {
            for balance in issued.quotas {
                guard let known = lowest.firstIndex(where: { $0.quota.id == balance.quota.id }) else {
                    lowest.append(balance)
                    continue
                }
                if balance.remainder.remaining < lowest[known].remainder.remaining { lowest[known] = balance }
            }
        }
        return lowest
    }
}
