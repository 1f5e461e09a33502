import Foundation
import GatewayCore
import JOSE
import Testing

private let notAccepted = GatewayError.unauthenticated(reason: "The token is not accepted.")
private let issuerIsDown = GatewayError.unavailable(retryAfter: 5)

@Suite struct KeySetTests {
    private let fixture = IssuerFixture([IssuerFixture.issuer()])

    @Test func aKeySetIsFetchedOnce() async throws {
        let signer = TokenSigner()
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        for user in ["alice", "bob", "carol", "alice"] {
            let token = signer.token(IssuerFixture.claims(["sub": "\"\(user)\""]))
            #expect(try await fixture.caller(token).principal.rawValue == "user:\(user)")
        }
        #expect(fixture.fetcher.calls == 1)
    }

    @Test func anUnknownKeyIsLookedForOnceAMinute() async throws {
        let (old, new) = (TokenSigner(), TokenSigner(keyID: "k2"))
        fixture.fetcher.serve(TokenSigner.set(old.jwk()))
        #expect(await fixture.refusal(old.token()) == nil)
        fixture.fetcher.serve(TokenSigner.set(old.jwk(), new.jwk()))
        fixture.clock.value += 59.9
        for _ in 0..<3 { #expect(await fixture.refusal(new.token()) == notAccepted) }
        #expect(fixture.fetcher.calls == 1)
        fixture.clock.value += 0.1
        #expect(await fixture.refusal(new.token()) == nil)
        #expect(fixture.fetcher.calls == 2)
        for id in 0..<20 {
            #expect(await fixture.refusal(TokenSigner(keyID: "x\(id)").token()) == notAccepted)
        }
        #expect(fixture.fetcher.calls == 2)
        #expect(await fixture.refusal(old.token()) == nil)
    }

    /// The gateway does not know whether a key is the issuer's when the set could not be fetched.
    @Test(arguments: [nil, "{}"])
    func `after a fetch that failed, a token with a new key may come again soon`(document: String?) async throws {
        let (old, new) = (TokenSigner(), TokenSigner(keyID: "k2"))
        fixture.fetcher.serve(TokenSigner.set(old.jwk()))
        #expect(await fixture.refusal(old.token()) == nil)
        fixture.clock.value += 61
        fixture.fetcher.serve(document)
        for _ in 0..<3 {
            #expect(await fixture.refusal(new.token()) == issuerIsDown)
            #expect(await fixture.refusal(old.token()) == nil)
        }
        #expect(fixture.fetcher.calls == 2)
        fixture.fetcher.serve(TokenSigner.set(old.jwk(), new.jwk()))
        fixture.clock.value += 4.9
        #expect(await fixture.refusal(new.token()) == issuerIsDown)
        fixture.clock.value += 0.2
        #expect(await fixture.refusal(new.token()) == nil)
        #expect(await fixture.refusal(TokenSigner(keyID: "k3").token()) == notAccepted)
        #expect(fixture.fetcher.calls == 3)
    }

    /// A fetch that does not end by itself.
    private struct HeldFetch {
        let begun: AsyncStream<Void>
        let ending: AsyncStream<Void>.Continuation

        func hasBegun() async { for await _ in begun {} }

        func end() { ending.finish() }
    }

    /// Holds the next fetches of keys until they are told to end.
    private func holdFetch() -> HeldFetch {
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let (ended, ending) = AsyncStream.makeStream(of: Void.self)
        fixture.fetcher.hold {
            beginning.finish()
            for await _ in ended {}
        }
        return HeldFetch(begun: begun, ending: ending)
    }

    @Test func `a caller who hangs up makes no further fetch due`() async throws {
        let (old, new) = (TokenSigner(), TokenSigner(keyID: "k2").token())
        fixture.fetcher.serve(TokenSigner.set(old.jwk()))
        #expect(await fixture.refusal(old.token()) == nil)
        fixture.clock.value += 61
        fixture.fetcher.serve(nil)
        let fetch = holdFetch()
        let fixture = fixture
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { _ = await fixture.refusal(new) }
            await fetch.hasBegun()
            tasks.cancelAll()
        }
        fetch.end()
        #expect(await fixture.refusal(new) == issuerIsDown)
        #expect(fixture.fetcher.calls == 2)
    }

