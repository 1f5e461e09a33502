import FoundationEssentials
import GatewayCore

extension Routes {
    /// Builds the endpoints from their parts.
    init(_ parts: APIParts, _ settings: APISettings, _ rate: LimitRate, on listener: APIListener) {
        let metrics = parts.metrics
        let newRow: @Sendable (Caller) throws -> NewRow = { caller in
            let now = parts.now()
            let id = UUID.version7(at: now, randomBytes: try parts.randomBytes(10))
            return NewRow(id: id, now: now, actor: caller.principal)
        }
        let stores = parts.stores
        urls = PresignedURLEndpoints(useCase: parts.presignedURLs, metrics: metrics, rate: rate)
        postPolicies = PostPolicyEndpoints(useCase: parts.browserForms)
        cdnCookies = CDNCookieEndpoints(useCase: parts.cdnCookies)
        objects = ObjectEndpoints(useCase: parts.presignedURLs)
        multipart = MultipartUploadEndpoints(useCase: parts.multipartUploads, metrics: metrics, rate: rate)
        uploads = UploadEndpoints(useCase: parts.uploadConfirmation)
        events = StoreEventEndpoints(useCase: parts.storeEvents, metrics: metrics)
        access = AccessEndpoints(useCase: parts.accessOverview)
        signatures = SignatureEndpoints(useCase: parts.remoteSignatures)
        gitLFS = GitLFSEndpoints(
            useCase: GitLFSLinks(
                urls: parts.presignedURLs, uploads: parts.missingUploads, confirmation: parts.uploadConfirmation,
                clientsCanVerify: settings.publicURL != nil),
            metrics: metrics, rate: rate, publicURL: settings.publicURL)
        remoteSigning = RemoteSigningEndpoints(useCase: parts.remoteSignatures)
        sessions = SessionEndpoints(useCase: parts.sessions)
        containerCredentials = ContainerCredentialsEndpoints(useCase: parts.sessions)
        webIdentity = WebIdentityEndpoints(useCase: parts.sessions)
        companion = CompanionEndpoints(
            forms: parts.browserForms, uploads: parts.multipartUploads, sessions: parts.sessions, rate: rate)
        issuances = IssuanceEndpoints(reader: parts.issuances)
        usage = UsageEndpoints(
            useCase: LedgerReporting(reports: parts.reports, grants: stores.grants, now: parts.now))
        callers = CallerEndpoints()
        accessReviews = AccessReviewEndpoints(useCase: parts.accessReview)
        offboarding = OffboardingEndpoints(
            useCase: Offboarding(store: stores.offboarding, reports: parts.reports))
        requests = RequestEndpoints(useCase: parts.requestHistory)
        explanations = ExplainEndpoints(useCase: parts.explainer)
        simulations = SimulateEndpoints(useCase: parts.simulator, newRow: newRow)
        tickets = TicketEndpoints(
            useCase: Tickets(
                rows: stores.tickets, revocation: stores.ticketRevocation, maxLife: settings.ticketMaxAge,
                now: parts.now, randomBytes: parts.randomBytes),
            rows: RowEndpoints(store: stores.tickets),
            revocations: RequestRate("revocations", perSecond: 1, burst: 20, from: .now))
        admin = AdminRoutes(
            validation: BucketValidationEndpoints(
                useCase: BucketValidations(
                    buckets: stores.buckets, credentials: stores.credentials, validator: parts.bucketValidator,
                    audit: parts.auditLog, randomBytes: parts.randomBytes)),
            issuerValidation: IssuerValidationEndpoints(
                useCase: IssuerValidations(
                    issuers: stores.issuers, audit: parts.auditLog,
                    examine: IssuerExaminer(documents: parts.issuerDocuments, now: parts.now).examine)),
            eventSecrets: EventSecretEndpoints(useCase: parts.eventSecrets),
            buckets: AdminEndpoints(store: stores.buckets, changes: stores.bucketChanges, newRow: newRow),
            credentials: StorageCredentialEndpoints(
                rows: AdminEndpoints(store: stores.credentials, newRow: newRow), dependency: stores.dependency),
            grants: AdminEndpoints(store: stores.grants, newRow: newRow),
            grantBulk: GrantBulkEndpoints(
                useCase: GrantBatches(store: stores.grantBulk), newRow: newRow,
                authenticate: Authenticate(parts.authenticator, advancePolicy: parts.advancePolicy)),
            groups: GroupEndpoints(directory: stores.groups),
            members: GroupMemberEndpoints(rows: RowEndpoints(store: stores.members), now: parts.now),
            quotas: QuotaEndpoints(
                rows: AdminEndpoints(store: stores.quotas, newRow: newRow),
                counters: QuotaCounters(store: stores.quotaCounters)),
            issuers: AdminEndpoints(store: stores.issuers, newRow: newRow),
            apiKeys: APIKeyEndpoints(
                store: stores.apiKeys,
                changes: stores.apiKeyChanges(now: parts.now, randomBytes: parts.randomBytes),
                newRow: newRow),
            gateways: GatewayEndpoints(directory: stores.gateways),
            audit: AuditEndpoints(reader: stores.audit)
        )
        console = ConsoleEndpoints(
            signIn: SignInOffers(
                directory: stores.console, documents: parts.issuerDocuments, now: parts.now, logger: parts.logger),
            version: settings.version)
        service = ServiceEndpoints(
            listener: listener, checks: parts.readinessChecks, metricsText: parts.metricsText)
    }
}
