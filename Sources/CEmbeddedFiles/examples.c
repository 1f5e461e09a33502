#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// What `sluice dev` serves besides the gateway. The name is the path in the repository, and the path at which the file
// is served.

static const char web_app_js[] = {
#embed "../../examples/web/app.js" suffix(, 0)
};

static const char web_index_html[] = {
#embed "../../examples/web/index.html" suffix(, 0)
};

static const char web_style_css[] = {
#embed "../../examples/web/style.css" suffix(, 0)
};

static const char sluice_js[] = {
#embed "../../clients/javascript/sluice.js" suffix(, 0)
};

static const struct {
    const char *name, *text;
} examples[] = {
    {"clients/javascript/sluice.js", sluice_js},
    {"examples/web/app.js", web_app_js},
    {"examples/web/index.html", web_index_html},
    {"examples/web/style.css", web_style_css},
};

const char *embedded_example_name(size_t index) {
    return index < sizeof examples / sizeof *examples ? examples[index].name : NULL;
}

const char *embedded_example_text(size_t index) {
    return examples[index].text;
}
