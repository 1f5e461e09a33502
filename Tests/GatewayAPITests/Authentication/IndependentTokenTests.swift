import GatewayCore
import JOSE
import Testing

@Suite struct IndependentTokenTests {
    @Test(arguments: IndependentTokens.tokens.keys.sorted())
    func tokensOfAnotherLibraryAreAccepted(algorithm: String) async throws {
        let fixture = IssuerFixture([
            IssuerFixture.issuer(keys: .inline(IndependentTokens.keySet), algorithms: [algorithm])
        ])
        let token = try #require(IndependentTokens.tokens[algorithm])
        #expect(try await fixture.caller(token).principal.rawValue == "user:alice")
        for (other, token) in IndependentTokens.tokens where other != algorithm {
            #expect(await fixture.refusal(token) != nil, "\(other)")
        }
    }

    @Test func issuersMayUseWhatCanBeVerified() {
        #expect(Issuer.asymmetricAlgorithms == Set(PublicKeyAlgorithm.allCases.map(\.rawValue)))
        let secret = VerificationKey(secret: Array(repeating: 7, count: 32))
        #expect(Issuer.secretAlgorithms == Set([secret].compactMap { $0?.algorithm }))
    }
}
