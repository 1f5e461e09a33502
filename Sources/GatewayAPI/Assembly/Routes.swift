import GatewayCore
import HTTPTypes

/// Every path that exists. This is the only list of paths.
struct Routes {
    let urls: PresignedURLEndpoints
    let postPolicies: PostPolicyEndpoints
    let cdnCookies: CDNCookieEndpoints
    let objects: ObjectEndpoints
    let multipart: MultipartUploadEndpoints
    let uploads: UploadEndpoints
    let events: StoreEventEndpoints
    let access: AccessEndpoints
    let tickets: TicketEndpoints
    let sessions: SessionEndpoints
    let containerCredentials: ContainerCredentialsEndpoints
    let webIdentity: WebIdentityEndpoints
    let companion: CompanionEndpoints
    let signatures: SignatureEndpoints
    let gitLFS: GitLFSEndpoints
    let remoteSigning: RemoteSigningEndpoints
    let issuances: IssuanceEndpoints
    let usage: UsageEndpoints
    let explanations: ExplainEndpoints
    let accessReviews: AccessReviewEndpoints
    let offboarding: OffboardingEndpoints
    let simulations: SimulateEndpoints
    let requests: RequestEndpoints
    let callers: CallerEndpoints
    let admin: AdminRoutes
    let console: ConsoleEndpoints
    let service: ServiceEndpoints

    /// Routes that every listener serves: a problem's `type` is an address beside that of the request.
    var everywhere: [Route] {
        [Route(public: .get, "/problems/{kind}", service.problem)]
    }

    /// Routes for app users.
    var app: [Route] {
        [
            Route(.post, "/v1/presigned-urls", .user, urls.issue).issuing(),
            Route(
                .post, "/v1/presigned-urls/batch", .user, maxBodyBytes: PresignedURLEndpoints.maxBatchBytes,
                urls.issueBatch
            ).issuing(),
            Route(.post, "/v1/post-policies", .user, postPolicies.issue).issuing(),
            Route(.post, "/v1/cdn-cookies", .user, cdnCookies.issue).issuing(),
            Route(.get, "/v1/objects/{bucket}/{key}", .userOrTicket, takesRest: true, objects.redirect),
            Route(.post, "/v1/multipart-uploads", .user, multipart.start),
            Route(.get, "/v1/multipart-uploads/{id}", .user, multipart.get).readingPolicyFirst(),
            Route(.delete, "/v1/multipart-uploads/{id}", .user, multipart.abort).readingPolicyFirst(),
            Route(.get, "/v1/multipart-uploads/{id}/parts", .user, multipart.listParts).readingPolicyFirst(),
            Route(
                .post, "/v1/multipart-uploads/{id}/parts", .user,
                maxBodyBytes: MultipartUploadEndpoints.maxPartsBytes, multipart.issueParts
            ).issuing(),
            Route(
                .post, "/v1/multipart-uploads/{id}:complete", .user,
                maxBodyBytes: MultipartUploadEndpoints.maxCompletionBytes, multipart.complete
            ).readingPolicyFirst(),
            Route(.post, "/v1/issuances/{id}:confirm", .user, uploads.confirm).readingPolicyFirst(),
            Route(forStores: "/v1/events/s3", maxBodyBytes: StoreEventEndpoints.maxBodyBytes, events.s3),
            Route(forStores: "/v1/events/oss", maxBodyBytes: StoreEventEndpoints.maxBodyBytes, events.oss),
            Route(.get, "/v1/access", .user, access.show).readingPolicyFirst(),
            Route(.post, "/v1/signatures/oss", .user, signatures.signForOSS).issuing(),
            Route(.post, "/v1/signatures/aws-v2", .user, signatures.signForAWSV2).issuing(),
            Route(.post, "/v1/sts", .user, sessions.issue).issuing(),
            Route(.get, "/v1/sts/oss", .user, sessions.credentialsURI)
                .refusing(by: CredentialsURI.refusal),
            Route(.get, "/distribute-token.json", .userOrTicket, sessions.credentialsURI)
                .refusing(by: CredentialsURI.refusal).encryptingForTickets(),
            Route(.post, "/v1/tickets", .user, tickets.create),
            Route(.get, "/v1/tickets", .user, tickets.list).readingPolicyFirst(),
            Route(.get, "/v1/tickets/{id}", .user, tickets.get).readingPolicyFirst(),
            Route(.delete, "/v1/tickets/{id}", .user, tickets.delete).readingPolicyFirst(),
        ] + protocols
    }

