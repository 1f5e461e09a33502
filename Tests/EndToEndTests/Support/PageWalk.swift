import Testing

/// Pages that a reader follows one after the other, and what their blocks print.
struct PageWalk: Sendable, CustomTestStringConvertible {
    /// What the pages presuppose, in the words of `run_page.bash`.
    let world: String
    /// The paths of the pages in the repository.
    let pages: [String]
    /// Texts that a block prints each time, by a part of the block.
    let promises: [String: [String]]

    var testDescription: String { pages.joined(separator: ", ") }

    static let all = [tour, deployment, uploads, ledger, commandLine, offline]

    private static let tour = PageWalk(
        world: "dev", pages: ["README.md"],
        promises: [
            "# Why was it refused?": [
                "X-Amz-Signature=", "\n201\n", "\"code\":\"AccessDenied\"", "\n403\n", "permitted    false",
                "nearMisses:", "reports/2030.pdf",
            ]
        ])

    private static let deployment = PageWalk(
        world: "deployment",
        pages: ["docs/operations.md", "docs/administration.md", "docs/oss-sdks.md", "docs/availability.md"],
        promises: [
            "CREATE DATABASE": ["CREATE ROLE", "CREATE DATABASE"],
            "sluice serve\n": [
                "Applied functions: ", "The login 'sluice' may read the tables", "All is well.",
            ],
            "once='Idempotency-Key: first-rows'": ["\"name\":\"photos\"", "\"metric\":\"urls\"", "X-Amz-Signature="],
            "issuer=$(admin": ["\"issuer\":\"https://id.example\""],
            "$(cat token.jwt)": ["\"valid\":false", "\"advice\":"],
            "admin -X PATCH $api/issuers": ["\"clientID\":\"sluice-console\""],
            "admin -X PATCH $api/buckets": ["\"maxTTL\":3600"],
            "grants.csv": ["\"dryRun\":true", "\"created\":0", "\"deleted\":0", "\"unchanged\":2"],
            ":offboard": ["\"principal\":\"user:alice\"", "\"dryRun\":false", "\"alive\":"],
            "\"name\": \"app-photos\"": [
                "\"scheme\":\"oss-v4\"", "\"maxSessionTTL\":3600", "\"bucket\":\"app-photos\"",
            ],
        ])

    private static let uploads = PageWalk(
        world: "dev", pages: ["docs/uploads.md", "docs/links.md"],
        promises: [
            "# stands for a picture": ["200\n"],
            "sluice share": [
                "/cat.png: 23.9 KiB, landed", "sleeping-cat.png: 23.9 KiB, landed", "md5 agrees", "http://",
            ],
            "/v1/post-policies": ["204\n"],
            "/v1/multipart-uploads": ["\"state\":\"completed\""],
            "# Share: a link": [
                "response-content-disposition=attachment", "\"expiresIn\":86400", "<ListBucketResult",
                "<Key>users/alice/cat.png</Key>", "\n204\n",
            ],
        ])

    private static let ledger = PageWalk(
        world: "dev", pages: ["docs/ledger.md"],
        promises: [
            "/issuances?": ["\"items\":["],
            "sluice admin requests get": ["refusals:", "noGrant", "team/"],
            "/usage?": ["\"items\":[", "\"principal\":", "\"code\":", "\"used\":", "\"reservations\":"],
            "/explain": ["\"permitted\":false", "\"nearMisses\":"],
            "/access?": ["\"origin\":\"caller\"", "\"outcome\":\"allowed\"", "\"relation\":\"below\""],
            "/simulate": ["\"isComplete\":true"],
            "/blast-radius": ["\"sessions\":"],
            "/grants:unused": ["\"items\":["],
        ])

    private static let commandLine = PageWalk(
        world: "file", pages: ["docs/command-line.md"],
        promises: [
            "sluice admin caller": ["principal", "admin"],
            "sluice help --man": ["SLUICE(1)", "SYNOPSIS"],
        ])

    private static let offline = PageWalk(
        world: "settings", pages: ["docs/signing.md", "docs/settings.md"],
        promises: [
            "sluice sign": ["\"stringToSign\":\"AWS4-HMAC-SHA256\\n", "\"url\":\"https://demo.s3.eu-west-1"],
            "sluice inspect": ["\"verdict\":\"authorise\"", "\"key\":\"a.png\""],
            "\"max-connections\"": ["Every setting can be read."],
        ])
}
