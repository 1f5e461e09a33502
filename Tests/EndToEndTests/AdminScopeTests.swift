import Bytes
import ContractTesting
import Foundation
import TestSupport
import Testing

/// Admins whose roles are limited to scopes, at the running program, on every admin operation of the contract.
@Suite struct AdminScopeTests {
    /// What the limited callers of these tests reach.
    private static let scopes: JSON = [
        ["bucket": "photos", "prefix": "team-a/", "principals": ["user:team-a.*", "group:team-a"]]
    ]
    /// A text that all rows outside have, and no row inside.
    private static let mark = "zz9"

    /// One call of an operation.
    private struct Call: Sendable {
        var target: String
        var body: JSON?
        var headers: [(name: String, value: String)] = []
    }

    /// What is expected of an operation.
    private enum Rule: Sendable {
        /// It is not for delegated admins.
        case closed
        /// Delegated admins may call it. Calls `inside` succeed; calls `outside` have the given status, where 200 means
        /// that nothing outside shows. Without limits, all of them succeed. An inside answer shows the scope's prefix,
        /// unless it is among the few that hold none.
        case open(
            inside: [Inside], outside: [Outside] = [], showsPlace: Bool = true)
    }

    /// Makes a call of something inside, with rows of its own.
    private struct Inside: Sendable {
        let make: @Sendable (World) async throws -> Call

        init(_ make: @escaping @Sendable (World) async throws -> Call) { self.make = make }
    }

    /// Makes a call of something outside, with rows of its own.
    private struct Outside: Sendable {
        let status: Int
        let make: @Sendable (World) async throws -> Call

        init(_ status: Int, _ make: @escaping @Sendable (World) async throws -> Call) {
            self.status = status
            self.make = make
        }
    }

    /// Rows inside and outside, and callers.
    private struct World: Sendable {
        let site: Deployment
        let insideIssuance: String
        let outsideIssuance: String
        let insideQuota: String
        let outsideQuota: String
        let ids: [String: String]

        /// Makes a grant that no other says the same as.
        func grant(inside: Bool) async throws -> String {
            let place = UUID().uuidString.lowercased()
            return try await site.grant(
                ["GetObject"], to: inside ? "user:team-a.bob" : "user:\(mark)", in: "photos",
                prefix: (inside ? "team-a/" : "\(mark)/") + place + "/")
        }

        /// A grant that does not exist yet, as a body.
        static func newGrant(_ changes: [String: JSON] = [:]) -> JSON {
            let grant: JSON = [
                "principal": "user:team-a.bob", "bucket": "photos", "prefix": "team-a/\(UUID().uuidString)/",
                "actions": ["GetObject"], "conditions": ["maxTTL": .number(.random(in: 60...600_000))],
            ]
            return grant.with(changes)
        }
    }

    /// Bodies of grants that lie outside, each for one reason.
    private static func outsideGrants() -> [JSON] {
        let fresh = UUID().uuidString
        return [
            World.newGrant(["bucket": "\(mark)-videos"]), World.newGrant(["prefix": "\(mark)/\(fresh)/"]),
            World.newGrant(["prefix": "team-a"]), World.newGrant(["prefix": "team-ab/\(fresh)/"]),
            World.newGrant(["prefix": ""]),
            World.newGrant(["principal": "*"]), World.newGrant(["principal": "user:\(mark)"]),
            World.newGrant(["principal": "group:team-ab"]), World.newGrant(["principal": "user:team-a"]),
            World.newGrant(["prefix": .null, "template": "\(mark)/${sub}/\(fresh)/"]),
            World.newGrant(["prefix": "\(mark)/\(fresh)/", "effect": "deny", "conditions": .null]),
        ]
    }

    private static let anyState = [(name: "If-Match", value: "*")]

