import Bytes
import FoundationEssentials
import GatewayCore

/// The `RateLimit` fields of draft-ietf-httpapi-ratelimit-headers. They are structured fields, with one item for each
/// quota, named by its id, or one item for the request rate.
enum RateLimit {
    /// The name of a limit.
    enum Name {
        case text(String)
        /// The identifier of a quota.
        case id(UUID)

        var byteCount: Int {
            switch self {
            case .text(let text): text.utf8.count
            case .id: UUID.textByteCount
            }
        }

        func append(to output: inout OutputSpan<UInt8>) {
            switch self {
            case .text(let text): output.append(copying: text)
            case .id(let id): id.appendLowercaseText(to: &output)
            }
        }
    }

    /// One limit and the amount left of it.
    struct Item {
        let name: Name
        /// The unit that is counted, in the words of the draft.
        let unit: String
        /// Length of the limit's period in seconds; `nil` where it varies.
        let window: Int64?
        let limit: Int64
        let remaining: Int64
        let resetsIn: Int?
    }

    /// The largest integer in a structured field (RFC 9651, section 3.3.1).
    private static let largest: Int64 = 999_999_999_999_999

    /// Formats each item as `"<name>";r=<left>;t=<seconds>`.
    static func remaining(_ items: [Item]) -> String {
        list(items) { item, output in
            output.append(copying: ";r=")
            output.append(decimal: bounded(item.remaining))
            if let seconds = item.resetsIn {
                output.append(copying: ";t=")
                output.append(decimal: Int64(seconds))
            }
        }
    }

    /// Formats each item as `"<name>";q=<limit>;w=<seconds>;qu="<unit>"`. Months and totals have no window of fixed
    /// length.
    static func policy(_ items: [Item]) -> String {
        list(items) { item, output in
            output.append(copying: ";q=")
            output.append(decimal: bounded(item.limit))
            if let seconds = item.window {
                output.append(copying: ";w=")
                output.append(decimal: seconds)
            }
            output.append(copying: ";qu=\"")
            output.append(copying: item.unit)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Most bytes that the parameters of an item take, including quotes and separators.
    private static let itemRoom = 96

    private static func list(_ items: [Item], _ parameters: (Item, inout OutputSpan<UInt8>) -> Void) -> String {
        let room = items.reduce(0) { $0 + $1.name.byteCount + itemRoom }
        return String(room: room) { output in
            for index in items.indices {
                if index > 0 { output.append(copying: ", ") }
                output.append(UInt8(ascii: "\""))
                items[index].name.append(to: &output)
                output.append(UInt8(ascii: "\""))
                parameters(items[index], &output)
            }
        }
    }

    fileprivate static func seconds(of period: Quota.Period) -> Int64? {
        switch period {
        case .minute: 60
        case .hour: 3600
        case .day: 86_400
        case .month, .total: nil
        }
    }

    fileprivate static func unit(of metric: Quota.Metric) -> String {
        switch metric {
        case .urls: "requests"
        case .bytes: "content-bytes"
        }
    }

    private static func bounded(_ value: Int64) -> Int64 {
        min(max(value, 0), largest)
    }
}

extension RateLimit.Item {
    /// Describes a quota that admitted a request.
    init(_ balance: QuotaBalance) {
        self.init(
            name: .id(balance.quota.id), unit: RateLimit.unit(of: balance.quota.metric),
            window: RateLimit.seconds(of: balance.quota.period), limit: balance.quota.limit,
            remaining: balance.remainder.remaining, resetsIn: balance.remainder.resetsIn
        )
    }

    /// Describes a quota that refused a request.
    init(_ refusal: QuotaRefusal) {
        self.init(
            name: .text(refusal.quotaID), unit: RateLimit.unit(of: refusal.metric),
            window: RateLimit.seconds(of: refusal.period), limit: refusal.limit, remaining: refusal.remaining,
            resetsIn: refusal.resetsIn
        )
    }

    /// Describes the request rate at which a principal was refused.
    init(_ refusal: RateRefusal) {
        self.init(
            name: .text(refusal.name), unit: "requests", window: Int64(refusal.window), limit: Int64(refusal.burst),
            remaining: Int64(refusal.remaining), resetsIn: refusal.retryAfter
        )
    }
}
