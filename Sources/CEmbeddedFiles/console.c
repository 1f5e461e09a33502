#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// One array and one line of the table for each file under console, sorted by name, and for what Debian's packages add.
// The name is the path after /console/.

static const unsigned char api_js[] = {
#embed "../../console/api.js"
};

static const unsigned char chart_js[] = {
#embed "../../console/chart.js"
};

static const unsigned char commands_js[] = {
#embed "../../console/commands.js"
};

static const unsigned char contract_js[] = {
#embed "../../console/contract.js"
};

static const unsigned char dialog_js[] = {
#embed "../../console/dialog.js"
};

static const unsigned char dom_js[] = {
#embed "../../console/dom.js"
};

static const unsigned char explanation_js[] = {
#embed "../../console/explanation.js"
};

static const unsigned char exports_js[] = {
#embed "../../console/exports.js"
};

static const unsigned char filters_js[] = {
#embed "../../console/filters.js"
};

static const unsigned char form_js[] = {
#embed "../../console/form.js"
};

static const unsigned char format_js[] = {
#embed "../../console/format.js"
};

static const unsigned char icon_svg[] = {
#embed "../../console/icon.svg"
};

static const unsigned char icons_js[] = {
#embed "../../console/icons.js"
};

static const unsigned char index_html[] = {
#embed "../../console/index.html"
};

static const unsigned char keys_js[] = {
#embed "../../console/keys.js"
};

static const unsigned char main_js[] = {
#embed "../../console/main.js"
};

static const unsigned char page_js[] = {
#embed "../../console/page.js"
};

static const unsigned char parts_js[] = {
#embed "../../console/parts.js"
};

static const unsigned char ranges_js[] = {
#embed "../../console/ranges.js"
};

static const unsigned char resource_js[] = {
#embed "../../console/resource.js"
};

static const unsigned char router_js[] = {
#embed "../../console/router.js"
};

static const unsigned char search_js[] = {
#embed "../../console/search.js"
};

static const unsigned char session_js[] = {
#embed "../../console/session.js"
};

static const unsigned char shell_js[] = {
#embed "../../console/shell.js"
};

static const unsigned char signin_js[] = {
#embed "../../console/signin.js"
};

static const unsigned char simulation_js[] = {
#embed "../../console/simulation.js"
};

static const unsigned char start_js[] = {
#embed "../../console/start.js"
};

static const unsigned char style_css[] = {
#embed "../../console/style.css"
};

static const unsigned char suggest_js[] = {
#embed "../../console/suggest.js"
};

static const unsigned char table_js[] = {
#embed "../../console/table.js"
};

static const unsigned char toast_js[] = {
#embed "../../console/toast.js"
};

static const unsigned char values_js[] = {
#embed "../../console/values.js"
};

static const unsigned char views_js[] = {
#embed "../../console/views.js"
};

static const unsigned char views_access_js[] = {
#embed "../../console/views/access.js"
};

static const unsigned char views_api_keys_js[] = {
#embed "../../console/views/api-keys.js"
};

static const unsigned char views_ask_js[] = {
#embed "../../console/views/ask.js"
};

static const unsigned char views_attention_js[] = {
#embed "../../console/views/attention.js"
};

static const unsigned char views_audit_js[] = {
#embed "../../console/views/audit.js"
};

static const unsigned char views_bucket_test_js[] = {
#embed "../../console/views/bucket-test.js"
};

static const unsigned char views_bucket_wizard_js[] = {
#embed "../../console/views/bucket-wizard.js"
};

static const unsigned char views_buckets_js[] = {
#embed "../../console/views/buckets.js"
};

static const unsigned char views_changes_js[] = {
#embed "../../console/views/changes.js"
};

static const unsigned char views_checks_js[] = {
#embed "../../console/views/checks.js"
};

static const unsigned char views_cors_js[] = {
#embed "../../console/views/cors.js"
};

static const unsigned char views_credentials_js[] = {
#embed "../../console/views/credentials.js"
};

static const unsigned char views_denials_js[] = {
#embed "../../console/views/denials.js"
};

static const unsigned char views_emergency_links_js[] = {
#embed "../../console/views/emergency-links.js"
};

static const unsigned char views_emergency_revoke_js[] = {
#embed "../../console/views/emergency-revoke.js"
};

static const unsigned char views_emergency_rows_js[] = {
#embed "../../console/views/emergency-rows.js"
};

static const unsigned char views_emergency_js[] = {
#embed "../../console/views/emergency.js"
};

static const unsigned char views_gateways_js[] = {
#embed "../../console/views/gateways.js"
};

static const unsigned char views_grant_changes_js[] = {
#embed "../../console/views/grant-changes.js"
};

static const unsigned char views_grants_js[] = {
#embed "../../console/views/grants.js"
};

static const unsigned char views_groups_js[] = {
#embed "../../console/views/groups.js"
};

static const unsigned char views_home_js[] = {
#embed "../../console/views/home.js"
};

static const unsigned char views_issuance_js[] = {
#embed "../../console/views/issuance.js"
};

static const unsigned char views_issuers_js[] = {
#embed "../../console/views/issuers.js"
};

static const unsigned char views_ledger_js[] = {
#embed "../../console/views/ledger.js"
};

static const unsigned char views_multipart_js[] = {
#embed "../../console/views/multipart.js"
};

