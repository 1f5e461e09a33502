#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// One array and one line of the table for each file under sql/functions, in the order of their names.

static const char advisory_lock[] = {
#embed "../../sql/functions/advisory_lock.sql" suffix(, 0)
};

static const char append_policy_log[] = {
#embed "../../sql/functions/append_policy_log.sql" suffix(, 0)
};

static const char audit_quotas[] = {
#embed "../../sql/functions/audit_quotas.sql" suffix(, 0)
};

static const char begin_remote_upload[] = {
#embed "../../sql/functions/begin_remote_upload.sql" suffix(, 0)
};

static const char beginnings[] = {
#embed "../../sql/functions/beginnings.sql" suffix(, 0)
};

static const char can_give_back[] = {
#embed "../../sql/functions/can_give_back.sql" suffix(, 0)
};

static const char claim_idempotency_key[] = {
#embed "../../sql/functions/claim_idempotency_key.sql" suffix(, 0)
};

static const char covering_prefixes[] = {
#embed "../../sql/functions/covering_prefixes.sql" suffix(, 0)
};

static const char create_issuances_partition[] = {
#embed "../../sql/functions/create_issuances_partition.sql" suffix(, 0)
};

static const char drop_issuances_partition[] = {
#embed "../../sql/functions/drop_issuances_partition.sql" suffix(, 0)
};

static const char empty_issuances_partition[] = {
#embed "../../sql/functions/empty_issuances_partition.sql" suffix(, 0)
};

static const char expired_issuances_days[] = {
#embed "../../sql/functions/expired_issuances_days.sql" suffix(, 0)
};

static const char forget_gateway[] = {
#embed "../../sql/functions/forget_gateway.sql" suffix(, 0)
};

static const char forget_sums[] = {
#embed "../../sql/functions/forget_sums.sql" suffix(, 0)
};

static const char forget_sums_since[] = {
#embed "../../sql/functions/forget_sums_since.sql" suffix(, 0)
};

static const char forget_unissued_parts[] = {
#embed "../../sql/functions/forget_unissued_parts.sql" suffix(, 0)
};

static const char grant_document[] = {
#embed "../../sql/functions/grant_document.sql" suffix(, 0)
};

static const char grant_fingerprint[] = {
#embed "../../sql/functions/grant_fingerprint.sql" suffix(, 0)
};

static const char grant_key[] = {
#embed "../../sql/functions/grant_key.sql" suffix(, 0)
};

static const char grant_to_gateway[] = {
#embed "../../sql/functions/grant_to_gateway.sql" suffix(, 0)
};

static const char idempotency_claim_end[] = {
#embed "../../sql/functions/idempotency_claim_end.sql" suffix(, 0)
};

static const char index_closed_day[] = {
#embed "../../sql/functions/index_closed_day.sql" suffix(, 0)
};

static const char is_live_gateway[] = {
#embed "../../sql/functions/is_live_gateway.sql" suffix(, 0)
};

static const char issuances_partitions[] = {
#embed "../../sql/functions/issuances_partitions.sql" suffix(, 0)
};

static const char keep_membership[] = {
#embed "../../sql/functions/keep_membership.sql" suffix(, 0)
};

static const char note_gateway[] = {
#embed "../../sql/functions/note_gateway.sql" suffix(, 0)
};

static const char note_landing[] = {
#embed "../../sql/functions/note_landing.sql" suffix(, 0)
};

static const char note_landing_changes[] = {
#embed "../../sql/functions/note_landing_changes.sql" suffix(, 0)
};

static const char note_settled_uploads[] = {
#embed "../../sql/functions/note_settled_uploads.sql" suffix(, 0)
};

static const char offboard_principal[] = {
#embed "../../sql/functions/offboard_principal.sql" suffix(, 0)
};

static const char offboarding_rows[] = {
#embed "../../sql/functions/offboarding_rows.sql" suffix(, 0)
};

static const char offboarding_tag[] = {
#embed "../../sql/functions/offboarding_tag.sql" suffix(, 0)
};

static const char part_length[] = {
#embed "../../sql/functions/part_length.sql" suffix(, 0)
};

