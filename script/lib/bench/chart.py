"""Rate and p99 against connections, as SVG."""

import math
from html import escape

WIDTH, HEIGHT = 960, 480
TOP, BOTTOM = 118, 420
PANELS = ((74, 352), (548, 826))
INK, MUTED, GRID, PAPER = "#1c2430", "#5b6675", "#e3e7ec", "#ffffff"
# By the part of the name that tells the loads apart; in the order in which they are drawn, the gateway last and on top.
STYLES = (
    ("nginx", "nginx constant", "#7b8794", 2, "5 4"),
    ("Python", "FastAPI service", "#c2571a", 2, ""),
    ("pgbench", "pgbench insert", "#0f8a6d", 2, "2 4"),
    ("POST /v1/presigned-urls", "Sluice", "#1f5fd0", 3.5, ""),
)


def drawing(parts):
    part = parts["issue"]
    lines = []
    for word, label, color, width, dashes in STYLES:
        points = sorted((one["connections"], one["rate"], one["p99Milliseconds"]) for one in part["series"]
                        if one["name"] == word or word in one["name"] and not one["name"].startswith("POST"))
        if points:
            lines.append((label, color, width, dashes, points))
    ticks = sorted({connections for *_, points in lines for connections, *_ in points})
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" role="img"'
        ' aria-label="Rate and p99 against connections">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{PAPER}"/>',
        _text(28, 36, "Presigned URLs, each recorded durably before it is answered", 17, INK, weight=600),
        _text(28, 58, f"{part['date'][:10]}, {part['machine']}; server, database and load on the same cores", 12, MUTED),
    ]
    for (left, right), title, column in zip(PANELS, ("requests a second", "p99, milliseconds"), (1, 2)):
        if lines:
            pieces += _panel(left, right, title, column, lines, ticks)
    return "\n".join([*pieces, "</svg>"]) + "\n"


def _panel(left, right, title, column, lines, ticks):
    values = [point[column] for *_, points in lines for point in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    vertical = lambda value: BOTTOM - (math.log10(value) - low) / (high - low) * (BOTTOM - TOP)
    first, last = math.log2(ticks[0]), max(math.log2(ticks[-1]), math.log2(ticks[0]) + 1)
    horizontal = lambda count: left + (math.log2(count) - first) / (last - first) * (right - left)
    pieces = [_text(left - 46, TOP - 14, title, 13, INK, weight=600)]
    for power in range(low, high + 1):
        height = vertical(10 ** power)
        pieces.append(f'<line x1="{left}" x2="{right}" y1="{height:.1f}" y2="{height:.1f}" stroke="{GRID}"/>')
        pieces.append(_text(left - 8, height + 4, _short(10 ** power), 12, MUTED, anchor="end"))
    for count in ticks:
        pieces.append(_text(horizontal(count), BOTTOM + 20, str(count), 12, MUTED, anchor="middle"))
    pieces.append(_text((left + right) / 2, BOTTOM + 42, "connections", 12, MUTED, anchor="middle"))
    for label, color, width, dashes, points in lines:
        path = " ".join(f"{horizontal(point[0]):.1f},{vertical(point[column]):.1f}" for point in points)
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        pieces.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"{dash}'
                      ' stroke-linejoin="round" stroke-linecap="round"/>')
        for point in points:
            pieces.append(f'<circle cx="{horizontal(point[0]):.1f}" cy="{vertical(point[column]):.1f}" r="{width + 1}"'
                          f' fill="{color}" stroke="{PAPER}" stroke-width="1.5"/>')
    return pieces + _labels(lines, column, horizontal(ticks[-1]), vertical)


def _labels(lines, column, right, vertical):
    """Names and last values beside the ends of the lines, kept apart from each other."""
    ends = sorted((vertical(points[-1][column]), label, color, points[-1][column]) for label, color, _, _, points in lines)
    heights = []
    for height, *_ in ends:
        heights.append(max(height, heights[-1] + 30 if heights else height))
    excess = max(0, heights[-1] - BOTTOM)
    pieces = []
    for height, (_, label, color, value) in zip(heights, ends):
        pieces.append(_text(right + 12, height - excess, label, 12, color, weight=600))
        pieces.append(_text(right + 12, height - excess + 14, _short(value), 12, MUTED))
    return pieces


def _short(value):
    if value >= 1_000_000:
        return f"{value / 1_000_000:,.0f} M"
    if value >= 10_000:
        return f"{value / 1000:,.0f} k"
    if value >= 1:
        return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
    return f"{value:.2g}"


def _text(x, y, text, size, color, anchor="start", weight=400):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}"'
            f' font-weight="{weight}">{escape(text)}</text>')
