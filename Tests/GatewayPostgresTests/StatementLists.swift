import Foundation
import LibPQ
import Testing

@testable import GatewayPostgres

/// The statements of the program, by the names of their constants.
enum StatementLists {
    /// A statement of the program.
    struct Named: Sendable {
        /// Such as `RecordBatch.record`.
        let name: String
        let text: String
    }

    /// Those of gateways and of the commands beside them, apart from ``bulk``.
    static func gateway() throws -> [Named] {
        let keys = try MasterKeyRing.sample("k1")
        let credentials = StorageCredentialTable(keys: keys)
        let issuers = IssuerTable(keys: keys)
        let texts: [String] = [
            RecordBatch.record.text, RecordBatch.recordOne.text,
            DenialCounter.add.text,
            PartitionUpkeep.expiredDays.text, PartitionUpkeep.emptyPartition.text, PartitionUpkeep.dropPartition.text,
            PartitionUpkeep.pruneTickets.text, PartitionUpkeep.pruneCounters.text, PartitionUpkeep.pruneDenials.text,
            PartitionUpkeep.pruneDeletions.text,
            PartitionUpkeep.prunePolicyLog.text, Heartbeat.note.text,
            Heartbeat.forget.text, PostgresGateways.page.text, TicketTable.revoke.text,
            TicketTable.noteRevocation.text, TicketTable.lastRevocation.text,
            ReservationSweeper.takeDue.text, ReservationSweeper.settle.text,
            RecordingProbe.read.text, AdminStatements.writeNothing.text, RecordingProbe.lock.text,
            PostgresQuotaUsage.read.text, QuotaAuditor.audit.text, QuotaAuditor.repair.text,
            MultipartUploadTable.insert.text, MultipartUploadTable.find.text, MultipartUploadTable.open.text,
            MultipartUploadTable.move.text, MultipartUploadTable.reserve.text, MultipartUploadTable.release.text,
            MultipartUploadTable.forgetUnissued.text,
            MultipartUploadTable.abort.text, MultipartUploadTable.page.text,
            MultipartUploadTable.takeDue.text, MultipartUploadTable.giveUp.text, MultipartUploadTable.prune.text,
            PolicyStatements.load.text, PolicyStatements.grantsAtPlaces.text, PolicyStatements.grantsAround.text,
            PolicyStatements.firstGrants.text, PolicyStatements.changes.text,
            PostgresIssuances.page.text, PostgresIssuances.newest.text,
            PostgresIssuances.rare.text, PostgresIssuances.one.text,
            LedgerPool.days.text, LedgerPool.daysOfCallers.text, LedgerPool.daysOfKinds.text, IndexUpkeep.index.text,
            PostgresIssuances.replay.text, DatabaseFigures.figures.text, DatabaseFigures.reservations.text,
            PostgresIssuances.templates.text, PostgresIssuances.memberships.text, UsageRequest.counted.text,
            UsageRequest.summed.text,
            UsageRequest.summedByCaller.text, UsageUpkeep.sum.text, UsageUpkeep.sumCallers.text,
            UsageUpkeep.sumLandings.text, DenialRequest.detailed.text,
            DenialRequest.summed.text, PostgresLedgerReports.backlog.text,
            GrantUseRequest.all.text, GrantUseRequest.unused.text,
            PolicyHistoryStatements.momentAt.text,
            PolicyHistoryStatements.moment.text, PolicyHistoryStatements.groups.text,
            PolicyHistoryStatements.grants.text,
            PolicyHistoryStatements.grant.text, PolicyHistoryStatements.grantsNear.text, AliveShare.statement.text,
            AliveShare.isKnown.text, AliveSession.statement.text,
            PostgresRemoteUploads.begin.text, PostgresRemoteUploads.bind.text, PostgresGroups.page.text,
            PostgresGroups.pageOfMember.text, AuditTable.note.text,
            PostgresQuotaCounters.readSummaries.text, PostgresQuotaCounters.readUses.text,
            PostgresQuotaCounters.resetUsage.text,
            PostgresCredentialDependency.read.text, PostgresCredentialDependency.readUse.text,
            AuditTable.page.text,
            IdempotencyKeyTable.claim.text, IdempotencyKeyTable.finish.text, IdempotencyKeyTable.abandon.text,
            IdempotencyKeyTable.mark.text, IdempotencyKeyTable.renew.text, OnceLedger.recordOnce.text,
            IdempotencyKeyTable.prune.text,
            LandingTable.find.text, LandingTable.page.text, LandingTable.newest.text, LandingTable.rare.text,
            LandingTable.note.text,
            LandingTable.noteSettled.text, LandingTable.prune.text, EventSecretTable.named.text,
            StoreEventTable.insert.text, EventSecretTable.rotate.text, EventSecretTable.ofBucket.text,
            EventSecretTable.remove.text, MasterKeyRotation.lackingGateways.text,
            DatabaseDiagnosis.readServer.text, DatabaseDiagnosis.readLogin.text,
            Migrator.readMissingFunctions.text, DatabaseDiagnosis.readMissingDays.text,
            DatabaseDiagnosis.readLockRoom.text, DatabaseDiagnosis.countSealed.text,
            DatabaseDiagnosis.readGateways.text, DatabaseDiagnosis.readEndpoints.text,
            DatabaseTrial.process.text, DatabaseTrial.shares.text, DatabaseTrial.takesAlone.text,
            DatabaseTrial.commit.text, DatabaseTrial.sees.text,
            RefusalTable.record.text, RefusalTable.prune.text,
            RefusalTable.ofRequest.text, RefusalTable.extent.text, PostgresIssuances.ofRequest.text,
            PolicyLogTable.append.text, PolicyLogTable.prove.text, AuditTable.insert.text,
            AdminStatements.noteSecrets.text,
            BucketTable.insert.text, BucketTable.update.text, BucketTable.read.text,
            BucketTable.page.text,
            BucketTable.lock.text, BucketTable.hasLiveGrants.text, BucketTable.delete.text,
            BucketTable.document.text,
            StorageCredentialTable.insert.text, StorageCredentialTable.update.text, credentials.read.text,
            credentials.page.text,
            StorageCredentialTable.lock.text, StorageCredentialTable.delete.text,
            StorageCredentialTable.document.text,
            GrantTable.insert.text, GrantTable.lockBucket.text, GrantTable.lockTemplates.text,
            GrantTable.shareTemplateLock.text,
            GrantTable.countTemplates.text, GrantTable.read.text, GrantTable.page.text,
            GrantTable.lock.text, GrantTable.remove.text, GrantTable.document.text,
            APIKeyTable.insert.text, APIKeyTable.update.text, APIKeyTable.read.text,
            APIKeyTable.page.text,
            APIKeyTable.lock.text, APIKeyTable.delete.text, APIKeyTable.document.text,
            GroupMemberTable.insert.text, GroupMemberTable.read.text, GroupMemberTable.page.text,
            GroupMemberTable.readScope.text, GroupMemberTable.delete.text,
            GroupMemberTable.document.text,
            QuotaTable.insert.text, QuotaTable.update.text, QuotaTable.read.text,
            QuotaTable.page.text,
            QuotaTable.lock.text, QuotaTable.delete.text, QuotaTable.document.text,
            IssuerTable.insert.text, IssuerTable.update.text, issuers.read.text, issuers.page.text,
            IssuerTable.lockAll.text,
            IssuerTable.readOthers.text, IssuerTable.lock.text, IssuerTable.delete.text,
            IssuerTable.document.text,
            TicketTable.lockPrincipal.text, TicketTable.insert.text, TicketTable.lock.text, TicketTable.delete.text,
            TicketTable.document.text,
            PostgresConsoleDirectory.issuers.text, PostgresConsoleDirectory.stores.text,
            GrantTable.pageCovering.text, GrantTable.pageWithin.text, GrantTable.pageWithinBuckets.text,
            GrantTable.pageOfPrincipals.text,
            BucketTable.pageWithin.text,
            QuotaTable.pageWithin.text, GrantTable.twin.text, QuotaTable.twin.text,
            AccessStatements.ofPrincipals.text, AccessStatements.aroundPrefix.text,
            AccessStatements.ofNamedAroundPrefix.text,
            AccessStatements.reachingKey.text,
            AccessStatements.onKey.text, AccessStatements.memberCounts.text, PostgresOffboarding.list.text,
            PostgresOffboarding.offboard.text,
        ]
        let sealed = SealedTable.all.flatMap { table in
            [
                ("read", table.read.text), ("write", table.write.text), ("sample", table.sample.text),
                ("audit", table.audit.text),
            ].map { Named(name: "SealedTable.\($0.0).\(table.name)", text: $0.1) }
        }
        return try named(texts, after: "func gateway") + sealed
    }

