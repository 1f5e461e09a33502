import Testing

/// Runs the checker on histories written by hand: it accepts a history that keeps every promise, and rejects each one
/// that breaks a promise.
@Suite struct CheckerTests {
    private static let alice = "user:alice"

    /// A request at the given time that received the credential `name`.
    private func ask(
        _ name: String, at time: Double, key: String = "k", expiresAt: Int = 1_000_900, repeatKey: String? = nil
    ) -> Ask {
        let credential = Credential(name: .row(name), path: "/b/\(key)", expiresAt: expiresAt)
        return Ask(
            way: .oneByOne, principal: Self.alice, pass: .key("key"), bucket: "b", keys: [key], method: "GET",
            repeatKey: repeatKey, from: time, to: time + 0.1, reply: .items([.given(credential)]))
    }

    private func refused(_ status: Int, _ code: String, at time: Double) -> Ask {
        var ask = ask("none", at: time)
        ask.reply = .refused(Refusal(status: status, code: code, retryAfter: nil))
        return ask
    }

    private func row(_ id: String, key: String = "k", seq: Int = 5, committedAt: Int = 100) -> LedgerRow {
        LedgerRow(
            id: id, request: "request of \(id)", policySeq: seq, principal: Self.alice, grant: "grant",
            delivery: "presigned-url", method: "GET", bucket: "b", key: key, issuedAt: 1_000_000, expiresAt: 1_000_900,
            committedAt: committedAt, charges: [LedgerRow.Charge(quota: "quota", amount: 1)])
    }

    private func change(_ subject: Subject, _ value: Int, _ from: Double, _ to: Double) -> Change {
        Change(subject: subject, value: value, from: from, to: to)
    }

    /// Two links under one grant, which is revoked after them, and a quota of two.
    private var clean: History {
        var history = History()
        history.changes = [
            change(.grant(Self.alice), 1, -.infinity, -.infinity), change(.key("key"), 1, -.infinity, -.infinity),
            change(.limit("quota"), 2, -.infinity, -.infinity), change(.grant(Self.alice), 0, 3, 3.5),
        ]
        var full = refused(429, "QuotaExceeded", at: 2)
        full.keys = ["k3"]
        history.asks = [
            ask("1", at: 1, key: "k1"), ask("2", at: 1.5, key: "k2", repeatKey: "again"), full,
            ask("2", at: 2.5, key: "k2", repeatKey: "again"), refused(403, "AccessDenied", at: 4),
        ]
        history.ledger = [row("1", key: "k1"), row("2", key: "k2", committedAt: 200)]
        history.grants = [GrantRow(id: "grant", principal: Self.alice, createdSeq: 4, removedSeq: 6, removedAt: 300)]
        history.quotas = [
            QuotaRow(id: "quota", principal: Self.alice, metric: "urls", period: "total", isShared: false)
        ]
        history.counters = [CounterRow(quota: "quota", holder: Self.alice, period: 0, used: 2, settled: 0)]
        history.revivals = [Revival(gateway: 0, seconds: 1)]
        return history
    }

