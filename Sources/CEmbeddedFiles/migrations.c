#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// One array and one line of the table for each file under sql/migrations, in their order.

static const char migration_0001[] = {
#embed "../../sql/migrations/0001_create_schema.sql" suffix(, 0)
};

static const char migration_0002[] = {
#embed "../../sql/migrations/0002_create_refusals.sql" suffix(, 0)
};

static const char migration_0003[] = {
#embed "../../sql/migrations/0003_make_rules_unique.sql" suffix(, 0)
};

static const char migration_0004[] = {
#embed "../../sql/migrations/0004_console_sign_in.sql" suffix(, 0)
};

static const char migration_0005[] = {
#embed "../../sql/migrations/0005_limit_roles.sql" suffix(, 0)
};

static const char migration_0006[] = {
#embed "../../sql/migrations/0006_tell_gateways_apart.sql" suffix(, 0)
};

static const char migration_0007[] = {
#embed "../../sql/migrations/0007_sum_landings_and_callers.sql" suffix(, 0)
};

static const char migration_0008[] = {
#embed "../../sql/migrations/0008_name_public_endpoints.sql" suffix(, 0)
};

static const char migration_0009[] = {
#embed "../../sql/migrations/0009_open_protocols.sql" suffix(, 0)
};

static const char migration_0010[] = {
#embed "../../sql/migrations/0010_note_deletions.sql" suffix(, 0)
};

static const char migration_0011[] = {
#embed "../../sql/migrations/0011_index_new_actions.sql" suffix(, 0)
};

static const char migration_0012[] = {
#embed "../../sql/migrations/0012_list_and_delete.sql" suffix(, 0)
};

static const struct {
    const char *name;
    const char *text;
} migrations[] = {
    {"0001_create_schema.sql", migration_0001},
    {"0002_create_refusals.sql", migration_0002},
    {"0003_make_rules_unique.sql", migration_0003},
    {"0004_console_sign_in.sql", migration_0004},
    {"0005_limit_roles.sql", migration_0005},
    {"0006_tell_gateways_apart.sql", migration_0006},
    {"0007_sum_landings_and_callers.sql", migration_0007},
    {"0008_name_public_endpoints.sql", migration_0008},
    {"0009_open_protocols.sql", migration_0009},
    {"0010_note_deletions.sql", migration_0010},
    {"0011_index_new_actions.sql", migration_0011},
    {"0012_list_and_delete.sql", migration_0012},
};

static const size_t count = sizeof migrations / sizeof migrations[0];

const char *embedded_migration_name(size_t index) {
    return index < count ? migrations[index].name : NULL;
}

const char *embedded_migration_text(size_t index) {
    return migrations[index].text;
}
