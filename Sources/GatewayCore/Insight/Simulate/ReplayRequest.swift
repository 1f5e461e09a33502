import FoundationEssentials

/// An issuance, converted back to a request that it answered.
struct ReplayRequest {
    /// What was asked for, by the rule that decides it.
    enum Wish {
        /// One object, or one listing.
        case object(IssueRequest)
        /// A form that leaves the name below a prefix to the client, for one of its content types.
        case form(PostPolicyRequest)
        /// Temporary credentials.
        case session(SessionRequest)
        /// Cookies.
        case cookies(CookieRequest)
    }

    /// What a request is permitted by, and for.
    struct Permission: Sendable {
        /// The grants that the decision rests on.
        let grants: Set<UUID>
        /// What temporary credentials may do; `nil` for other requests, which are permitted as a whole.
        var scope: SessionScope?
        /// The conditions of a download of one object; `nil` for other requests.
        var download: GrantConditions?
    }

    let row: RecordedIssuance
    let wish: Wish
    let principal: Principal
    /// The group whose grant matched, if the credential named it.
    let namedGroup: Principal?
    /// The caller's claims, as far as the deciding template shows them.
    let claims: [String: String]

    /// Converts a row to all requests that it answered; empty if it cannot be decided again.
    ///
    /// - Parameters:
    ///   - template: The template of the grant that permitted them, if it had one.
    ///   - namedGroup: The group of that grant, if the credential named it.
    static func all(of row: RecordedIssuance, template: KeyPrefix?, namedGroup: Principal?) -> [ReplayRequest] {
        guard let principal = try? Principal(row.principal), let wishes = try? Wish.recorded(row) else { return [] }
        return wishes.map { ReplayRequest(row, $0, of: principal, template: template, namedGroup: namedGroup) }
    }

    private init(
        _ row: RecordedIssuance, _ wish: Wish, of principal: Principal, template: KeyPrefix?, namedGroup: Principal?
    ) {
        self.row = row
        self.wish = wish
        self.principal = principal
        self.namedGroup = namedGroup
        claims = template?.claims(in: wish.place.rawValue) ?? [:]
    }

    /// The caller, as far as it is known.
    var subject: Subject { Subject(principal: principal, knownClaims: claims) }

    /// Decides the request under a policy whose grants have no condition on the source address.
    func decision(under policy: AccessPolicy, now: Date) -> Verdict<Permission> {
        switch wish {
        case .object(let request):
            decide(request, for: subject, under: policy, sourceAddress: Self.anyAddress, now: now)
                .map { permit in
                    Permission(
                        grants: [permit.grant.id],
                        download: request.action == .getObject ? permit.grant.conditions : nil)
                }
        case .form(let request):
            decide(request, for: subject, under: policy, sourceAddress: Self.anyAddress, now: now)
                .map { Permission(grants: [$0.grant.id]) }
        case .session(let request):
            decideSession(request, for: subject, under: policy, sourceAddress: Self.anyAddress, now: now)
                .map { Permission(grants: Set($0.limits.map(\.id)), scope: $0.scope) }
        case .cookies(let request):
            decideCookies(request, for: subject, under: policy, sourceAddress: Self.anyAddress, now: now)
                .map { Permission(grants: Set($0.limits.map(\.id))) }
        }
    }

    /// The ledger does not record addresses. A bucket may bind cookies to one, whichever it is.
    private static let anyAddress = IPAddress("192.0.2.1")
}

extension ReplayRequest.Wish {
    /// Returns what a row answered: one wish for each action of a signature, and one for each content type of a form.
    fileprivate static func recorded(_ row: RecordedIssuance) throws(GatewayError) -> [Self] {
        switch Delivery(rawValue: row.delivery) {
        case .sts:
            var actions: Set<Action> = []
            for action in row.actions { actions.insert(try Action(parsing: action)) }
            return [
                .session(
                    try SessionRequest(
                        bucket: try BucketName(row.bucket), prefix: row.key, actions: actions, duration: nil))
            ]
        case .cdnCookies:
            return [.cookies(try CookieRequest(bucket: try BucketName(row.bucket), prefix: row.key, expiresIn: nil))]
        default:
            if let prefix = PostPolicyRequest.start(ofKey: row.key) { return try forms(row, below: prefix) }
            return try IssueRequest.recorded(row).map { .object($0) }
        }
    }

    private static func forms(_ row: RecordedIssuance, below prefix: String) throws(GatewayError) -> [Self] {
        var fields = PostPolicyRequest.Fields()
        fields.bucket = row.bucket
        fields.keyStartsWith = prefix
        fields.maxBytes = row.contentLength
        var forms: [Self] = []
        for type in IssueRequest.contentTypes(in: row.contentType) {
            fields.contentTypes = type.map { [$0] }
            forms.append(.form(try PostPolicyRequest(fields) { row.id }))
        }
        return forms
    }

    /// The bucket.
    var bucket: BucketName {
        switch self {
        case .object(let request): request.bucket
        case .form(let request): request.bucket
        case .session(let request): request.bucket
        case .cookies(let request): request.bucket
        }
    }

    /// The actions, all of which were permitted.
    var actions: Set<Action> {
        switch self {
        case .object(let request): [request.action]
        case .form: [.putObject]
        case .session(let request): request.actions ?? []
        case .cookies(let request): request.actions
        }
    }

    /// The keys that were asked for together; `nil` for one object or one listing.
    var area: KeyArea? {
        switch self {
        case .object: nil
        case .form(let request): request.area
        case .session(let request): KeyArea(prefix: request.prefix)
        case .cookies(let request): request.area
        }
    }

    /// The upload or download of one object that a bound content type, length or digest is of.
    var sample: IssueRequest? {
        switch self {
        case .object(let request): request
        case .form(let request): request.uploads.first
        case .session, .cookies: nil
        }
    }

    /// The key, or what all keys begin with.
    var place: ExactText {
        switch self {
        case .object(let request): ExactText(request.key.rawValue)
        case .form, .session, .cookies: area?.prefix ?? ExactText("")
        }
    }

    /// Whether a refusal may be for want of a grant that the ledger does not show. The ledger names one grant, for
    /// cookies that of the download, but several may have permitted what was asked for, each a part.
    func mayLackGrant(_ refusal: Refusal) -> Bool {
        switch self {
        case .object, .form: false
        case .session: refusal.reason == .noGrant
        case .cookies(let request): request.listing != nil && refusal.reason == .unmet
        }
    }
}

extension GrantConditions {
    /// Whether a download that others permit may fail because of its version or the headers of the answer.
    func refusesMore(than others: GrantConditions) -> Bool {
        allowVersions != true && others.allowVersions == true
            || allowResponseContentType != true && others.allowResponseContentType == true
            || forceDownload == true && others.forceDownload != true
    }
}

extension PostPolicyRequest {
    /// The keys of the objects that the form may write.
    fileprivate var area: KeyArea {
        switch target {
        case .key(let key): KeyArea(prefix: ExactText(key.rawValue))
        case .below(let prefix): KeyArea(prefix: prefix)
        }
    }
}
