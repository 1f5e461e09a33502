import Foundation
import GatewayCore

extension Routes {
    /// Builds the endpoints from their parts.
    init(_ parts: APIParts, _ settings: APISettings, _ metrics: RequestMetrics, _ rate: RequestRate?) {
        let newRow: @Sendable (Caller) throws -> NewRow = { caller in
            let now = parts.now()
            let id = UUID.version7(at: now, randomBytes: try parts.randomBytes(10))
            return NewRow(id: id, now: now, caller: caller)
        }
        let stores = parts.stores
        urls = PresignedURLEndpoints(
            useCase: parts.presignedURLs, metrics: metrics, timeout: settings.recordTimeout, rate: rate)
        postPolicies = PostPolicyEndpoints(
            useCase: parts.presignedURLs, metrics: metrics, timeout: settings.recordTimeout)
        objects = ObjectEndpoints(useCase: parts.presignedURLs, metrics: metrics, timeout: settings.recordTimeout)
        multipart = MultipartUploadEndpoints(
            useCase: parts.multipartUploads, metrics: metrics, timeout: settings.recordTimeout, rate: rate)
        uploads = UploadEndpoints(useCase: parts.uploadConfirmation)
        events = StoreEventEndpoints(useCase: parts.storeEvents, metrics: metrics)
        access = AccessEndpoints(useCase: parts.accessOverview)
        signatures = SignatureEndpoints(
            useCase: parts.remoteSignatures, metrics: metrics, timeout: settings.recordTimeout)
        sessions = SessionEndpoints(
            useCase: parts.sessions, metrics: metrics, timeout: settings.recordTimeout + settings.sessionTimeout)
        issuances = IssuanceEndpoints(reader: parts.issuances)
        usage = UsageEndpoints(reports: parts.reports)
        explanations = ExplainEndpoints(useCase: parts.explainer, now: parts.now)
        simulations = SimulateEndpoints(useCase: parts.simulator, newRow: newRow)
        tickets = TicketEndpoints(
            rows: AdminEndpoints(store: stores.tickets, newRow: newRow), revocation: stores.ticketRevocation,
            maxAge: settings.ticketMaxAge,
            revocations: RequestRate("revocations", perSecond: 1, burst: 20, from: .now),
            randomBytes: parts.randomBytes)
        admin = AdminRoutes(
            validation: BucketValidationEndpoints(
                buckets: stores.buckets, credentials: stores.credentials, validator: parts.bucketValidator,
                audit: parts.auditLog, randomBytes: parts.randomBytes),
            eventSecrets: EventSecretEndpoints(useCase: parts.eventSecrets),
            buckets: AdminEndpoints(
                store: stores.buckets,
                changes: BucketChanges(
                    buckets: stores.buckets, credentials: stores.credentials, dependency: stores.dependency),
                newRow: newRow),
            credentials: StorageCredentialEndpoints(
                rows: AdminEndpoints(store: stores.credentials, newRow: newRow), dependency: stores.dependency),
            grants: AdminEndpoints(store: stores.grants, newRow: newRow),
            grantBulk: GrantBulkEndpoints(store: stores.grantBulk, newRow: newRow),
            groups: GroupEndpoints(directory: stores.groups),
            members: GroupMemberEndpoints(store: stores.members, now: parts.now),
            quotas: QuotaEndpoints(
                rows: AdminEndpoints(store: stores.quotas, newRow: newRow), uses: stores.quotaUses),
            issuers: AdminEndpoints(store: stores.issuers, newRow: newRow),
            apiKeys: APIKeyEndpoints(
                rows: AdminEndpoints(store: stores.apiKeys, newRow: newRow), randomBytes: parts.randomBytes),
            gateways: GatewayEndpoints(directory: stores.gateways),
            audit: AuditEndpoints(reader: stores.audit)
        )
        service = ServiceEndpoints(checks: parts.readinessChecks, metricsText: parts.metricsText)
    }
}
