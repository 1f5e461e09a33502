"""Compares what clients were told with what the database holds."""

from collections import Counter

import intervals

# Shorter silences are the load's own rhythm.
GATEWAY_SILENCE, DATABASE_SILENCE = 0.3, 0.2
ISSUED = 201


def lost_links(cluster, answers):
    """Links that a client holds and that have no row."""
    ids = [answer.id for answer in answers if answer.id]
    return cluster.query(
        "SELECT count(*) FROM unnest(%s::uuid[]) AS l (id) WHERE NOT EXISTS (SELECT FROM issuances i WHERE i.id = l.id)",
        ids)[0][0]


def stale_links(answers, revokers):
    """Links that were asked for after a revoke was answered, and answered before the next grant was asked for."""
    spans = {revoker.user: revoker.without for revoker in revokers}
    return sum(1 for answer in answers if answer.status == ISSUED
               for begin, end in spans.get(answer.user, ()) if answer.sent > begin and answer.at < end)


def lost_changes(cluster, revokers):
    """Grants whose creation or removal was answered and is not there."""
    made = [grant for revoker in revokers for grant in revoker.grants]
    removed = [grant for revoker in revokers for grant, is_removed in list(revoker.grants.items()) if is_removed]
    return cluster.query("""
        SELECT (SELECT count(*) FROM unnest(%s::uuid[]) AS m (id) WHERE NOT EXISTS (SELECT FROM grants g WHERE g.id = m.id))
            + (SELECT count(*) FROM unnest(%s::uuid[]) AS r (id)
               WHERE EXISTS (SELECT FROM grants g WHERE g.id = r.id AND g.removed_at IS NULL))
        """, made, removed)[0][0]


def over_quota(cluster, answers, limits):
    """Links beyond the limit of their bucket's quota, by rows or by what clients hold; and counters that differ."""
    rows = dict(cluster.query("SELECT bucket, count(*) FROM issuances GROUP BY bucket"))
    held = Counter(answer.bucket for answer in answers if answer.id)
    beyond = sum(max(0, rows.get(bucket, 0) - limit, held[bucket] - limit) for bucket, limit in limits.items())
    wrong = cluster.query("SELECT coalesce(sum(abs(used - charged)), 0)::bigint FROM audit_quotas()")[0][0]
    return beyond + wrong


def exhausted(cluster, bucket, limit):
    return cluster.query("SELECT count(*) >= %s FROM issuances WHERE bucket = %s", limit, bucket)[0][0]


def unavailability(answers, writes, gateways, begin, end):
    """The longest silence of any gateway, and the longest part of one that was not the database's, in seconds.

    Then where the second was: the gateway, and seconds after the beginning.
    """
    outages = intervals.silences([at for at, *_ in writes if begin <= at <= end], begin, end, DATABASE_SILENCE)
    worst, own, where = 0.0, 0.0, None
    for gateway in gateways:
        issued = [one.at for one in answers
                  if one.gateway == gateway.number and one.status == ISSUED and begin <= one.at <= end]
        for span in intervals.silences(issued, begin, end, GATEWAY_SILENCE):
            served = intervals.without(span, gateway.away)
            worst = max(worst, intervals.length(served))
            for first, last in (part for one in served for part in intervals.without(one, outages)):
                if last - first > own:
                    own, where = last - first, (gateway.number, first - begin)
    return worst, own, where
