// Completes what a person types in forms: names of buckets, groups and credentials.

const kept = new WeakMap();

/** Returns functions for `schemaForm`. Rows are read once a minute at most. */
export function suggestions(page) {
  const { session } = page;
  // Each sign-in has a signal of its own, and may see other rows.
  if (!kept.has(session.signal)) kept.set(session.signal, new Map());
  const cache = kept.get(session.signal);
  const list = (id, make) => async () => {
    if (!session.may(id)) return [];
    const old = cache.get(id);
    if (old && Date.now() - old.at < 60_000) return old.rows;
    const rows = session.api
      .pages(id, { query: { pageSize: 1000 }, signal: page.signal })
      .next()
      .then((items) => items.map(make));
    cache.set(id, { at: Date.now(), rows });
    rows.catch(() => cache.delete(id));
    return rows;
  };
  const groups = list("listGroups", (row) => ({ value: row.group ?? row.principal ?? row.name }));
  return {
    bucket: list("listBuckets", (row) => ({ value: row.name, label: row.provider })),
    credentialID: list("listStorageCredentials", (row) => ({ value: row.id, label: row.name })),
    principal: groups,
  };
}