    /// Those of imports and batches of grants. They need the tables of `BulkTables.make`.
    static func bulk() throws -> [Named] {
        let texts: [String] = [
            BulkTables.stage.text, BulkTables.stageRemovals.text, BatchMatching.findLive.text,
            BatchMatching.matchWrites.text, BatchMatching.matchRemovals.text, BatchMatching.refusals.text,
            BatchMatching.outcomes.text, ImportMatching.repeatedLines.text, ImportMatching.findLive.text,
            ImportMatching.matchIdentifiers.text, ImportMatching.matchContents.text, ImportMatching.matchKeys.text,
            ImportMatching.prune.text, ImportMatching.refusal.text, BulkWriting.count.text,
            BulkWriting.bucketless.text, BulkWriting.surplusTemplates.text, BulkWriting.twins.text,
            BulkWriting.begin.text,
            BulkWriting.remove.text, BulkWriting.insert.text, BulkWriting.auditImport.text,
            BulkWriting.scopes.text, BulkWriting.lockBuckets.text, BulkWriting.writesTemplates.text,
            BulkWriting.lockTemplates.text, ImportSamples.sent.text, ImportSamples.present.text,
            PostgresGrantBulk.lockImports.text,
        ]
        return try named(texts, after: "func bulk")
    }

    /// Those of `sluice migrate`.
    static func migrator() throws -> [Named] {
        let texts: [String] = [
            Migrator.lock.text, Migrator.lockPolicy.text, Migrator.readState.text, Migrator.insertMigration.text,
            Migrator.noteFunction.text, Migrator.supersedeFunctions.text, Migrator.grantRights.text,
            Migrator.preparePartitions.text, Migrator.endDecisions.text, Migrator.needyGateways.text,
            Migrator.dropsOfFunctions.text, Migrator.deleteFunctions.text, Migrator.foreignLogin.text,
            Migrator.newestProgram.text, Migrator.noteProgram.text,
        ]
        return try named(texts, after: "func migrator")
    }

    /// Names texts as this file does in the list that follows a declaration.
    private static func named(_ texts: [String], after declaration: String) throws -> [Named] {
        let source = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
        let start = try #require(source.firstRange(of: declaration)).upperBound
        let list = try #require(source[start...].firstRange(of: "\n        ]\n"))
        let names = source[start..<list.lowerBound].matches(of: #/(\w+(?:\.[A-Z]\w*)*\.\w+)\.text\b/#)
            .map { String($0.1) }
        try #require(names.count == texts.count)
        return zip(names, texts).map { Named(name: $0, text: $1) }
    }
}
