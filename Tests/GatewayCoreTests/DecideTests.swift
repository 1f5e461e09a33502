import Foundation
import GatewayCore
import Signing
import Testing

@Suite struct DecideTests {
    @Test func `nothing is permitted without a grant, nor in a bucket that is not there`() throws {
        #expect(try Fixture.decided(Fixture.get(), under: Fixture.policy()).error == .accessDenied)
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], bucket: .some(nil))
        #expect(try Fixture.decided(Fixture.get(), under: policy).error == .accessDenied)
    }

    @Test func `a grant permits its actions in its bucket below its prefix`() throws {
        let policy = try Fixture.policy(grants: [Fixture.grant(1, actions: [.getObject])])
        #expect(try Fixture.decided(Fixture.get(), under: policy).permit.grant.id == Fixture.id(1))
        #expect(try Fixture.decided(Fixture.put(), under: policy).error == .accessDenied)
        #expect(try Fixture.decided(Fixture.get("teams/x"), under: policy).error == .accessDenied)
        #expect(try Fixture.decided(Fixture.get(bucket: "other-bucket"), under: policy).error == .accessDenied)
    }

    @Test(arguments: ["user:alice", "group:staff", "*"])
    func `any matching deny refuses, however specific the allow`(principal: String) throws {
        let policy = try Fixture.policy(grants: [
            Fixture.grant(1, on: "team/photo.png"), Fixture.grant(2, to: principal, on: "", effect: .deny),
        ])
        #expect(try Fixture.decided(Fixture.get(), under: policy).error == .accessDenied)
    }

    @Test func `a deny refuses during its validity and in the last second before it, the last instant excluded`() throws
    {
        func error(_ start: TimeInterval, _ end: TimeInterval) throws -> GatewayError? {
            let deny = try Fixture.grant(
                2, effect: .deny, from: Fixture.now.addingTimeInterval(start),
                until: Fixture.now.addingTimeInterval(end)
            )
            return try Fixture.decided(Fixture.get(), under: Fixture.policy(grants: [Fixture.grant(1), deny])).error
        }
        #expect(try error(0, 10) == .accessDenied)
        #expect(try error(-10, 0.001) == .accessDenied)
        #expect(try error(-10, 0) == nil)
        #expect(try error(0.999, 10) == .accessDenied)
        #expect(try error(1, 10) == nil)
    }

    @Test func `the grant that covers most of the key decides, then the narrower one`() throws {
        func winner(_ grants: Grant...) throws -> Int {
            let policy = try Fixture.policy(grants: grants)
            let key = "users/alice/x"
            let grant = try Fixture.decided(Fixture.get(key), under: policy).permit.grant
            return try #require((1...9).first { Fixture.id($0) == grant.id })
        }
        #expect(try winner(Fixture.grant(1, on: ""), Fixture.grant(2, to: "*", on: "users/")) == 2)
        #expect(try winner(Fixture.grant(1, on: "users/${sub}/"), Fixture.grant(2, to: "*", on: "users/alice/")) == 2)
        #expect(try winner(Fixture.grant(1, to: "*", on: "users/${sub}/"), Fixture.grant(2, on: "users/")) == 1)
        #expect(
            try winner(Fixture.grant(1, to: "*", on: "users/"), Fixture.grant(2, to: "group:staff", on: "users/")) == 2)
        #expect(try winner(Fixture.grant(1, to: "group:staff", on: "users/"), Fixture.grant(2, on: "users/")) == 2)
        #expect(try winner(Fixture.grant(3, on: "users/"), Fixture.grant(2, on: "users/")) == 2)
        #expect(try winner(Fixture.grant(1, on: "users/alice/"), Fixture.grant(2, on: "users/alice/x")) == 2)
    }

    @Test func `a less specific grant steps in where the conditions of the specific one fail`() throws {
        let policy = try Fixture.policy(grants: [
            Fixture.grant(1, on: "team/", conditions: GrantConditions(contentTypes: ["image/*"])),
            Fixture.grant(2, on: ""),
        ])
        #expect(try Fixture.decided(Fixture.put(type: "image/png"), under: policy).permit.grant.id == Fixture.id(1))
        #expect(try Fixture.decided(Fixture.put(type: "text/plain"), under: policy).permit.grant.id == Fixture.id(2))
    }

    @Test func `a refusal names what the most specific grant misses first`() throws {
        let policy = try Fixture.policy(grants: [
            Fixture.grant(1, on: "", conditions: GrantConditions(requireContentMD5: true)),
            Fixture.grant(2, on: "team/", conditions: GrantConditions(contentTypes: ["image/*"], maxBytes: 1)),
        ])
        #expect(
            try Fixture.decided(Fixture.put(type: "text/plain"), under: policy).error
                == .conditionFailed(.contentType(allowed: ["image/*"]))
        )
        #expect(
            try Fixture.decided(Fixture.put(type: "Image/SVG+xml; a=b"), under: policy).error
                == .conditionFailed(.scriptableContentType("image/svg+xml", pattern: "image/*"))
        )
        #expect(try Fixture.decided(Fixture.put(), under: policy).error == .conditionFailed(.contentLengthRequired))
    }

    @Test(
        arguments: [
            (GrantConditions(maxBytes: 100), 99 as Int64?, nil), (GrantConditions(maxBytes: 100), 100, nil),
            (GrantConditions(maxBytes: 100), 101, .entityTooLarge(maxBytes: 100)),
            (GrantConditions(maxBytes: 100), nil, .conditionFailed(.contentLengthRequired)),
            (GrantConditions(maxBytes: 0), 0, nil), (GrantConditions(maxBytes: 0), 1, .entityTooLarge(maxBytes: 0)),
            (GrantConditions(requireContentMD5: true), 1, .conditionFailed(.contentMD5Required)),
            (GrantConditions(requireContentMD5: false), 1, nil),
        ] as [(GrantConditions, Int64?, GatewayError?)])
    func `conditions of uploads hold up to their limit`(
        conditions: GrantConditions, length: Int64?, error: GatewayError?
    ) throws {
        let policy = try Fixture.policy(grants: [Fixture.grant(1, conditions: conditions)])
        #expect(try Fixture.decided(Fixture.put(length: length), under: policy).error == error)
        #expect(try Fixture.decided(Fixture.get(), under: policy).error == nil)
    }

    @Test func `an MD5 satisfies the grant that wants one`() throws {
        let policy = try Fixture.policy(grants: [
            Fixture.grant(1, conditions: GrantConditions(requireContentMD5: true))
        ])
        let request = try Fixture.put { $0.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAA==" }
        #expect(try Fixture.decided(request, under: policy).error == nil)
    }

    @Test func `a network condition fails for strangers and for an address that is not known`() throws {
        let policy = try Fixture.policy(grants: [
            Fixture.grant(1, conditions: GrantConditions(sourceCIDRs: ["192.0.2.0/24", "2001:db8::/32"]))
        ])
        #expect(try Fixture.decided(Fixture.get(), under: policy, from: "192.0.2.255").error == nil)
        #expect(try Fixture.decided(Fixture.get(), under: policy, from: "2001:db8::1").error == nil)
        let refusal = GatewayError.conditionFailed(.sourceAddress)
        #expect(try Fixture.decided(Fixture.get(), under: policy, from: "192.0.3.0").error == refusal)
        #expect(try Fixture.decided(Fixture.get(), under: policy, from: nil).error == refusal)
    }

    @Test func `an allow holds from its first instant to the last whole second of its validity`() throws {
        func error(_ start: TimeInterval?, _ end: TimeInterval?) throws -> GatewayError? {
            let grant = try Fixture.grant(
                1, from: start.map(Fixture.now.addingTimeInterval), until: end.map(Fixture.now.addingTimeInterval)
            )
            return try Fixture.decided(Fixture.get(), under: Fixture.policy(grants: [grant])).error
        }
        let refusal = GatewayError.conditionFailed(.noLongerValid)
        #expect(try error(0, nil) == nil)
        #expect(try error(0.001, nil) == .conditionFailed(.notYetValid))
        #expect(try error(nil, 1) == nil)
        #expect(try error(nil, 0.999) == refusal)
        #expect(try error(nil, 0) == refusal)
    }

    @Test func `a response's type is overridden only where the grant says so`() throws {
        let request = try Fixture.get { $0.response = overrides { $0.contentType = "text/html" } }
        for allowed in [nil, false, true] as [Bool?] {
            let policy = try Fixture.policy(grants: [
                Fixture.grant(1, conditions: GrantConditions(allowResponseContentType: allowed))
            ])
            let error = try Fixture.decided(request, under: policy).error
            #expect(error == (allowed == true ? nil : .conditionFailed(.responseContentType)))
        }
    }

    @Test func `a forced download is an attachment under whatever name`() throws {
        let policy = try Fixture.policy(grants: [Fixture.grant(1, conditions: GrantConditions(forceDownload: true))])
        func disposition(_ asked: String?) throws -> String? {
            let request = try Fixture.get { $0.response = overrides { $0.contentDisposition = asked } }
            return try Fixture.decided(request, under: policy).permit.query.first?.value
        }
        #expect(try disposition(nil) == "attachment")
        #expect(try disposition("Attachment; filename=\"x\"") == "Attachment; filename=\"x\"")
        #expect(throws: UnexpectedDecision.self) { try disposition("inline; filename=\"attachment\"") }
    }
}
