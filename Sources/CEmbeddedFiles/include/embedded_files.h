// Files of the project, carried inside the program. Texts have a NUL behind them.
#ifndef SLUICE_EMBEDDED_FILES_H
#define SLUICE_EMBEDDED_FILES_H

#include <stddef.h>

// openapi/sluice.yaml.
const char *_Nonnull embedded_contract(void);

// openapi/problems.md.
const char *_Nonnull embedded_problems(void);

// openapi/docs.js.
const char *_Nonnull embedded_docs_script(void);

// The name without directory, and the text, of the file at an index from 0; the name after the last one is null.
const char *_Nullable embedded_migration_name(size_t index);
const char *_Nonnull embedded_migration_text(size_t index);
const char *_Nullable embedded_function_name(size_t index);
const char *_Nonnull embedded_function_text(size_t index);

// The path in the repository, and the text, of the file at an index from 0; the path after the last one is null.
const char *_Nullable embedded_example_name(size_t index);
const char *_Nonnull embedded_example_text(size_t index);

// The path below console, and the content, of the file at an index from 0; the path after the last one is null.
const char *_Nullable embedded_console_name(size_t index);
const unsigned char *_Nonnull embedded_console_bytes(size_t index);
size_t embedded_console_size(size_t index);

#endif