static const char policy_lock_sharers[] = {
#embed "../../sql/functions/policy_lock_sharers.sql" suffix(, 0)
};

static const char prepare_issuances_partitions[] = {
#embed "../../sql/functions/prepare_issuances_partitions.sql" suffix(, 0)
};

static const char prove_actor[] = {
#embed "../../sql/functions/prove_actor.sql" suffix(, 0)
};

static const char prove_issuances[] = {
#embed "../../sql/functions/prove_issuances.sql" suffix(, 0)
};

static const char prune_counters[] = {
#embed "../../sql/functions/prune_counters.sql" suffix(, 0)
};

static const char prune_deletions[] = {
#embed "../../sql/functions/prune_deletions.sql" suffix(, 0)
};

static const char prune_denials[] = {
#embed "../../sql/functions/prune_denials.sql" suffix(, 0)
};

static const char prune_landings[] = {
#embed "../../sql/functions/prune_landings.sql" suffix(, 0)
};

static const char prune_multipart_uploads[] = {
#embed "../../sql/functions/prune_multipart_uploads.sql" suffix(, 0)
};

static const char prune_policy_log[] = {
#embed "../../sql/functions/prune_policy_log.sql" suffix(, 0)
};

static const char prune_refusals[] = {
#embed "../../sql/functions/prune_refusals.sql" suffix(, 0)
};

static const char prune_tickets[] = {
#embed "../../sql/functions/prune_tickets.sql" suffix(, 0)
};

static const char quota_charges[] = {
#embed "../../sql/functions/quota_charges.sql" suffix(, 0)
};

static const char quota_period_end[] = {
#embed "../../sql/functions/quota_period_end.sql" suffix(, 0)
};

static const char quota_period_start[] = {
#embed "../../sql/functions/quota_period_start.sql" suffix(, 0)
};

static const char record_issuance[] = {
#embed "../../sql/functions/record_issuance.sql" suffix(, 0)
};

static const char record_issuances[] = {
#embed "../../sql/functions/record_issuances.sql" suffix(, 0)
};

static const char record_issuances_once[] = {
#embed "../../sql/functions/record_issuances_once.sql" suffix(, 0)
};

static const char record_refusals[] = {
#embed "../../sql/functions/record_refusals.sql" suffix(, 0)
};

static const char refuse_action_or_method[] = {
#embed "../../sql/functions/refuse_action_or_method.sql" suffix(, 0)
};

static const char release_multipart_parts[] = {
#embed "../../sql/functions/release_multipart_parts.sql" suffix(, 0)
};

static const char remote_upload_types[] = {
#embed "../../sql/functions/remote_upload_types.sql" suffix(, 0)
};

static const char repair_quota_usage[] = {
#embed "../../sql/functions/repair_quota_usage.sql" suffix(, 0)
};

static const char reserve_multipart_parts[] = {
#embed "../../sql/functions/reserve_multipart_parts.sql" suffix(, 0)
};

static const char reset_quota[] = {
#embed "../../sql/functions/reset_quota.sql" suffix(, 0)
};

static const char reset_quota_usage[] = {
#embed "../../sql/functions/reset_quota_usage.sql" suffix(, 0)
};

static const char settle_reservations[] = {
#embed "../../sql/functions/settle_reservations.sql" suffix(, 0)
};

static const char stale_verdicts[] = {
#embed "../../sql/functions/stale_verdicts.sql" suffix(, 0)
};

static const char sum_callers[] = {
#embed "../../sql/functions/sum_callers.sql" suffix(, 0)
};

static const char sum_issuances[] = {
#embed "../../sql/functions/sum_issuances.sql" suffix(, 0)
};

static const char sum_landings[] = {
#embed "../../sql/functions/sum_landings.sql" suffix(, 0)
};

static const char template_place[] = {
#embed "../../sql/functions/template_place.sql" suffix(, 0)
};

static const char templates_at[] = {
#embed "../../sql/functions/templates_at.sql" suffix(, 0)
};

static const char uuid_v7[] = {
#embed "../../sql/functions/uuid_v7.sql" suffix(, 0)
};

