// Files of the project, carried inside the program as text with a NUL behind it.
#ifndef SLUICE_EMBEDDED_FILES_H
#define SLUICE_EMBEDDED_FILES_H

#include <stddef.h>

// openapi/sluice.yaml.
const char *_Nonnull embedded_contract(void);

// The name without directory, and the text, of the file at an index from 0; a name is null behind the last one.
const char *_Nullable embedded_migration_name(size_t index);
const char *_Nonnull embedded_migration_text(size_t index);

#endif