static const unsigned char views_offboarding_js[] = {
#embed "../../console/views/offboarding.js"
};

static const unsigned char views_quota_changes_js[] = {
#embed "../../console/views/quota-changes.js"
};

static const unsigned char views_quota_parts_js[] = {
#embed "../../console/views/quota-parts.js"
};

static const unsigned char views_quotas_js[] = {
#embed "../../console/views/quotas.js"
};

static const unsigned char views_requests_js[] = {
#embed "../../console/views/requests.js"
};

static const unsigned char views_secrets_js[] = {
#embed "../../console/views/secrets.js"
};

static const unsigned char views_sign_in_js[] = {
#embed "../../console/views/sign-in.js"
};

static const unsigned char views_tickets_js[] = {
#embed "../../console/views/tickets.js"
};

static const unsigned char views_token_js[] = {
#embed "../../console/views/token.js"
};

static const unsigned char views_try_js[] = {
#embed "../../console/views/try.js"
};

static const unsigned char views_undo_js[] = {
#embed "../../console/views/undo.js"
};

static const unsigned char views_uploads_js[] = {
#embed "../../console/views/uploads.js"
};

static const unsigned char why_js[] = {
#embed "../../console/why.js"
};

// From libjs-chart.js.
static const unsigned char vendor_chart_js[] = {
#embed "/usr/share/javascript/chart.js/chart.min.js"
};

#define FILE(name, array) {name, array, sizeof array}

static const struct {
    const char *name;
    const unsigned char *bytes;
    size_t size;
} files[] = {
    FILE("api.js", api_js),
    FILE("chart.js", chart_js),
    FILE("commands.js", commands_js),
    FILE("contract.js", contract_js),
    FILE("dialog.js", dialog_js),
    FILE("dom.js", dom_js),
    FILE("explanation.js", explanation_js),
    FILE("exports.js", exports_js),
    FILE("filters.js", filters_js),
    FILE("form.js", form_js),
    FILE("format.js", format_js),
    FILE("icon.svg", icon_svg),
    FILE("icons.js", icons_js),
    FILE("index.html", index_html),
    FILE("keys.js", keys_js),
    FILE("main.js", main_js),
    FILE("page.js", page_js),
    FILE("parts.js", parts_js),
    FILE("ranges.js", ranges_js),
    FILE("resource.js", resource_js),
    FILE("router.js", router_js),
    FILE("search.js", search_js),
    FILE("session.js", session_js),
    FILE("shell.js", shell_js),
    FILE("signin.js", signin_js),
    FILE("simulation.js", simulation_js),
    FILE("start.js", start_js),
    FILE("style.css", style_css),
    FILE("suggest.js", suggest_js),
    FILE("table.js", table_js),
    FILE("toast.js", toast_js),
    FILE("values.js", values_js),
    FILE("vendor/chart.js", vendor_chart_js),
    FILE("views.js", views_js),
    FILE("views/access.js", views_access_js),
    FILE("views/api-keys.js", views_api_keys_js),
    FILE("views/ask.js", views_ask_js),
    FILE("views/attention.js", views_attention_js),
    FILE("views/audit.js", views_audit_js),
    FILE("views/bucket-test.js", views_bucket_test_js),
    FILE("views/bucket-wizard.js", views_bucket_wizard_js),
    FILE("views/buckets.js", views_buckets_js),
    FILE("views/changes.js", views_changes_js),
    FILE("views/checks.js", views_checks_js),
    FILE("views/cors.js", views_cors_js),
    FILE("views/credentials.js", views_credentials_js),
    FILE("views/denials.js", views_denials_js),
    FILE("views/emergency-links.js", views_emergency_links_js),
    FILE("views/emergency-revoke.js", views_emergency_revoke_js),
    FILE("views/emergency-rows.js", views_emergency_rows_js),
    FILE("views/emergency.js", views_emergency_js),
    FILE("views/gateways.js", views_gateways_js),
    FILE("views/grant-changes.js", views_grant_changes_js),
    FILE("views/grants.js", views_grants_js),
    FILE("views/groups.js", views_groups_js),
    FILE("views/home.js", views_home_js),
    FILE("views/issuance.js", views_issuance_js),
    FILE("views/issuers.js", views_issuers_js),
    FILE("views/ledger.js", views_ledger_js),
    FILE("views/multipart.js", views_multipart_js),
    FILE("views/offboarding.js", views_offboarding_js),
    FILE("views/quota-changes.js", views_quota_changes_js),
    FILE("views/quota-parts.js", views_quota_parts_js),
    FILE("views/quotas.js", views_quotas_js),
    FILE("views/requests.js", views_requests_js),
    FILE("views/secrets.js", views_secrets_js),
    FILE("views/sign-in.js", views_sign_in_js),
    FILE("views/tickets.js", views_tickets_js),
    FILE("views/token.js", views_token_js),
    FILE("views/try.js", views_try_js),
    FILE("views/undo.js", views_undo_js),
    FILE("views/uploads.js", views_uploads_js),
    FILE("why.js", why_js),
};

static const size_t count = sizeof files / sizeof files[0];

const char *embedded_console_name(size_t index) {
    return index < count ? files[index].name : NULL;
}

const unsigned char *embedded_console_bytes(size_t index) {
    return files[index].bytes;
}

size_t embedded_console_size(size_t index) {
    return files[index].size;
}