    @Test func aWrongSignatureUnderAKnownKeyFetchesNothing() async throws {
        fixture.fetcher.serve(TokenSigner.set(TokenSigner().jwk()))
        for _ in 0..<3 {
            #expect(await fixture.refusal(TokenSigner().token()) == notAccepted)
            fixture.clock.value += 100
        }
        #expect(fixture.fetcher.calls == 1)
    }

    @Test func anOldKeySetIsFetchedAgainAndAKeyThatLeftItEnds() async throws {
        let (old, new) = (TokenSigner(), TokenSigner(keyID: "k2"))
        fixture.fetcher.serve(TokenSigner.set(old.jwk()))
        #expect(await fixture.refusal(old.token()) == nil)
        let known = old.token()
        #expect(await fixture.refusal(known) == nil)
        fixture.fetcher.serve(TokenSigner.set(new.jwk()))
        fixture.clock.value += 539.9
        #expect(await fixture.refusal(known) == nil)
        #expect(fixture.fetcher.calls == 1)
        fixture.clock.value += 0.1
        #expect(await fixture.refusal(known) == notAccepted)
        #expect(await fixture.refusal(new.token()) == nil)
        #expect(fixture.fetcher.calls == 2)
    }

    @Test(arguments: [nil, "", "{", "[]", "{}", #"{"keys":7}"#, #"{"keys":[],"keys":[]}"#])
    func keysAreKeptWhileTheIssuerIsDownOrTalksNonsense(document: String?) async throws {
        let signer = TokenSigner()
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        #expect(await fixture.refusal(signer.token()) == nil)
        fixture.fetcher.serve(document)
        let token = signer.token(IssuerFixture.claims(["exp": "\(Int(IssuerFixture.start) + 1_000_000)"]))
        for _ in 0..<10 {
            fixture.clock.value += 3600
            #expect(await fixture.refusal(token) == nil)
            #expect(await fixture.refusal(token) == nil)
        }
        #expect(fixture.fetcher.calls == 11)
    }

    @Test func anIssuerThatNeverAnsweredIsAskedEveryFewSeconds() async throws {
        let signer = TokenSigner()
        for _ in 0..<3 { #expect(await fixture.refusal(signer.token()) == issuerIsDown) }
        #expect(fixture.fetcher.calls == 1)
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        fixture.clock.value += 4.9
        #expect(await fixture.refusal(signer.token()) == issuerIsDown)
        fixture.clock.value += 0.1
        #expect(await fixture.refusal(signer.token()) == nil)
        #expect(fixture.fetcher.calls == 2)
    }

    @Test func aClockThatWasSetBackDoesNotStopFetches() async throws {
        let signer = TokenSigner()
        #expect(await fixture.refusal(signer.token()) == issuerIsDown)
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        fixture.clock.value -= 3600
        #expect(await fixture.refusal(signer.token()) == nil)
    }

    @Test func manyCallersShareOneFetch() async throws {
        let signer = TokenSigner()
        let token = signer.token()
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        let fetch = holdFetch()
        let fixture = fixture
        let refusals = await withTaskGroup(of: GatewayError?.self) { tasks in
            for _ in 0..<50 { tasks.addTask { await fixture.refusal(token) } }
            await fetch.hasBegun()
            fetch.end()
            return await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(refusals == Array(repeating: nil, count: 50))
        #expect(fixture.fetcher.calls == 1)
    }

    @Test func `while a key set of less than ten minutes is fetched again, others go on`() async throws {
        let signer = TokenSigner()
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        let token = signer.token()
        #expect(await fixture.refusal(token) == nil)
        fixture.clock.value += 599.9
        let fetch = holdFetch()
        async let first = fixture.refusal(token)
        await fetch.hasBegun()
        for _ in 0..<3 { #expect(await fixture.refusal(token) == nil) }
        fetch.end()
        #expect(await first == nil)
        #expect(fixture.fetcher.calls == 2)
    }

    /// Whether the issuer gave no answer ten minutes after it gave the set, and the seconds in which nobody came then.
    @Test(arguments: [(false, 600.0), (false, 3600.0), (true, 3600.0)])
    func `a withdrawn key is accepted by nobody while an older set is fetched again`(failed: Bool, silence: Double)
        async throws
    {
        let (old, new) = (TokenSigner(), TokenSigner(keyID: "k2"))
        fixture.fetcher.serve(TokenSigner.set(old.jwk()))
        let token = old.token(IssuerFixture.claims(["exp": "\(Int(IssuerFixture.start) + 1_000_000)"]))
        #expect(await fixture.refusal(token) == nil)
        if failed {
            fixture.fetcher.serve(nil)
            fixture.clock.value += 600
            #expect(await fixture.refusal(token) == nil)
        }
        let calls = fixture.fetcher.calls
        fixture.fetcher.serve(TokenSigner.set(new.jwk()))
        fixture.clock.value += silence
        let fetch = holdFetch()
        let fixture = fixture
        let refusals = await withTaskGroup(of: GatewayError?.self) { tasks in
            tasks.addTask { await fixture.refusal(token) }
            await fetch.hasBegun()
            for _ in 0..<20 { tasks.addTask { await fixture.refusal(token) } }
            for _ in 0..<1_000 { await Task.yield() }
            fetch.end()
            return await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(refusals == Array(repeating: notAccepted, count: 21))
        #expect(fixture.fetcher.calls == calls + 1)
    }

    @Test func `an issuer that does not answer holds nobody else up`() async throws {
        let signer = TokenSigner()
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        let token = signer.token(IssuerFixture.claims(["exp": "\(Int(IssuerFixture.start) + 1_000_000)"]))
        #expect(await fixture.refusal(token) == nil)
        fixture.fetcher.serve(nil)
        fixture.clock.value += 600
        #expect(await fixture.refusal(token) == nil)
        fixture.clock.value += 60
        let fetch = holdFetch()
        async let first = fixture.refusal(token)
        await fetch.hasBegun()
        for _ in 0..<3 { #expect(await fixture.refusal(token) == nil) }
        fetch.end()
        #expect(await first == nil)
        #expect(fixture.fetcher.calls == 3)
    }

    @Test func withoutAKeyIDThereMustBeNoChoice() async throws {
        let (one, two) = (TokenSigner(keyID: "k1"), TokenSigner(keyID: "k2"))
        let token = one.token(header: #"{"alg":"ES256"}"#)
        let alone = IssuerFixture([IssuerFixture.issuer(keys: .inline(TokenSigner.set(one.jwk())))])
        #expect(await alone.refusal(token) == nil)
        let both = IssuerFixture([IssuerFixture.issuer(keys: .inline(TokenSigner.set(one.jwk(), two.jwk())))])
        #expect(await both.refusal(token) == notAccepted)
        #expect(await both.refusal(two.token()) == nil)
    }

    @Test func aSetWithTooManyKeysIsNotTaken() async throws {
        let signer = TokenSigner()
        let others = Array(repeating: #"{"kty":"oct"}"#, count: KeySet.maxKeys)
        fixture.fetcher.serve(#"{"keys":["# + ([signer.jwk()] + others).joined(separator: ",") + "]}")
        #expect(await fixture.refusal(signer.token()) == issuerIsDown)
        fixture.clock.value += 10
        fixture.fetcher.serve(#"{"keys":["# + ([signer.jwk()] + others.dropLast()).joined(separator: ",") + "]}")
        #expect(await fixture.refusal(signer.token()) == nil)
    }
}