    /// The expectations, by operation.
    private static let rules: [String: Rule] = [
        "GET /admin/v1/caller": .open(inside: [Inside { _ in Call(target: "/admin/v1/caller") }]),
        "POST /admin/v1/buckets": .closed,
        "GET /admin/v1/buckets": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/buckets") }], showsPlace: false),
        "GET /admin/v1/buckets/{bucket}": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/buckets/photos") }],
            outside: [Outside(404) { _ in Call(target: "/admin/v1/buckets/\(mark)-videos") }], showsPlace: false),
        "PUT /admin/v1/buckets/{bucket}": .closed,
        "PATCH /admin/v1/buckets/{bucket}": .closed,
        "DELETE /admin/v1/buckets/{bucket}": .closed,
        "POST /admin/v1/buckets/{bucket}:validate": .closed,
        "POST /admin/v1/buckets/{bucket}/event-secret": .closed,
        "GET /admin/v1/buckets/{bucket}/event-secret": .closed,
        "DELETE /admin/v1/buckets/{bucket}/event-secret": .closed,
        "POST /admin/v1/storage-credentials": .closed,
        "GET /admin/v1/storage-credentials": .closed,
        "GET /admin/v1/storage-credentials/{id}": .closed,
        "PUT /admin/v1/storage-credentials/{id}": .closed,
        "PATCH /admin/v1/storage-credentials/{id}": .closed,
        "DELETE /admin/v1/storage-credentials/{id}": .closed,
        "GET /admin/v1/storage-credentials/{id}/dependents": .closed,
        "GET /admin/v1/storage-credentials/{id}/blast-radius": .closed,
        "POST /admin/v1/grants": .open(
            inside: [
                Inside { _ in Call(target: "/admin/v1/grants", body: World.newGrant()) },
                Inside { _ in Call(target: "/admin/v1/grants", body: World.newGrant(["principal": "group:team-a"])) },
                Inside { _ in
                    Call(target: "/admin/v1/grants", body: World.newGrant(["effect": "deny", "conditions": .null]))
                },
                Inside { _ in
                    let template: JSON = "team-a/${sub}/\(UUID().uuidString)/"
                    return Call(
                        target: "/admin/v1/grants", body: World.newGrant(["prefix": .null, "template": template]))
                },
                Inside { _ in
                    Call(
                        target: "/admin/v1/grants?ifExists=return",
                        body: [
                            "principal": "user:team-a.bob", "bucket": "photos", "prefix": "team-a/",
                            "actions": ["PutObject", "GetObject"],
                        ])
                },
            ],
            outside: (0..<11).map { index in
                Outside(403) { _ in Call(target: "/admin/v1/grants", body: outsideGrants()[index]) }
            } + [
                // A row outside that says the same must not show.
                Outside(403) { _ in
                    Call(
                        target: "/admin/v1/grants?ifExists=return",
                        body: [
                            "principal": "user:\(mark)", "bucket": "photos", "prefix": "team-a/",
                            "actions": ["PutObject", "GetObject"],
                        ])
                }
            ]),
        "GET /admin/v1/grants": .open(
            inside: [
                Inside { _ in Call(target: "/admin/v1/grants") },
                Inside { _ in Call(target: "/admin/v1/grants?bucket=photos&covers=team-a/x") },
                Inside { _ in Call(target: "/admin/v1/grants?principal=user:team-a.bob&pageSize=1") },
            ],
            outside: [
                Outside(200) { _ in Call(target: "/admin/v1/grants?bucket=\(mark)-videos") },
                Outside(200) { _ in Call(target: "/admin/v1/grants?principal=user:\(mark)&pageSize=1") },
                Outside(200) { _ in Call(target: "/admin/v1/grants?bucket=photos&covers=\(mark)/x") },
            ]),
        "POST /admin/v1/grants:apply": .open(
            inside: [
                Inside { world in
                    let (changed, gone) = (try await world.grant(inside: true), try await world.grant(inside: true))
                    return Call(
                        target: "/admin/v1/grants:apply",
                        body: [
                            "writes": [World.newGrant(), World.newGrant(["id": "\(changed)"])],
                            "deletes": [["id": "\(gone)"]],
                        ])
                }
            ],
            outside: [
                Outside(403) { _ in
                    Call(
                        target: "/admin/v1/grants:apply",
                        body: ["writes": [World.newGrant(), World.newGrant(["prefix": "\(mark)/\(UUID())/"])]])
                },
                Outside(404) { world in
                    let id = try await world.grant(inside: false)
                    return Call(target: "/admin/v1/grants:apply", body: ["writes": [World.newGrant(["id": "\(id)"])]])
                },
                Outside(404) { world in
                    let (inside, outside) = (try await world.grant(inside: true), try await world.grant(inside: false))
                    return Call(
                        target: "/admin/v1/grants:apply",
                        body: ["deletes": [["id": "\(inside)"], ["id": "\(outside)"]]])
                },
                Outside(404) { world in
                    let id = try await world.grant(inside: false)
                    return Call(
                        target: "/admin/v1/grants:apply", body: ["deletes": [["id": "\(id)"]], "dryRun": true])
                },
            ], showsPlace: false),
        "GET /admin/v1/grants:export": .open(
            inside: [
                Inside { _ in Call(target: "/admin/v1/grants:export") },
                Inside { _ in Call(target: "/admin/v1/grants:export?format=csv") },
            ], outside: [Outside(200) { _ in Call(target: "/admin/v1/grants:export?bucket=\(mark)-videos") }]),
        "POST /admin/v1/grants:import": .closed,
        "GET /admin/v1/grants/{id}": .open(
            inside: [Inside { world in Call(target: "/admin/v1/grants/\(try await world.grant(inside: true))") }],
            outside: [
                Outside(404) { world in Call(target: "/admin/v1/grants/\(try await world.grant(inside: false))") }
            ]),
        "PUT /admin/v1/grants/{id}": .open(
            inside: [
                Inside { world in
                    Call(
                        target: "/admin/v1/grants/\(try await world.grant(inside: true))", body: World.newGrant(),
                        headers: anyState)
                }
            ],
            outside: (0..<11).map { index in
                Outside(403) { world in
                    Call(
                        target: "/admin/v1/grants/\(try await world.grant(inside: true))", body: outsideGrants()[index],
                        headers: anyState)
                }
            } + [
                Outside(404) { world in
                    Call(
                        target: "/admin/v1/grants/\(try await world.grant(inside: false))", body: World.newGrant(),
                        headers: anyState)
                }
            ]),
        "PATCH /admin/v1/grants/{id}": .open(
            inside: [
                Inside { world in
                    Call(
                        target: "/admin/v1/grants/\(try await world.grant(inside: true))", body: ["note": "changed"],
                        headers: anyState)
                }
            ],
            outside: [
                Outside(403) { world in
                    Call(
                        target: "/admin/v1/grants/\(try await world.grant(inside: true))",
                        body: ["principal": "user:\(mark)"], headers: anyState)
                },
                Outside(403) { world in
                    Call(
                        target: "/admin/v1/grants/\(try await world.grant(inside: true))",
                        body: ["prefix": "\(mark)/\(UUID())/"], headers: anyState)
                },
                Outside(404) { world in
                    Call(
                        target: "/admin/v1/grants/\(try await world.grant(inside: false))", body: ["note": "changed"],
                        headers: anyState)
                },
            ]),
        "DELETE /admin/v1/grants/{id}": .open(
            inside: [Inside { world in Call(target: "/admin/v1/grants/\(try await world.grant(inside: true))") }],
            outside: [
                Outside(404) { world in Call(target: "/admin/v1/grants/\(try await world.grant(inside: false))") },
                // Its state must not show either.
                Outside(404) { world in
                    let target = "/admin/v1/grants/\(try await world.grant(inside: false))"
                    let tag = try await world.site.admin.call("GET", target)["ETag"] ?? ""
                    return Call(target: target, headers: [(name: "If-Match", value: tag)])
                },
            ], showsPlace: false),
        "GET /admin/v1/grants/{id}/blast-radius": .open(
            inside: [Inside { world in Call(target: "/admin/v1/grants/\(world.ids["grants"] ?? "")/blast-radius") }],
            outside: [
                Outside(404) { world in
                    Call(target: "/admin/v1/grants/\(try await world.grant(inside: false))/blast-radius")
                }
            ]),
        "GET /admin/v1/grants:unused": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/grants:unused?includeUsed=true") }],
            outside: [
                Outside(200) { _ in Call(target: "/admin/v1/grants:unused?includeUsed=true&bucket=\(mark)-videos") }
            ]),
        "GET /admin/v1/groups": .closed,
        "POST /admin/v1/groups/{group}/members": .closed,
        "GET /admin/v1/groups/{group}/members": .closed,
        "GET /admin/v1/groups/{group}/members/{member}": .closed,
        "DELETE /admin/v1/groups/{group}/members/{member}": .closed,
        "POST /admin/v1/quotas": .closed,
        "GET /admin/v1/quotas": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/quotas") }],
            outside: [Outside(200) { _ in Call(target: "/admin/v1/quotas?principal=user:\(mark)") }]),
        "GET /admin/v1/quotas/{id}": .open(
            inside: [Inside { world in Call(target: "/admin/v1/quotas/\(world.insideQuota)") }],
            outside: [Outside(404) { world in Call(target: "/admin/v1/quotas/\(world.outsideQuota)") }]),
        "PUT /admin/v1/quotas/{id}": .closed,
        "PATCH /admin/v1/quotas/{id}": .closed,
        "DELETE /admin/v1/quotas/{id}": .closed,
        "GET /admin/v1/quotas/{id}/usage": .closed,
        "POST /admin/v1/quotas/{id}:reset": .closed,
        "POST /admin/v1/issuers": .closed,
        "GET /admin/v1/issuers": .closed,
        "GET /admin/v1/issuers/{id}": .closed,
        "PUT /admin/v1/issuers/{id}": .closed,
        "PATCH /admin/v1/issuers/{id}": .closed,
        "DELETE /admin/v1/issuers/{id}": .closed,
        "POST /admin/v1/issuers/{id}:validate": .closed,
        "POST /admin/v1/api-keys": .closed,
        "GET /admin/v1/api-keys": .closed,
        "GET /admin/v1/api-keys/{id}": .closed,
        "PUT /admin/v1/api-keys/{id}": .closed,
        "PATCH /admin/v1/api-keys/{id}": .closed,
        "DELETE /admin/v1/api-keys/{id}": .closed,
        "POST /admin/v1/api-keys/{id}:rotate": .closed,
        "GET /admin/v1/gateways": .closed,
        "GET /admin/v1/settling-backlog": .closed,
        "GET /admin/v1/audit": .open(
            inside: [
                Inside { _ in Call(target: "/admin/v1/audit") },
                Inside { _ in Call(target: "/admin/v1/audit?kind=Grant") },
            ],
            outside: [
                Outside(200) { world in
                    Call(target: "/admin/v1/audit?resourceID=\(try await world.grant(inside: false))")
                },
                Outside(200) { _ in Call(target: "/admin/v1/audit?kind=APIKey") },
                // A grant that moved out of the scope.
                Outside(200) { world in
                    let id = try await world.grant(inside: true)
                    let moved = try await world.site.admin.call(
                        "PATCH", "/admin/v1/grants/\(id)", ["principal": "user:\(mark)"], headers: anyState)
                    try #require(moved.status == 200)
                    return Call(target: "/admin/v1/audit?operation=update&resourceID=\(id)")
                },
            ]),
        "GET /admin/v1/audit:export": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/audit:export") }],
            outside: [Outside(200) { _ in Call(target: "/admin/v1/audit:export?kind=Bucket") }]),
        "GET /admin/v1/access": .open(
            inside: [
                Inside { _ in Call(target: "/admin/v1/access?principal=user:team-a.bob") },
                Inside { _ in Call(target: "/admin/v1/access?bucket=photos&key=team-a/x") },
                Inside { _ in Call(target: "/admin/v1/access?bucket=photos&key=team-a/x&expandGroups=true") },
                // A group outside comes before the user inside. No page token may name it.
                Inside { _ in
                    Call(target: "/admin/v1/access?bucket=photos&key=team-a/refused/x&expandGroups=true&pageSize=2")
                },
                Inside { _ in Call(target: "/admin/v1/access?bucket=photos&key=team-a/x&principal=user:team-a.bob") },
                Inside { _ in Call(target: "/admin/v1/access?bucket=photos&prefix=team-a/") },
            ],
            outside: [
                Outside(403) { _ in Call(target: "/admin/v1/access?principal=user:\(mark)") },
                Outside(403) { _ in Call(target: "/admin/v1/access?bucket=photos&key=\(mark)/x") },
                Outside(403) { _ in Call(target: "/admin/v1/access?bucket=\(mark)-videos&key=team-a/x") },
                Outside(403) { _ in Call(target: "/admin/v1/access?bucket=photos&key=team-a/x&principal=user:\(mark)")
                },
                Outside(403) { _ in Call(target: "/admin/v1/access?bucket=photos&prefix=") },
                Outside(403) { _ in Call(target: "/admin/v1/access?bucket=photos&prefix=\(mark)/") },
            ]),
        "POST /admin/v1/principals/{principal}:offboard": .closed,
        "POST /admin/v1/explain": .open(
            inside: [
                Inside { world in Call(target: "/admin/v1/explain", body: ["issuanceID": "\(world.insideIssuance)"]) },
                Inside { _ in
                    Call(
                        target: "/admin/v1/explain",
                        body: JSON.download("team-a/x", from: "photos").with(["principal": "user:team-a.bob"]))
                },
                // Near misses and matches outside are left out.
                Inside { _ in
                    Call(
                        target: "/admin/v1/explain",
                        body: JSON.download("team-a/refused/x", from: "photos")
                            .with(["principal": "user:team-a.other", "groups": ["group:team-a"]]))
                },
            ],
            outside: [
                Outside(404) { world in
                    Call(target: "/admin/v1/explain", body: ["issuanceID": "\(world.outsideIssuance)"])
                },
                Outside(403) { _ in
                    Call(
                        target: "/admin/v1/explain",
                        body: JSON.download("\(mark)/x", from: "photos").with(["principal": "user:team-a.bob"]))
                },
                Outside(403) { _ in
                    Call(
                        target: "/admin/v1/explain",
                        body: JSON.download("team-a/x", from: "photos").with(["principal": "user:\(mark)"]))
                },
                Outside(403) { _ in
                    Call(
                        target: "/admin/v1/explain",
                        body: JSON.download("team-a/x", from: "photos").with([
                            "issuer": "https://id.example", "claims": ["sub": "team-a.bob"],
                        ]))
                },
            ]),
        "POST /admin/v1/simulate": .closed,
        "GET /admin/v1/issuances": .open(
            inside: [
                Inside { _ in Call(target: "/admin/v1/issuances") },
                Inside { _ in Call(target: "/admin/v1/issuances?bucket=photos&prefix=team-a/&pageSize=1") },
            ],
            outside: [
                Outside(200) { _ in Call(target: "/admin/v1/issuances?principal=user:\(mark)") },
                Outside(200) { _ in Call(target: "/admin/v1/issuances?bucket=photos&prefix=\(mark)/") },
            ]),
        "GET /admin/v1/issuances/{id}": .open(
            inside: [Inside { world in Call(target: "/admin/v1/issuances/\(world.insideIssuance)") }],
            outside: [Outside(404) { world in Call(target: "/admin/v1/issuances/\(world.outsideIssuance)") }]),
        "GET /admin/v1/issuances:export": .open(
            inside: [
                Inside { _ in Call(target: "/admin/v1/issuances:export") },
                Inside { _ in Call(target: "/admin/v1/issuances:export?format=csv") },
            ], outside: [Outside(200) { _ in Call(target: "/admin/v1/issuances:export?principal=user:\(mark)") }]),
        "GET /admin/v1/uploads": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/uploads") }],
            outside: [Outside(200) { _ in Call(target: "/admin/v1/uploads?principal=user:\(mark)") }]),
        "POST /admin/v1/uploads/{id}:confirm": .closed,
        "GET /admin/v1/usage": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/usage?groupBy=principal,bucket") }],
            outside: [
                Outside(200) { _ in Call(target: "/admin/v1/usage?groupBy=principal&principal=user:\(mark)") },
                Outside(200) { _ in Call(target: "/admin/v1/usage?groupBy=bucket&bucket=\(mark)-videos") },
            ]),
        "GET /admin/v1/denials": .open(
            inside: [Inside { _ in Call(target: "/admin/v1/denials") }],
            outside: [Outside(200) { _ in Call(target: "/admin/v1/denials?principal=user:\(mark)") }], showsPlace: false
        ),
        "GET /admin/v1/requests/{requestID}": .closed,
        "GET /admin/v1/tickets": .closed,
        "POST /admin/v1/tickets:revoke": .closed,
        "GET /admin/v1/tickets/{id}": .closed,
        "DELETE /admin/v1/tickets/{id}": .closed,
        "GET /admin/v1/multipart-uploads": .closed,
        "GET /admin/v1/multipart-uploads/{id}": .closed,
        "DELETE /admin/v1/multipart-uploads/{id}": .closed,
    ]

    // MARK: Callers

    private static func makeCaller(_ role: String, at site: Deployment) async throws -> APIClient {
        let key = try await site.create(
            "api-keys",
            [
                "name": "limited \(role)", "principal": "user:limited-\(role)", "roles": ["\(role)"],
                "adminScopes": scopes,
            ])
        let token = try #require(key["key"].text)
        site.keepSecret(token)
        return site.client(token: token)
    }

    private static func makeWorld(at site: Deployment) async throws -> World {
        try await site.makeBucket("photos")
        try await site.makeBucket("\(mark)-videos")
        let bob = try await site.makeUser("team-a.bob")
        let zoe = try await site.makeUser(mark)
        let actions = ["PutObject", "GetObject"]
        let inside = try await site.grant(actions, to: bob.principal, in: "photos", prefix: "team-a/")
        // Outside for each reason alone: principal, prefix, bucket, and `*`.
        try await site.grant(actions, to: zoe.principal, in: "photos", prefix: "team-a/", options: ["note": "\(mark)"])
        try await site.grant(actions, to: zoe.principal, in: "photos", prefix: "\(mark)/")
        try await site.grant(
            ["GetObject"], to: bob.principal, in: "photos", prefix: "team-a/refused/",
            options: ["effect": "deny"])
        try await site.grant(["GetObject"], to: "group:\(mark)", in: "photos", prefix: "team-a/refused/")
        try await site.grant(["GetObject"], to: bob.principal, in: "photos", options: ["note": "\(mark)"])
        try await site.grant(["GetObject"], to: "*", in: "photos", prefix: "team-a/", options: ["note": "\(mark)"])
        try await site.grant(actions, to: bob.principal, in: "\(mark)-videos", prefix: "team-a/")
        try await site.create("groups/group:\(mark)/members", ["member": "user:team-a.bob"])
        var issuances: [String] = []
        for (user, key, bucket) in [
            (bob, "team-a/x", "photos"), (zoe, "\(mark)/x", "photos"), (zoe, "team-a/\(mark)", "photos"),
            (bob, "team-a/x", "\(mark)-videos"),
        ] {
            let answer = try await user.ask(.upload(key, to: bucket))
            try #require(answer.status == 201, "\(answer.text)")
            site.keepSecret(urlOf: answer)
            issuances.append(try #require(answer.json["id"].text))
        }
        _ = try await zoe.ask(.download("elsewhere", from: "photos"))
        let quota = try await site.quota(
            1000, for: bob.principal, options: ["bucket": "photos", "limit": 1000, "period": "day"])
        try await site.quota(500, for: bob.principal, options: ["bucket": "\(mark)-videos"])
        try await site.quota(500, for: "group:\(mark)", options: ["bucket": "photos"])
        let outside = try await site.quota(1000, for: zoe.principal)
        let issuer = try await site.create(
            "issuers",
            [
                "issuer": "https://id.example", "audiences": ["sluice"], "algorithms": ["RS256"],
                "keys": ["inline": ["keys": []]], "principalPrefix": "", "groupPrefix": "",
            ])
        let credential = try await site.admin.call("GET", "/admin/v1/storage-credentials")
        return World(
            site: site, insideIssuance: issuances[0], outsideIssuance: issuances[2], insideQuota: quota,
            outsideQuota: outside,
            ids: [
                "grants": inside, "quotas": quota, "api-keys": zoe.keyID, "issuers": issuer["id"].text ?? "",
                "storage-credentials": credential.json["items"].items.first?["id"].text ?? "",
                "uploads": issuances[0],
            ])
    }

    /// The path of an operation, with identifiers of rows that exist or, for callers that could change them, of none.
    private static func path(_ template: String, _ ids: [String: String]) -> String {
        let collection = template.split(separator: "/").dropFirst(2).first.map(String.init) ?? ""
        return template.replacing("{id}", with: ids[collection] ?? UUID().uuidString.lowercased())
            .replacing("{bucket}", with: ids.isEmpty ? "no-such-bucket" : "photos")
            .replacing("{group}", with: ids.isEmpty ? "group:none" : "group:\(mark)")
            .replacing("{member}", with: ids.isEmpty ? "user:none" : "user:team-a.bob")
            .replacing("{principal}", with: ids.isEmpty ? "user:none" : "user:\(mark)")
            .replacing("{requestID}", with: "00000000-request")
    }

    private static func body(of operation: ContractDocument.Operation) throws -> JSON? {
        let content = operation.body.requestBody?.content?["application/json"]
        let patch = operation.body.requestBody?.content?["application/merge-patch+json"]
        guard operation.body.requestBody != nil else { return nil }
        let example = try ContractDocument.shared.get().examples(
            in: operation.body.requestBody?.content, "application/json")
        if let value = example.values.first { return try JSON(Array(try value.bytes)) }
        return content == nil && patch == nil ? nil : [:]
    }

    // MARK: The walk

    @Test func `a limited role opens on each operation what lies inside, and nothing else`() async throws {
        let operations = try ContractDocument.shared.get().operations.filter { $0.path.hasPrefix("/admin/") }
        #expect(operations.map(\.name).sorted() == Self.rules.keys.sorted(), "each operation has an expectation")
        try await Deployment.with { site in
            let world = try await Self.makeWorld(at: site)
            let admin = try await Self.makeCaller("admin", at: site)
            let auditor = try await Self.makeCaller("auditor", at: site)
            for operation in operations {
                guard let rule = Self.rules[operation.name] else { continue }
                switch rule {
                case .closed:
                    try await Self.expectClosed(operation, admin, auditor, world)
                case .open(let inside, let outside, let showsPlace):
                    for one in inside {
                        try await Self.expectOpen(operation, admin, auditor, world, nil, showsPlace, one.make)
                    }
                    for one in outside {
                        try await Self.expectOpen(operation, admin, auditor, world, one.status, false, one.make)
                    }
                }
            }
        }
    }

    /// Expects that only a role without limits gets further than a refusal, which changes nothing.
    private static func expectClosed(
        _ operation: ContractDocument.Operation, _ admin: APIClient, _ auditor: APIClient, _ world: World
    ) async throws {
        let body = try body(of: operation)
        let audit = "SELECT count(*) FROM admin_audit"
        let before = try await world.site.number(audit)
        let target = path(operation.path, world.ids)
        for (caller, isAdmin) in [(admin, true), (auditor, false)] {
            for headers in [anyState, anyState + [(name: "Idempotency-Key", value: "limited")]] {
                let refused = try await caller.call(operation.method, target, body, headers: headers)
                #expect(refused.status == 403, "\(operation.name): \(refused.text)")
                let code = isAdmin || operation.access == "auditor" ? "OutsideAdminScope" : "AccessDenied"
                #expect(refused.code == code, "\(operation.name): \(refused.text)")
            }
        }
        #expect(try await world.site.number(audit) == before, "\(operation.name)")
        // With rows that do not exist, so that the rows of the test stay.
        let full = try await world.site.admin.call(
            operation.method, path(operation.path, [:]), body, headers: anyState)
        #expect(full.status != 403 && full.status < 500, "\(operation.name): \(full.text)")
    }

    /// Expects what the rule says of one call.
    ///
    /// - Parameter outsideStatus: The status of a call outside for a limited admin; `nil` for a call inside.
    private static func expectOpen(
        _ operation: ContractDocument.Operation, _ admin: APIClient, _ auditor: APIClient, _ world: World,
        _ outsideStatus: Int?, _ showsPlace: Bool, _ make: @Sendable (World) async throws -> Call
    ) async throws {
        func send(_ caller: APIClient) async throws -> (answer: Answer, target: String, changes: Int) {
            let call = try await make(world)
            let audit = "SELECT count(*) FROM admin_audit"
            let before = try await world.site.number(audit)
            let answer = try await caller.call(operation.method, call.target, call.body, headers: call.headers)
            return (answer, call.target, try await world.site.number(audit) - before)
        }
        let full = try await send(world.site.admin)
        #expect(200..<300 ~= full.answer.status, "\(operation.name) \(full.target): \(full.answer.text)")
        for (caller, isAdmin) in [(admin, true), (auditor, false)] {
            let (answer, target, changes) = try await send(caller)
            let note: Comment = "\(operation.name) \(target) as \(isAdmin ? "admin" : "auditor"): \(answer.text)"
            let visible = answer.text.replacing(/"(detail|requestID)":"[^"]*"/, with: "")
            #expect(!visible.contains(mark), note)
            for token in answer.text.matches(of: /"nextPageToken":"([^"]*)"/) {
                let place = try #require(Base64URL.decode(token.1.utf8), note)
                #expect(!String(decoding: place, as: UTF8.self).contains(mark), note)
            }
            guard isAdmin || operation.access == "auditor" else {
                #expect(answer.status == 403 && answer.json["type"] == "/problems/role-required", note)
                #expect(changes == 0, note)
                continue
            }
            guard let outsideStatus else {
                #expect(200..<300 ~= answer.status, note)
                #expect(!showsPlace || answer.text.contains("team-a"), note)
                continue
            }
            #expect(answer.status == outsideStatus, note)
            if outsideStatus == 403 { #expect(answer.code == "OutsideAdminScope", note) }
            #expect(answer.json["items"].items.isEmpty && changes == 0, note)
        }
    }

    // MARK: Other rules

    @Test func `roles of one caller do not mix, and each change of a key counts at once`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.makeBucket("photos")
            let inside = try await site.grant(["GetObject"], to: "user:bob", in: "photos", prefix: "team-a/")
            let other = try await site.grant(["GetObject"], to: "user:bob", in: "photos", prefix: "team-b/")
            let row: JSON = [
                "name": "mixed", "principal": "user:mixed", "roles": ["admin"],
                "adminScopes": [["bucket": "photos", "prefix": "team-a/"]],
            ]
            let made = try await site.create("api-keys", row)
            let id = try #require(made["id"].text)
            let token = try #require(made["key"].text)
            site.keepSecret(token)
            let caller = site.client(token: token, at: 1)
            let shown = try await caller.call("GET", "/admin/v1/caller").json
            #expect(shown["principal"] == "user:mixed" && shown["roles"] == ["admin"])
            #expect(shown["adminScopes"] == row["adminScopes"] && shown["credential"]["id"].text == id)
            #expect(shown["conferred"] == [["role": "admin", "adminScopes": row["adminScopes"]]])
            // Wider scopes, then narrower ones, at the other gateway, with no pause.
            for (scopes, status): (JSON, Int) in [
                ([["bucket": "photos", "prefix": "team-b/"]], 404), (row["adminScopes"], 200),
                ([["bucket": "videos", "prefix": ""]], 404), (.null, 200),
                ([["bucket": "photos", "prefix": "", "principals": ["user:bob"]]], 200),
                ([["bucket": "photos", "prefix": "", "principals": ["user:bo"]]], 404),
            ] {
                let changed = try await site.admin.call(
                    "PATCH", "/admin/v1/api-keys/\(id)", .object(["adminScopes": scopes]),
                    headers: [(name: "If-Match", value: "*")])
                try #require(changed.status == 200, "\(changed.text)")
                #expect(changed.json["adminScopes"] == scopes)
                let read = try await caller.call("GET", "/admin/v1/grants/\(inside)")
                #expect(read.status == status, "\(scopes): \(read.text)")
                let written = try await caller.call(
                    "PATCH", "/admin/v1/grants/\(inside)", ["note": "\(UUID())"],
                    headers: [(name: "If-Match", value: "*")])
                #expect(written.status == status, "\(scopes): \(written.text)")
            }
            for refused: JSON in [
                [], [["bucket": "photos"]], [["bucket": "photos", "prefix": "team-a"]],
                [["bucket": "photos", "prefix": "", "principals": []]],
                [["bucket": "photos", "prefix": "", "principals": ["*"]]],
                [["bucket": "photos", "prefix": "", "principals": ["alice"]]],
                [["bucket": "photos", "prefix": "", "extra": 1]], [["bucket": "photos", "prefix": "${sub}/"]],
            ] {
                let answer = try await site.admin.call(
                    "POST", "/admin/v1/api-keys", row.with(["adminScopes": refused]))
                #expect(answer.status == 400, "\(refused): \(answer.text)")
            }
            let useless = try await site.admin.call("POST", "/admin/v1/api-keys", row.with(["roles": []]))
            #expect(useless.status == 400)
            // An audit line says by which key the admin came.
            _ = try await site.admin.call(
                "PATCH", "/admin/v1/api-keys/\(id)", ["adminScopes": [["bucket": "photos", "prefix": "team-b/"]]],
                headers: [(name: "If-Match", value: "*")])
            _ = try await caller.call(
                "PATCH", "/admin/v1/grants/\(other)", ["note": "mine"], headers: [(name: "If-Match", value: "*")])
            let lines = try await caller.call("GET", "/admin/v1/audit").json["items"].items
            #expect(lines.map { $0["resourceID"].text } == [other, other])
            #expect(lines.first?["actor"] == "user:mixed" && lines.last?["credential"] == .null)
            #expect(lines.first?["credential"].text == "apikey:\(made["prefix"].text ?? "")")
            try await site.delete("api-keys", id)
            #expect(try await caller.call("GET", "/admin/v1/caller").status == 401)
        }
    }

    @Test func `refusals show to whoever manages the whole bucket, and to nobody below`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("photos")
            try await site.makeBucket("videos")
            let users = [try await site.makeUser("bob"), try await site.makeUser("zoe")]
            for user in users {
                for bucket in ["photos", "videos", "no-such-bucket"] {
                    _ = try await user.ask(.download("team-a/x", from: bucket))
                }
            }
            try await waitUntil("the refusals are on record") {
                try await site.number("SELECT count(*) FROM denials") == 6
            }
            func seen(_ scope: JSON) async throws -> [String] {
                let made = try await site.create(
                    "api-keys",
                    ["name": "a", "principal": "user:a", "roles": ["auditor"], "adminScopes": [scope]])
                let token = made["key"].text ?? ""
                site.keepSecret(token)
                let answer = try await site.client(token: token).call("GET", "/admin/v1/denials")
                return answer.json["items"].items.map { "\($0["principal"].text ?? "") \($0["bucket"].text ?? "")" }
                    .sorted()
            }
            #expect(try await seen(["bucket": "photos", "prefix": ""]) == ["user:bob photos", "user:zoe photos"])
            #expect(
                try await seen(["bucket": "photos", "prefix": "", "principals": ["user:z*"]]) == ["user:zoe photos"])
            #expect(try await seen(["bucket": "photos", "prefix": "team-a/"]) == [])
        }
    }
}
