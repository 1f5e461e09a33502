import GatewayCore
import Testing

/// Redirects are decided like any URL, and issued only where the bucket allows them.
@Suite struct RedirectTests {
    private func decided(_ key: String, allowed: Bool) throws -> Verdict<Permit> {
        var fields = IssueRequest.Fields()
        fields.action = "GetObject"
        fields.bucket = "demo-bucket"
        fields.key = key
        var bucket = try Fixture.bucket()
        bucket.allowsRedirects = allowed
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: bucket)
        return try Fixture.decided(IssueRequest(fields, delivery: .redirect), under: policy)
    }

    @Test func `a bucket has to allow them`() throws {
        #expect(try decided("team/a", allowed: true).permit.expiresIn == 900)
        #expect(try decided("team/a", allowed: false).error == .conditionFailed(.redirect))
    }

    @Test func `without a grant it is not told whether a bucket does`() throws {
        #expect(try decided("elsewhere", allowed: true).error == .accessDenied)
        #expect(try decided("elsewhere", allowed: false).error == .accessDenied)
    }
}
