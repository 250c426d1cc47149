"""The plot of benches/run: cost against number of files and number of sandboxes, as an SVG.

Both axes are logarithmic. Colours are read on a light and on a dark page.
"""

import math

WIDTH, HEIGHT, LEFT, TOP, INNER = 920, 440, 62, 46, 330
TALL = 250

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 13px }
  .axis { stroke: #8c959f; fill: none }
  .grid { stroke: #8c959f; stroke-opacity: .25 }
  .line { fill: none; stroke-width: 2 }
  .git { stroke-dasharray: 5 4 }
  .c0 { stroke: #0969da; fill: #0969da } .c1 { stroke: #1a7f37; fill: #1a7f37 }
  .c2 { stroke: #bc4c00; fill: #bc4c00 } .c3 { stroke: #8250df; fill: #8250df }
  .g0 { stroke: #57606a; fill: #57606a } .g1 { stroke: #9a6700; fill: #9a6700 }
  .c4 { stroke: #bf3989; fill: #bf3989 } .c5 { stroke: #0a7d84; fill: #0a7d84 }
  .c6 { stroke: #6e7781; fill: #6e7781 }
  .line.c0, .line.c1, .line.c2, .line.c3, .line.c4, .line.c5, .line.c6, .line.g0, .line.g1 { fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .c0 { stroke: #58a6ff; fill: #58a6ff } .c1 { stroke: #3fb950; fill: #3fb950 }
    .c2 { stroke: #f0883e; fill: #f0883e } .c3 { stroke: #bc8cff; fill: #bc8cff }
    .c4 { stroke: #ff80c8; fill: #ff80c8 } .c5 { stroke: #39c5cf; fill: #39c5cf }
    .c6 { stroke: #b1bac4; fill: #b1bac4 }
    .g0 { stroke: #9198a1; fill: #9198a1 } .g1 { stroke: #d29922; fill: #d29922 }
  }
"""


def svg(by_files, by_count):
    """Two panels; samples by number of files and by number of sandboxes."""
    files = [
        ("git worktree add", "g0", curve(by_files, "new", "git")),
        ("git worktree remove", "g1", curve(by_files, "rm", "git")),
        ("new", "c0", curve(by_files, "new", "ours")),
        ("new, a spare ready", "c1", curve(by_files, "spare", "ours")),
        ("rm", "c2", curve(by_files, "rm", "ours")),
        ("restore", "c3", curve(by_files, "restore", "ours")),
        ("list", "c4", curve(by_files, "list", "ours")),
        ("reap", "c5", curve(by_files, "reap", "ours")),
        ("list --names", "c6", curve(by_files, "names", "ours")),
    ]
    count = [
        ("git worktree add", "g0", curve(by_count, "new", "git")),
        ("git worktree list", "g1", curve(by_count, "names", "git")),
        ("new", "c0", curve(by_count, "new", "ours")),
        ("rm", "c2", curve(by_count, "rm", "ours")),
        ("restore", "c3", curve(by_count, "restore", "ours")),
        ("list", "c4", curve(by_count, "list", "ours")),
        ("reap", "c5", curve(by_count, "reap", "ours")),
        ("list --names", "c6", curve(by_count, "names", "ours")),
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="Cost against number of files and number of sandboxes">',
        f"<style>{STYLE}</style>",
        *panel(LEFT, "one sandbox, by files in the repository", "files", files),
        *panel(LEFT + INNER + 130, "ten files, by sandboxes already there", "sandboxes", count),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def curve(by_number, key, who):
    """Points of (number, milliseconds); none where nothing was measured."""
    medians = ((number, samples[key].median(who)) for number, samples in sorted(by_number.items()))
    return [(number, seconds * 1000) for number, seconds in medians if seconds is not None]


def panel(left, title, unit, curves):
    curves = [curve for curve in curves if curve[2]]
    numbers = sorted({x for _, _, points in curves for x, _ in points})
    costs = [y for _, _, points in curves for _, y in points]
    low, high = 10 ** math.floor(math.log10(min(costs))), 10 ** math.ceil(math.log10(max(costs)))
    span = math.log(numbers[-1] / numbers[0]) or 1

    def across(x):
        return round(left + 16 + (INNER - 32) * math.log(x / numbers[0]) / span, 1)

    def down(y):
        return round(TOP + TALL * (1 - math.log(y / low) / math.log(high / low)), 1)

    yield f'<text class="title" x="{left}" y="{TOP - 22}">{title}</text>'
    yield f'<path class="axis" d="M{left} {TOP}V{TOP + TALL}H{left + INNER}"/>'
    tick = low
    while tick <= high:
        yield f'<path class="grid" d="M{left} {down(tick)}H{left + INNER}"/>'
        label = f"{tick / 1000:g} s" if tick >= 1000 else f"{tick:g} ms"
        yield f'<text x="{left - 8}" y="{down(tick) + 4}" text-anchor="end">{label}</text>'
        tick *= 10
    for number in numbers:
        yield f'<text x="{across(number)}" y="{TOP + TALL + 18}" text-anchor="middle">{number:,}</text>'
    yield f'<text x="{left + INNER}" y="{TOP + TALL + 36}" text-anchor="end">{unit}</text>'
    for index, (name, colour, points) in enumerate(curves):
        way = "L".join(f"{across(x)} {down(y)}" for x, y in points)
        kind = f"{colour} git" if colour.startswith("g") else colour
        yield f'<path class="line {kind}" d="M{way}"/>'
        yield from (f'<circle class="{colour}" cx="{across(x)}" cy="{down(y)}" r="3"/>' for x, y in points)
        x, y = left + 150 * (index % 2), TOP + TALL + 58 + 18 * (index // 2)
        yield f'<path class="line {kind}" d="M{x} {y - 4}h22"/>'
        yield f'<text x="{x + 28}" y="{y}">{name}</text>'