    private func expect(
        _ rule: Checker.Rule, _ text: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ spoil: (inout History) -> Void
    ) {
        var history = clean
        spoil(&history)
        let found = Checker(history).violations()
        #expect(
            found.contains { $0.rule == rule && $0.text.contains(text) }, "\(found)", sourceLocation: sourceLocation)
    }

    @Test func `a history that keeps every promise is acquitted`() {
        let found = Checker(clean).violations()
        #expect(found.isEmpty, "\(found)")
    }

    @Test func `a link without a row, with two, and with one of something else`() {
        expect(.recorded, "0 rows") { $0.ledger.removeLast() }
        expect(.recorded, "2 rows") { $0.ledger.append($0.ledger[0]) }
        expect(.recorded, "key other") { $0.ledger[0].key = "other" }
        expect(.recorded, "principal user:bob") { $0.ledger[0].principal = "user:bob" }
        expect(.recorded, "method PUT") { $0.ledger[0].method = "PUT" }
        expect(.recorded, "bucket c") { $0.ledger[0].bucket = "c" }
        expect(.recorded, "delivery sts") { $0.ledger[0].delivery = "sts" }
        expect(.recorded, "end 1000901") { $0.ledger[0].expiresAt += 1 }
    }

    @Test func `a link that was asked for after the revoke`() {
        expect(.permitted, "issued without") { $0.asks.append(ask("1", at: 3.6, key: "k1")) }
        // During the revoke, a request may take effect before or after it.
        var history = clean
        history.asks[0].from = 3.2
        history.asks[0].to = 3.6
        #expect(Checker(history).violations().isEmpty)
    }

    @Test func `a link on a key that was removed, and a redirect that the bucket does not give`() {
        expect(.permitted, "issued without") {
            $0.changes.append(change(.key("key"), 0, 0.1, 0.2))
        }
        expect(.permitted, "issued without") {
            $0.asks[0].way = .byRedirect
            $0.changes.append(change(.redirects("b"), 0, 0.1, 0.2))
        }
    }

    @Test func `a refusal that nothing explains`() {
        expect(.permitted, "for no reason") { $0.asks.append(refused(403, "AccessDenied", at: 1)) }
        expect(.permitted, "for no reason") { $0.asks.append(refused(401, "Unauthenticated", at: 4)) }
        expect(.counted, "every quota had room") {
            $0.changes[2].value = 20
            $0.asks[2].from = 1.9
        }
    }

    @Test func `a row that its grant does not reach`() {
        expect(.permitted, "went with 6") { $0.ledger[0].policySeq = 6 }
        expect(.permitted, "later than the revoke") { $0.ledger[0].committedAt = 301 }
        expect(.permitted, "older than its grant") { $0.ledger[0].policySeq = 3 }
        expect(.permitted, "never was") { $0.ledger[0].grant = "unknown" }
        expect(.permitted, "rests on a grant of user:bob") { $0.grants[0].principal = "user:bob" }
    }

    @Test func `more than a quota allows, then or ever`() {
        expect(.counted, "at the most") {
            $0.ledger.append(row("3", key: "k3"))
            $0.counters[0].used = 3
        }
        // The limit was one when the second link was requested.
        expect(.counted, "the sum was 2 and the limit 1") { $0.changes.append(change(.limit("quota"), 1, 1.1, 1.2)) }
        var history = clean
        history.changes.append(change(.limit("quota"), 1, 1.1, 1.6))
        #expect(Checker(history).violations().isEmpty)
    }

    @Test func `a row that is not charged, and a counter that is off`() {
        expect(.counted, "is charged") { $0.ledger[0].charges = [] }
        expect(.counted, "is charged") { $0.ledger[0].charges[0].amount = 2 }
        let use = LedgerRow.Charge(quota: "ticket", amount: 1)
        expect(.counted, "is charged") { $0.ledger[0].charges.append(use) }
        var history = clean
        history.ledger[0].charges.append(use)
        history.changes.append(change(.ticket("ticket"), 1, -.infinity, -.infinity))
        #expect(Checker(history).violations().isEmpty)
        expect(.counted, "counts 1") { $0.counters[0].used = 1 }
        expect(.counted, "counts 0") { $0.counters = [] }
        expect(.counted, "audit-quotas") { $0.audit = "a line" }
    }

    @Test func `a key with two effects, with two answers, and with none`() {
        expect(.once, "2 effects") {
            $0.ledger.append(row("3", key: "k2"))
            $0.changes[2].value = 3
            $0.counters[0].used = 3
        }
        expect(.once, "2 answers") { $0.asks[3] = ask("1", at: 2.5, key: "k2", repeatKey: "again") }
        expect(.once, "no final answer") {
            var open = ask("none", at: 1)
            open.repeatKey = "open"
            open.reply = .refused(Refusal(status: 409, code: "IdempotencyKeyInUse", retryAfter: 1))
            $0.asks.append(open)
        }
    }

    @Test func `no answer, a late one, and one of no documented form`() {
        expect(.answered, "although the gateway ran") { $0.asks[0].reply = .lost("closed") }
        expect(.answered, "of the gateway's time") { $0.asks[0].to = 30 }
        expect(.answered, "is no answer") { $0.asks[4] = refused(500, "InternalError", at: 4) }
        expect(.answered, "is no answer") { $0.asks[4] = refused(503, "ServiceUnavailable", at: 4) }
        expect(.answered, "ended by itself") {
            $0.incidents = [Incident(kind: .ended, gateway: 0, life: 0, from: 1, to: .infinity)]
        }
        var history = clean
        history.asks[0].reply = .lost("closed")
        history.incidents = [Incident(kind: .killed, gateway: 0, life: 0, from: 1, to: 2)]
        #expect(Checker(history).violations().isEmpty)
        history = clean
        history.asks[0].to = 19
        history.incidents = [Incident(kind: .stopped, gateway: 0, life: 0, from: 1, to: 4)]
        #expect(Checker(history).violations().isEmpty)
    }

    @Test func `an answer that cannot be repeated, although nobody changed the bucket`() {
        let gone = Reply.refused(Refusal(status: 409, code: "IdempotentAnswerGone", retryAfter: nil))
        expect(.answered, "is no answer") { $0.asks[3].reply = gone }
        expect(.answered, "is no answer") {
            $0.asks[3].reply = gone
            $0.changes.append(change(.redirects("b"), 0, 1.2, 1.4))
        }
        var history = clean
        history.asks[3].reply = gone
        history.changes.append(change(.redirects("b"), 0, 1.6, 1.7))
        #expect(Checker(history).violations().isEmpty)
    }

    @Test func `a gateway that does not serve again, or late`() {
        expect(.revived, "does not serve") { $0.revivals[0].seconds = nil }
        expect(.revived, "to serve again") { $0.revivals[0].seconds = 60 }
    }
}
