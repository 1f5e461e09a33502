import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `buckets`.
enum BucketTable {
    /// The columns, in the order in which ``Bucket/init(_:)`` reads them.
    static let columns = Columns<Bucket>(
        Column("name", as: "name") { $0.name.rawValue },
        Column("provider", as: "provider") { $0.provider.rawValue },
        Column("endpoint", as: "endpoint") { $0.endpoint },
        Column("region", as: "region") { $0.region },
        Column("addressing", as: "addressing") { $0.addressing.rawValue },
        Column("scheme", as: "scheme") { $0.scheme.rawValue },
        Column("credential_id", as: "credentialID") { $0.credentialID },
        Column("default_ttl", as: "defaultTTL") { Int32(clamping: $0.defaultTTL) },
        Column("max_ttl", as: "maxTTL") { Int32(clamping: $0.maxTTL) },
        Column("allows_unenforced_size", as: "allowsUnenforcedSize") { $0.allowsUnenforcedSize },
        Column("allows_redirects", as: "allowsRedirects") { $0.allowsRedirects },
        Column("external_deletions", as: "externalDeletions") { $0.externalDeletions },
        Column("honours_unsigned_headers", as: "honoursUnsignedHeaders") { $0.honoursUnsignedHeaders },
        Column("permits_symlinks", as: "permitsSymlinks") { $0.permitsSymlinks },
        Column("callback", as: "callback") { $0.callback },
        Column("callback_var", as: "callbackVar") { $0.callbackVar },
        Column("encryption", as: "encryption", .json) { $0.encryption?.storedText },
        Column("allowed_origins", as: "allowedOrigins") { $0.allowedOrigins },
        Column("max_session_ttl", as: "maxSessionTTL") { Int32(clamping: $0.maxSessionTTL) },
        Column("protocols", as: "protocols") { $0.protocols.map(\.rawValue).sorted() },
        Column("public_endpoints", as: "publicEndpoints", .sparseJSON) { $0.publicEndpoints.storedText },
        // A copy of what the column before holds, for the foreign key.
        Column("cdn_credential_id") { $0.publicEndpoints[.cdn]?.signing?.credentialID },
        Column("stable_link_window", as: "stableLinkWindow") { Int32(clamping: $0.stableLinkWindow) },
        Column("created_at", as: "createdAt"))

    static let insert = columns.insert(into: "buckets")

    static let update = columns.update("buckets")

    static let read: Statement<String, Stored<Bucket>> = AdminStatements.read(
        "b.revision", columns.selected(of: "b"), from: "buckets b WHERE b.name = $1")

    static let listing = PagedList(
        of: .bucket,
        filters: [
            .text("provider", is: "b.provider"), .uuid("credentialID") { "b.credential_id = \($0)" },
            .text("scheme", is: "b.scheme"),
        ],
        order: [.text("b.name")], isNarrowed: true)

    static let page: Statement<PageRequest, Bucket> = AdminStatements.page(
        of: listing, columns.selected(of: "b"), from: "buckets b")

