#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// One array and one line of the table for every file under sql/migrations, in their order.

static const char migration_0001[] = {
#embed "../../sql/migrations/0001_create_policy.sql" suffix(, 0)
};

static const char migration_0002[] = {
#embed "../../sql/migrations/0002_create_ledger.sql" suffix(, 0)
};

static const char migration_0003[] = {
#embed "../../sql/migrations/0003_create_gateway_role.sql" suffix(, 0)
};

static const char migration_0004[] = {
#embed "../../sql/migrations/0004_create_recording.sql" suffix(, 0)
};

static const char migration_0005[] = {
#embed "../../sql/migrations/0005_create_settling.sql" suffix(, 0)
};

static const char migration_0006[] = {
#embed "../../sql/migrations/0006_loosen_grants.sql" suffix(, 0)
};

static const char migration_0007[] = {
#embed "../../sql/migrations/0007_create_tickets.sql" suffix(, 0)
};

static const char migration_0008[] = {
#embed "../../sql/migrations/0008_add_schemes_and_deliveries.sql" suffix(, 0)
};

static const char migration_0009[] = {
#embed "../../sql/migrations/0009_create_multipart_uploads.sql" suffix(, 0)
};

static const char migration_0010[] = {
#embed "../../sql/migrations/0010_create_sessions.sql" suffix(, 0)
};

static const char migration_0011[] = {
#embed "../../sql/migrations/0011_create_remote_uploads.sql" suffix(, 0)
};

static const char migration_0012[] = {
#embed "../../sql/migrations/0012_version_policy.sql" suffix(, 0)
};

static const char migration_0013[] = {
#embed "../../sql/migrations/0013_index_ledger.sql" suffix(, 0)
};

static const char migration_0014[] = {
#embed "../../sql/migrations/0014_keep_memberships.sql" suffix(, 0)
};

static const char migration_0015[] = {
#embed "../../sql/migrations/0015_find_expired_days.sql" suffix(, 0)
};

static const char migration_0016[] = {
#embed "../../sql/migrations/0016_validate_buckets.sql" suffix(, 0)
};

static const char migration_0017[] = {
#embed "../../sql/migrations/0017_add_rotation_and_reset.sql" suffix(, 0)
};

static const char migration_0018[] = {
#embed "../../sql/migrations/0018_create_bulk_changes.sql" suffix(, 0)
};

static const char migration_0019[] = {
#embed "../../sql/migrations/0019_create_idempotency_keys.sql" suffix(, 0)
};

static const char migration_0020[] = {
#embed "../../sql/migrations/0020_create_landings.sql" suffix(, 0)
};

static const char migration_0021[] = {
#embed "../../sql/migrations/0021_ignore_order_of_actions.sql" suffix(, 0)
};

static const char migration_0022[] = {
#embed "../../sql/migrations/0022_sum_issuances.sql" suffix(, 0)
};

static const char migration_0023[] = {
#embed "../../sql/migrations/0023_speed_up_recording.sql" suffix(, 0)
};

static const char migration_0024[] = {
#embed "../../sql/migrations/0024_check_by_domains.sql" suffix(, 0)
};

static const char migration_0025[] = {
#embed "../../sql/migrations/0025_drop_between_sums.sql" suffix(, 0)
};

static const char migration_0026[] = {
#embed "../../sql/migrations/0026_hold_nothing_between_statements.sql" suffix(, 0)
};

static const char migration_0027[] = {
#embed "../../sql/migrations/0027_compare_clocks.sql" suffix(, 0)
};

static const char migration_0028[] = {
#embed "../../sql/migrations/0028_settle_by_proof.sql" suffix(, 0)
};

static const char migration_0029[] = {
#embed "../../sql/migrations/0029_know_gateways.sql" suffix(, 0)
};

static const char migration_0030[] = {
#embed "../../sql/migrations/0030_limit_sessions.sql" suffix(, 0)
};

static const char migration_0031[] = {
#embed "../../sql/migrations/0031_close_uploads.sql" suffix(, 0)
};

static const struct {
    const char *name;
    const char *text;
} migrations[] = {
    {"0001_create_policy.sql", migration_0001},
    {"0002_create_ledger.sql", migration_0002},
    {"0003_create_gateway_role.sql", migration_0003},
    {"0004_create_recording.sql", migration_0004},
    {"0005_create_settling.sql", migration_0005},
    {"0006_loosen_grants.sql", migration_0006},
    {"0007_create_tickets.sql", migration_0007},
    {"0008_add_schemes_and_deliveries.sql", migration_0008},
    {"0009_create_multipart_uploads.sql", migration_0009},
    {"0010_create_sessions.sql", migration_0010},
    {"0011_create_remote_uploads.sql", migration_0011},
    {"0012_version_policy.sql", migration_0012},
    {"0013_index_ledger.sql", migration_0013},
    {"0014_keep_memberships.sql", migration_0014},
    {"0015_find_expired_days.sql", migration_0015},
    {"0016_validate_buckets.sql", migration_0016},
    {"0017_add_rotation_and_reset.sql", migration_0017},
    {"0018_create_bulk_changes.sql", migration_0018},
    {"0019_create_idempotency_keys.sql", migration_0019},
    {"0020_create_landings.sql", migration_0020},
    {"0021_ignore_order_of_actions.sql", migration_0021},
    {"0022_sum_issuances.sql", migration_0022},
    {"0023_speed_up_recording.sql", migration_0023},
    {"0024_check_by_domains.sql", migration_0024},
    {"0025_drop_between_sums.sql", migration_0025},
    {"0026_hold_nothing_between_statements.sql", migration_0026},
    {"0027_compare_clocks.sql", migration_0027},
    {"0028_settle_by_proof.sql", migration_0028},
    {"0029_know_gateways.sql", migration_0029},
    {"0030_limit_sessions.sql", migration_0030},
    {"0031_close_uploads.sql", migration_0031},
};

static const size_t count = sizeof migrations / sizeof migrations[0];

const char *embedded_migration_name(size_t index) {
    return index < count ? migrations[index].name : NULL;
}

const char *embedded_migration_text(size_t index) {
    return migrations[index].text;
}
