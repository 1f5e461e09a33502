#include "embedded_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// One array and one line of the table for each file under console, sorted by name, and for what Debian's packages add.
// The name is the path after /console/.

static const unsigned char icon_svg[] = {
#embed "../../console/icon.svg"
};

static const unsigned char index_html[] = {
#embed "../../console/index.html"
};

static const unsigned char style_css[] = {
#embed "../../console/style.css"
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
    FILE("icon.svg", icon_svg),
    FILE("index.html", index_html),
    FILE("style.css", style_css),
    FILE("vendor/chart.js", vendor_chart_js),
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