    /// Reads a page of the buckets that a reach names.
    static let pageWithin = Statement<PageRequest, Bucket>(
        """
        SELECT \(columns.selected(of: "b")) FROM buckets b
        WHERE \(listing.isListed)
            AND b.name IN (SELECT s.bucket FROM \(ReachCondition.scopes(listing.reach)))
        ORDER BY \(listing.sorting) LIMIT \(listing.limit)
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }

    static let lock = AdminStatements.lock(
        scope: PolicyScope.sql(.bucket, "b.name"), revision: "b.revision", from: "buckets b WHERE b.name = $1")

    /// Tests for live grants of a bucket. It is a separate statement, so that it sees grants committed by transactions
    /// that locked the row before.
    static let hasLiveGrants = Statement<String, Bool>(
        "SELECT EXISTS (SELECT FROM grants g WHERE g.bucket = $1 AND g.removed_at IS NULL)"
    ) {
        [$0]
    }

    static let delete = Statement<String, Void>("DELETE FROM buckets b WHERE b.name = $1") { [$0] }

    static let document = AdminStatements.document(columns.document, from: "buckets r WHERE r.name = $1")
}

extension Bucket: RowReadable {
    /// Reads the columns of ``BucketTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        let name = try row.nextParsed(BucketName.init(_:))
        self.init(
            name: name, provider: try row.nextWord(), endpoint: try row.next(),
            region: try row.next(), addressing: try row.nextWord(), scheme: try row.nextWord(),
            credentialID: try row.next(), defaultTTL: Int(try row.next(as: Int32.self)),
            maxTTL: Int(try row.next(as: Int32.self)), allowsUnenforcedSize: try row.next(),
            allowsRedirects: try row.next(), externalDeletions: try row.next(),
            honoursUnsignedHeaders: try row.next(), permitsSymlinks: try row.next(), callback: try row.next(),
            callbackVar: try row.next(), encryption: try row.nextJSON(in: "bucket \(name)"),
            allowedOrigins: try row.next(),
            maxSessionTTL: Int(try row.next(as: Int32.self)),
            protocols: Set(try row.next(as: [String].self).compactMap(ClientProtocol.init)),
            publicEndpoints: try row.nextPublicEndpoints(of: name),
            stableLinkWindow: Int(try row.next(as: Int32.self)), createdAt: try row.next())
    }
}

extension ServerSideEncryption {
    /// JSON.
    fileprivate var storedText: String? {
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension [PublicEndpoint.Name: PublicEndpoint] {
    /// JSON.
    fileprivate var storedText: String {
        let members = Dictionary<String, StoredEndpoint>(
            uniqueKeysWithValues: map { ($0.rawValue, StoredEndpoint($1)) })
        guard let bytes = try? JSONEncoder().encode(members) else { return "{}" }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension PostgresRow {
    fileprivate mutating func nextPublicEndpoints(
        of bucket: BucketName
    ) throws(PostgresError) -> [PublicEndpoint.Name: PublicEndpoint] {
        let column = place
        let stored: [String: StoredEndpoint]? = try nextJSON(in: "bucket \(bucket)")
        let _: UUID? = try next()
        guard let members = stored else { return [:] }
        var endpoints: [PublicEndpoint.Name: PublicEndpoint] = [:]
        for (text, endpoint) in members {
            guard let name = PublicEndpoint.Name(rawValue: text) else {
                throw .decoding(column: column, reason: "bucket \(bucket): no name of an endpoint: \(text)")
            }
            guard let endpoint = PublicEndpoint(endpoint) else {
                throw .decoding(
                    column: column, reason: "bucket \(bucket): no known scheme or hash, or no credential of a CDN")
            }
            endpoints[name] = endpoint
        }
        return endpoints
    }
}

/// A public endpoint in JSON, with the members that admins see.
private struct StoredEndpoint: Codable {
    struct Signing: Codable {
        var scheme: String
        var credentialID: String
        var hash: String?
        var bindsSourceAddress: Bool?
        var validity: Int?
        var dropsParameters: Bool?
    }

    var url: String
    var addressing: Bucket.Addressing?
    var signing: Signing?

    init(_ endpoint: PublicEndpoint) {
        url = endpoint.url
        addressing = endpoint.addressing
        signing = endpoint.signing.map {
            Signing(
                scheme: $0.scheme.rawValue, credentialID: $0.credentialID.lowercaseText, hash: $0.hash?.rawValue,
                bindsSourceAddress: $0.bindsSourceAddress, validity: $0.validity, dropsParameters: $0.dropsParameters)
        }
    }
}

extension PublicEndpoint {
    /// Takes an endpoint as it is stored; `nil` if its links have no credential or an unknown scheme or hash.
    fileprivate init?(_ stored: StoredEndpoint) {
        self.init(url: stored.url, addressing: stored.addressing)
        guard let signing = stored.signing else { return }
        guard let credentialID = UUID(uuidString: signing.credentialID),
            let scheme = CDNSigning.Scheme(rawValue: signing.scheme)
        else { return nil }
        let hash = signing.hash.flatMap(CDNSigning.Hash.init(rawValue:))
        if hash == nil, signing.hash != nil { return nil }
        self.signing = CDNSigning(
            scheme: scheme, credentialID: credentialID,
            hash: hash,
            bindsSourceAddress: signing.bindsSourceAddress, validity: signing.validity,
            dropsParameters: signing.dropsParameters)
    }
}

extension AdminTable<Bucket> {
    static var buckets: Self {
        AdminTable(
            kind: .bucket, listing: BucketTable.listing, position: { [$0.name.rawValue] },
            identifier: { $0.name.rawValue }, isIdentifier: { (try? BucketName($0)) != nil },
            referenceConflict:
                "A credential does not exist, its kind does not fit the scheme, or a quota refers to the bucket.",
            insert: { bucket, transaction in try transaction.perform(BucketTable.insert, bucket) },
            read: BucketTable.read, page: BucketTable.page, lockRow: BucketTable.lock,
            update: { change, transaction in try transaction.perform(BucketTable.update, change.row) },
            delete: { removal, transaction in
                guard try transaction.execute(BucketTable.hasLiveGrants, removal.id).first == false else {
                    throw GatewayError.conflict(reason: "The bucket has grants.")
                }
                try transaction.perform(BucketTable.delete, removal.id)
            }, document: BucketTable.document, pageWithin: { _ in BucketTable.pageWithin })
    }
}