    /// Routes of protocols that existing clients speak. A bucket opens each by name.
    private var protocols: [Route] {
        [
            Route(.get, "/v1/sts/aws/{scope}", .user, takesRest: true, containerCredentials.issue)
                .signingIn(by: ContainerCredentialsEndpoints.credential)
                .speaking(.awsContainerCredentials, refusing: ContainerCredentialsEndpoints.refusal),
            Route(
                .post, "/lfs/{bucket}/{path}", .user, maxBodyBytes: GitLFSBatch.maxBytes, takesRest: true, gitLFS.post
            ).readingPolicyFirst().speaking(.gitLFS, refusing: GitLFSAnswer.refusal).signingIn(
                by: GitLFSEndpoints.credential),
            Route(.get, "/lfs/{bucket}/{path}", .user, takesRest: true, gitLFS.get)
                .speaking(.gitLFS, refusing: GitLFSAnswer.refusal).signingIn(by: GitLFSEndpoints.credential),
            Route(.post, "/v1/aws/s3/sign", .user, remoteSigning.sign)
                .speaking(.awsRemoteSigning, refusing: RemoteSigningAnswer.refusal),
        ]
            // The address that a client is given may end with a slash.
            + ["/v1/aws/sts", "/v1/aws/sts/"].map { path in
                Route(
                    .post, path, .webIdentity, maxBodyBytes: WebIdentityForm.maxBytes, webIdentity.assumeRole
                ).signingIn(by: WebIdentityForm.credential)
                    .speaking(.awsWebIdentity, refusing: WebIdentityEndpoints.refusal)
            }
            + companionRoutes("/companion", .user)
            + companionRoutes("/companion/{ticket}", .ticket).map { $0.signingIn(by: CompanionEndpoints.ticket) }
    }

    private func companionRoutes(_ base: String, _ access: Route.Access) -> [Route] {
        [
            Route(.get, base + "/s3/params", access, companion.params),
            Route(.post, base + "/s3/multipart", access, companion.start),
            Route(.get, base + "/s3/multipart/{id}", access, companion.list).readingPolicyFirst(),
            Route(.delete, base + "/s3/multipart/{id}", access, companion.abort).readingPolicyFirst(),
            Route(.get, base + "/s3/multipart/{id}/batch", access, companion.signParts),
            Route(.get, base + "/s3/multipart/{id}/{number}", access, companion.signPart),
            Route(
                .post, base + "/s3/multipart/{id}/complete", access,
                maxBodyBytes: CompanionEndpoints.maxCompletionBytes, companion.complete
            ).readingPolicyFirst(),
            Route(.get, base + "/s3/sts", access, companion.session),
        ].map { $0.speaking(.uppyCompanion, refusing: CompanionEndpoints.refusal) }
    }

