#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char contract[] = {
#embed "../../openapi/sluice.yaml" suffix(, 0)
};

const char *embedded_contract(void) {
    return contract;
}
