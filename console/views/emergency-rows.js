// Which rows concern a place, and lists of which only such rows are wanted.

/** Tests whether a ticket, a session or a form for `prefix` may reach something in `place`. */
export function reaches(prefix, place) {
  return prefix.startsWith(place) || place.startsWith(prefix);
}

/** Tests whether a key is `place`, or lies below it. */
export function lies(key, place) {
  return place === "" || place.endsWith("/") ? key.startsWith(place) : key === place;
}

/** Reads at most so many rows of a list, and keeps those that are wanted. */
export async function collect(page, id, query, most, keeps = () => true) {
  const pages = page.session.api.pages(id, { query: { ...query, pageSize: 500 }, signal: page.signal });
  let read = 0;
  const rows = [];
  while (!pages.done && read < most) {
    const next = await pages.next();
    // A page may be empty although more follow it, so that pages count as well.
    read += Math.max(next.length, 50);
    rows.push(...next.filter(keeps));
  }
  return { rows, isMore: !pages.done };
}