static const char write_policy_log[] = {
#embed "../../sql/functions/write_policy_log.sql" suffix(, 0)
};

static const struct {
    const char *name;
    const char *text;
} functions[] = {
    {"advisory_lock.sql", advisory_lock},
    {"append_policy_log.sql", append_policy_log},
    {"audit_quotas.sql", audit_quotas},
    {"begin_remote_upload.sql", begin_remote_upload},
    {"beginnings.sql", beginnings},
    {"can_give_back.sql", can_give_back},
    {"claim_idempotency_key.sql", claim_idempotency_key},
    {"covering_prefixes.sql", covering_prefixes},
    {"create_issuances_partition.sql", create_issuances_partition},
    {"drop_issuances_partition.sql", drop_issuances_partition},
    {"empty_issuances_partition.sql", empty_issuances_partition},
    {"expired_issuances_days.sql", expired_issuances_days},
    {"forget_gateway.sql", forget_gateway},
    {"forget_sums.sql", forget_sums},
    {"forget_sums_since.sql", forget_sums_since},
    {"forget_unissued_parts.sql", forget_unissued_parts},
    {"grant_document.sql", grant_document},
    {"grant_fingerprint.sql", grant_fingerprint},
    {"grant_key.sql", grant_key},
    {"grant_to_gateway.sql", grant_to_gateway},
    {"idempotency_claim_end.sql", idempotency_claim_end},
    {"index_closed_day.sql", index_closed_day},
    {"is_live_gateway.sql", is_live_gateway},
    {"issuances_partitions.sql", issuances_partitions},
    {"keep_membership.sql", keep_membership},
    {"note_gateway.sql", note_gateway},
    {"note_landing.sql", note_landing},
    {"note_landing_changes.sql", note_landing_changes},
    {"note_settled_uploads.sql", note_settled_uploads},
    {"offboard_principal.sql", offboard_principal},
    {"offboarding_rows.sql", offboarding_rows},
    {"offboarding_tag.sql", offboarding_tag},
    {"part_length.sql", part_length},
    {"policy_lock_sharers.sql", policy_lock_sharers},
    {"prepare_issuances_partitions.sql", prepare_issuances_partitions},
    {"prove_actor.sql", prove_actor},
    {"prove_issuances.sql", prove_issuances},
    {"prune_counters.sql", prune_counters},
    {"prune_deletions.sql", prune_deletions},
    {"prune_denials.sql", prune_denials},
    {"prune_landings.sql", prune_landings},
    {"prune_multipart_uploads.sql", prune_multipart_uploads},
    {"prune_policy_log.sql", prune_policy_log},
    {"prune_refusals.sql", prune_refusals},
    {"prune_tickets.sql", prune_tickets},
    {"quota_charges.sql", quota_charges},
    {"quota_period_end.sql", quota_period_end},
    {"quota_period_start.sql", quota_period_start},
    {"record_issuance.sql", record_issuance},
    {"record_issuances.sql", record_issuances},
    {"record_issuances_once.sql", record_issuances_once},
    {"record_refusals.sql", record_refusals},
    {"refuse_action_or_method.sql", refuse_action_or_method},
    {"release_multipart_parts.sql", release_multipart_parts},
    {"remote_upload_types.sql", remote_upload_types},
    {"repair_quota_usage.sql", repair_quota_usage},
    {"reserve_multipart_parts.sql", reserve_multipart_parts},
    {"reset_quota.sql", reset_quota},
    {"reset_quota_usage.sql", reset_quota_usage},
    {"settle_reservations.sql", settle_reservations},
    {"stale_verdicts.sql", stale_verdicts},
    {"sum_callers.sql", sum_callers},
    {"sum_issuances.sql", sum_issuances},
    {"sum_landings.sql", sum_landings},
    {"template_place.sql", template_place},
    {"templates_at.sql", templates_at},
    {"uuid_v7.sql", uuid_v7},
    {"write_policy_log.sql", write_policy_log},
};

static const size_t count = sizeof functions / sizeof functions[0];

const char *embedded_function_name(size_t index) {
    return index < count ? functions[index].name : NULL;
}

const char *embedded_function_text(size_t index) {
    return functions[index].text;
}
