#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char contract[] = {
#embed "../../openapi/sluice.yaml" suffix(, 0)
};

static const char problems[] = {
#embed "../../openapi/problems.md" suffix(, 0)
};

static const char docs_script[] = {
#embed "../../openapi/docs.js" suffix(, 0)
};

const char *embedded_contract(void) {
    return contract;
}

const char *embedded_problems(void) {
    return problems;
}

const char *embedded_docs_script(void) {
    return docs_script;
}