    /// Routes for admins, auditors and operators. They have a listener of their own where one is configured. Delegated
    /// admins get only to those that say so.
    var inner: [Route] {
        [
            Route(.get, "/admin/v1/caller", .auditor, callers.show).delegated(),
            Route(.post, "/admin/v1/buckets", .admin, admin.buckets.create),
            Route(.get, "/admin/v1/buckets", .auditor, admin.buckets.list).delegated(),
            Route(.get, "/admin/v1/buckets/{bucket}", .auditor, admin.buckets.get).delegated(),
            Route(.put, "/admin/v1/buckets/{bucket}", .admin, admin.buckets.replace),
            Route(.patch, "/admin/v1/buckets/{bucket}", .admin, admin.buckets.patch),
            Route(.delete, "/admin/v1/buckets/{bucket}", .admin, admin.buckets.delete),
            Route(.post, "/admin/v1/buckets/{bucket}:validate", .admin, admin.validation.validate),
            Route(.post, "/admin/v1/buckets/{bucket}/event-secret", .admin, admin.eventSecrets.rotate),
            Route(.get, "/admin/v1/buckets/{bucket}/event-secret", .auditor, admin.eventSecrets.get),
            Route(.delete, "/admin/v1/buckets/{bucket}/event-secret", .admin, admin.eventSecrets.delete),
            Route(.post, "/admin/v1/storage-credentials", .admin, admin.credentials.rows.create),
            Route(.get, "/admin/v1/storage-credentials", .auditor, admin.credentials.rows.list),
            Route(.get, "/admin/v1/storage-credentials/{id}", .auditor, admin.credentials.rows.get),
            Route(.put, "/admin/v1/storage-credentials/{id}", .admin, admin.credentials.rows.replace),
            Route(.patch, "/admin/v1/storage-credentials/{id}", .admin, admin.credentials.rows.patch),
            Route(.delete, "/admin/v1/storage-credentials/{id}", .admin, admin.credentials.rows.delete),
            Route(.get, "/admin/v1/storage-credentials/{id}/dependents", .auditor, admin.credentials.dependents),
            Route(.post, "/admin/v1/grants", .admin, admin.grants.create).delegated(),
            Route(.get, "/admin/v1/grants", .auditor, admin.grants.list).delegated(),
            Route(
                .post, "/admin/v1/grants:apply", .admin, maxBodyBytes: GrantBulkEndpoints.maxBatchBytes,
                admin.grantBulk.apply
            ).delegated(),
            Route(.get, "/admin/v1/grants:export", .auditor, admin.grantBulk.export)
                .streaming(maxBodyBytes: 0, answerDeadline: GrantBulkEndpoints.exportDeadline).delegated(),
            Route(.post, "/admin/v1/grants:import", .admin, admin.grantBulk.importGrants)
                .streaming(
                    maxBodyBytes: GrantBulkEndpoints.maxImportBytes,
                    answerDeadline: GrantBulkEndpoints.importDeadline),
            Route(.get, "/admin/v1/grants/{id}", .auditor, admin.grants.get).delegated(),
            Route(.put, "/admin/v1/grants/{id}", .admin, admin.grants.replace).delegated(),
            Route(.patch, "/admin/v1/grants/{id}", .admin, admin.grants.patch).delegated(),
            Route(.delete, "/admin/v1/grants/{id}", .admin, admin.grants.delete).delegated(),
            Route(.get, "/admin/v1/groups", .auditor, admin.groups.list),
            Route(.post, "/admin/v1/groups/{group}/members", .admin, admin.members.create),
            Route(.get, "/admin/v1/groups/{group}/members", .auditor, admin.members.list),
            Route(.get, "/admin/v1/groups/{group}/members/{member}", .auditor, admin.members.rows.get),
            Route(.delete, "/admin/v1/groups/{group}/members/{member}", .admin, admin.members.rows.delete),
            Route(.post, "/admin/v1/quotas", .admin, admin.quotas.rows.create),
            Route(.get, "/admin/v1/quotas", .auditor, admin.quotas.list).delegated(),
            Route(.get, "/admin/v1/quotas/{id}", .auditor, admin.quotas.get).delegated(),
            Route(.put, "/admin/v1/quotas/{id}", .admin, admin.quotas.rows.replace),
            Route(.patch, "/admin/v1/quotas/{id}", .admin, admin.quotas.rows.patch),
            Route(.delete, "/admin/v1/quotas/{id}", .admin, admin.quotas.rows.delete),
            Route(.get, "/admin/v1/quotas/{id}/usage", .auditor, admin.quotas.usage),
            Route(.post, "/admin/v1/quotas/{id}:reset", .admin, admin.quotas.reset).takingLong(),
            Route(.post, "/admin/v1/issuers", .admin, admin.issuers.create),
            Route(.get, "/admin/v1/issuers", .auditor, admin.issuers.list),
            Route(.get, "/admin/v1/issuers/{id}", .auditor, admin.issuers.get),
            Route(.put, "/admin/v1/issuers/{id}", .admin, admin.issuers.replace),
            Route(.patch, "/admin/v1/issuers/{id}", .admin, admin.issuers.patch),
            Route(.delete, "/admin/v1/issuers/{id}", .admin, admin.issuers.delete),
            Route(.post, "/admin/v1/issuers/{id}:validate", .admin, admin.issuerValidation.validate),
            Route(.post, "/admin/v1/api-keys", .admin, admin.apiKeys.rows.create),
            Route(.get, "/admin/v1/api-keys", .auditor, admin.apiKeys.rows.list),
            Route(.get, "/admin/v1/api-keys/{id}", .auditor, admin.apiKeys.rows.get),
            Route(.put, "/admin/v1/api-keys/{id}", .admin, admin.apiKeys.rows.replace),
            Route(.patch, "/admin/v1/api-keys/{id}", .admin, admin.apiKeys.rows.patch),
            Route(.delete, "/admin/v1/api-keys/{id}", .admin, admin.apiKeys.rows.delete),
            Route(.post, "/admin/v1/api-keys/{id}:rotate", .admin, admin.apiKeys.rotate),
            Route(.get, "/admin/v1/gateways", .auditor, admin.gateways.list),
            Route(.get, "/admin/v1/audit", .auditor, admin.audit.list).delegated(),
            Route(.get, "/admin/v1/audit:export", .auditor, admin.audit.export).delegated(),
            Route(.get, "/admin/v1/grants/{id}/blast-radius", .auditor, usage.blastRadiusOfGrant).delegated(),
            Route(.get, "/admin/v1/grants:unused", .auditor, usage.unusedGrants).delegated(),
            Route(.get, "/admin/v1/storage-credentials/{id}/blast-radius", .auditor, usage.blastRadiusOfCredential),
            Route(.get, "/admin/v1/access", .auditor, accessReviews.review).delegated(),
            Route(.post, "/admin/v1/principals/{principal}:offboard", .admin, offboarding.offboard).takingLong(),
            Route(.post, "/admin/v1/explain", .auditor, explanations.explain).delegated(),
            Route(
                .post, "/admin/v1/simulate", .auditor, maxBodyBytes: SimulateEndpoints.maxBodyBytes,
                simulations.simulate),
            Route(.get, "/admin/v1/issuances", .auditor, issuances.list).delegated(),
            Route(.get, "/admin/v1/issuances/{id}", .auditor, issuances.get).delegated(),
            Route(.get, "/admin/v1/issuances:export", .auditor, issuances.export).delegated(),
            Route(.get, "/admin/v1/uploads", .auditor, uploads.list).delegated(),
            Route(.post, "/admin/v1/uploads/{id}:confirm", .admin, uploads.adminConfirm),
            Route(.get, "/admin/v1/usage", .auditor, usage.usage).delegated(),
            Route(.get, "/admin/v1/denials", .auditor, usage.denials).delegated(),
            Route(.get, "/admin/v1/settling-backlog", .auditor, usage.settlingBacklog),
            Route(.get, "/admin/v1/requests/{requestID}", .auditor, requests.get),
            Route(.get, "/admin/v1/tickets", .auditor, tickets.rows.list),
            Route(.post, "/admin/v1/tickets:revoke", .admin, tickets.revokeAll),
            Route(.get, "/admin/v1/tickets/{id}", .auditor, tickets.rows.get),
            Route(.delete, "/admin/v1/tickets/{id}", .admin, tickets.rows.delete),
            Route(.get, "/admin/v1/multipart-uploads", .auditor, multipart.adminList),
            Route(.get, "/admin/v1/multipart-uploads/{id}", .auditor, multipart.adminGet),
            Route(.delete, "/admin/v1/multipart-uploads/{id}", .admin, multipart.adminAbort),
            Route(public: .get, "/healthz", service.health).takingNoPlace(),
            Route(public: .get, "/readyz", service.readiness).takingNoPlace(),
            Route(public: .get, "/metrics", service.metrics).takingNoPlace(),
            Route(public: .get, "/openapi.yaml", service.contract),
            Route(public: .get, "/openapi.json", service.contractJSON),
            Route(public: .get, "/docs", service.docs),
            Route(public: .get, "/docs/docs.js", service.docsScript),
            Route(public: .get, "/console", console.page),
            Route(public: .get, "/console/", console.page),
            Route(public: .get, "/console/config.json", console.configuration),
            Route(public: .get, "/console/{file}", takesRest: true, console.file),
        ]
    }
}

/// The endpoints of the rows that admins manage.
struct AdminRoutes {
    let validation: BucketValidationEndpoints
    let issuerValidation: IssuerValidationEndpoints
    let eventSecrets: EventSecretEndpoints
    let buckets: AdminEndpoints<Bucket>
    let credentials: StorageCredentialEndpoints
    let grants: AdminEndpoints<Grant>
    let grantBulk: GrantBulkEndpoints
    let groups: GroupEndpoints
    let members: GroupMemberEndpoints
    let quotas: QuotaEndpoints
    let issuers: AdminEndpoints<Issuer>
    let apiKeys: APIKeyEndpoints
    let gateways: GatewayEndpoints
    let audit: AuditEndpoints
}
