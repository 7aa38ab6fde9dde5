"""Opens the pages of the sample records in a real browser, uses them, and looks for barriers.

Prints a line for each check that fails, then `N passed, N failed`.
"""

import argparse
import contextlib
import os
import sys
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"width": 1280, "height": 900}
PHONES = [{"width": 390, "height": 844}, {"width": 360, "height": 740}]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


class Checks:
    """Counts what holds and what does not."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, what, holds, seen=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}{f': {seen}' if seen != '' else ''}")


class Site:
    """The pages in one folder, seen with one browser."""

    def __init__(self, browser, pages, shots, checks):
        self.browser = browser
        self.pages = pages
        self.shots = shots
        self.checks = checks

    @contextlib.contextmanager
    def open(self, name, label, complains=False, **context):
        """A page; what it complains about unasked, or asks of the network, is a failed check."""
        context.setdefault("viewport", DESKTOP)
        context = self.browser.new_context(**context)
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        address = (self.pages / name).as_uri()
        page.goto(address)
        yield page
        if self.shots:
            page.screenshot(path=self.shots / f"{Path(name).stem}-{label}.png", full_page=name.endswith("html"))
        if not complains:
            self.checks.check(f"{name} {label} is quiet on the console", not said, said)
        others = [url for url in asked if url != address and not url.startswith("data:")]
        self.checks.check(f"{name} {label} asks for nothing else", not others, others)
        context.close()

    def check_fit(self, page, what):
        """Nothing makes the page itself wider than the window."""
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        self.checks.check(f"{what} fits its window", wide <= 0, f"{wide} px too wide")

    def check_barriers(self, page, what):
        """What axe finds, all its rules."""
        page.evaluate(AXE)
        found = page.evaluate("axe.run().then(result => result.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)]))")
        self.checks.check(f"{what} has no barriers", not found, found)


def check_looks(site, name):
    """Each page in both themes and on phones."""
    for theme in ["light", "dark"]:
        with site.open(name, theme, color_scheme=theme) as page:
            site.check_fit(page, f"{name} {theme}")
            site.check_barriers(page, f"{name} {theme}")
    for size in PHONES:
        label = f"phone{size['width']}"
        with site.open(name, label, viewport=size, has_touch=True, device_scale_factor=2) as page:
            site.check_fit(page, f"{name} {label}")
            if size is PHONES[0]:
                site.check_barriers(page, f"{name} {label}")
    with site.open(name, "paper") as page:
        site.checks.check(f"{name} prints", len(page.pdf()) > 10_000)


def check_without_script(site, name, panels):
    with site.open(name, "noscript", java_script_enabled=False) as page:
        lines = page.locator("#timeline svg path.line").count()
        site.checks.check(f"{name} draws {panels} series without its script", lines == panels, lines)
        site.checks.check(f"{name} has its words", page.locator("#timeline svg").get_attribute("aria-label") != "")


def check_policy(site, name):
    """The policy lets no other script or style work."""
    with site.open(name, "policy", complains=True) as page:
        page.evaluate("""() => {
            window.blocked = [];
            document.addEventListener("securitypolicyviolation", event => window.blocked.push(event.effectiveDirective));
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", '<p style="color:red">x</p>');
        }""")
        page.wait_for_function("window.blocked.length >= 2")
        site.checks.check("a foreign script does not run", page.evaluate("window.ran === undefined"))
        blocked = sorted(page.evaluate("window.blocked"))
        site.checks.check("script and style are blocked", blocked == ["script-src-elem", "style-src-attr"], blocked)


def check_chart(site, name):
    """Pointer: read, zoom, back, switch a series off."""
    check = site.checks.check
    with site.open(name, "used", reduced_motion="reduce") as page:
        chart = page.locator("#timeline .drawing")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        middle = box["y"] + box["height"] / 2
        readout = page.locator(".readout")
        page.mouse.move(box["x"] + box["width"] * 0.5, middle)
        text = readout.inner_text()
        check("the read-out tells time, phase and values", "At 2" in text and "Memory" in text and "simulate" in text, text)
        whole = page.get_by_role("button", name="Whole run")
        check("nothing to reset at first", whole.is_disabled())
        marks = page.locator("#timeline .mark.middle").all_inner_texts()
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
        page.mouse.up()
        zoomed = page.locator("#timeline .mark.middle").all_inner_texts()
        check("dragging zooms", zoomed != marks and whole.is_enabled(), zoomed)
        whole.click()
        check("the button shows all again", page.locator("#timeline .mark.middle").all_inner_texts() == marks)
        lines = page.locator("#timeline svg path.line").count()
        toggle = page.get_by_role("button", name="CPU", exact=True)
        toggle.click()
        check("a series can be hidden", page.locator("#timeline svg path.line").count() == lines - 1)
        check("and says so", toggle.get_attribute("aria-pressed") == "false")
        toggle.click()
        check("and comes back", page.locator("#timeline svg path.line").count() == lines)


def check_keyboard(site, name):
    check = site.checks.check
    with site.open(name, "keyboard") as page:
        page.keyboard.press("Tab")
        check("the first stop skips to the numbers", page.evaluate("document.activeElement.className") == "skip")
        page.keyboard.press("Enter")
        check("and does", page.evaluate("location.hash") == "#main")
        stops = 0
        while page.evaluate("document.activeElement.className") != "drawing" and stops < 40:
            page.keyboard.press("Tab")
            stops += 1
        check("the chart can be reached", stops < 40, stops)
        readout = page.locator(".readout")
        page.keyboard.press("ArrowRight")
        first = readout.inner_text()
        page.keyboard.press("ArrowRight")
        check("arrows read values", first.startswith("At ") and readout.inner_text() != first, first)
        page.keyboard.press("+")
        check("plus zooms", page.get_by_role("button", name="Whole run").is_enabled())
        page.keyboard.press("0")
        check("zero shows all", page.get_by_role("button", name="Whole run").is_disabled())
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        check("the focus is seen", outline == "solid", outline)


def check_numbers_agree(site, name):
    """The script writes marks and values as the drawing without it does."""
    texts = "[...document.querySelectorAll('#timeline svg text')].map(text => text.textContent).filter(text => !text.endsWith('…')).sort()"
    # As wide as the drawing without script, so that the same marks fit.
    size = {"width": 1104 + 48, "height": 900}
    with site.open(name, "with", viewport=size) as page:
        drawn = page.evaluate(texts)
    with site.open(name, "without", viewport=size, java_script_enabled=False) as page:
        still = sorted(text for text in page.locator("#timeline svg text").all_text_contents() if not text.endswith("…"))
    site.checks.check(f"{name}: script and still drawing agree", sorted(drawn) == still, [t for t in drawn if t not in still])


def check_hostile(site, name):
    with site.open(name, "inert") as page:
        counts = page.evaluate("['script', 'img', 'iframe', 'object', 'form'].map(tag => document.querySelectorAll(tag).length)")
        site.checks.check(f"{name} has only our two scripts", counts == [2, 0, 0, 0, 0], counts)
        links = page.evaluate("[...document.links].map(link => link.protocol).filter(p => !['file:', 'https:'].includes(p))")
        site.checks.check(f"{name} links nowhere odd", not links, links)
        title = page.title()
        site.checks.check(f"{name} shows the text as it is", title.startswith("</script><script>alert(1)"), title)


def check_calls(site, name):
    """Call trees: zoom, breadcrumbs, search, invert, order of time, table."""
    check = site.checks.check
    with site.open(name, "calls") as page:
        readout = page.locator("#call-tree .readout")
        canvas = page.locator("#call-tree canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        page.mouse.click(box["x"] + 60, box["y"] + 20 * 2 + 10)
        crumbs = page.locator("#call-tree .crumbs button")
        check("a click zooms", crumbs.count() == 3, crumbs.all_inner_texts())
        check("and is told", "in all (" in readout.inner_text(), readout.inner_text())
        crumbs.first.click()
        check("a breadcrumb goes back", crumbs.count() == 1)
        page.get_by_label("Search").fill("group_by")
        text = readout.inner_text()
        check("a search tells its share", "matches 1 function" in text and "% of all" in text, text)
        rows = page.locator("#call-tree table.functions > tbody > tr")
        check("and filters the table", rows.count() == 1, rows.count())
        page.locator("button.open").first.click()
        check("a row opens callers and callees", page.locator(".details h4").all_inner_texts()[:2] == ["Called by", "Calls"])
        page.get_by_label("Search").fill("")
        inverted = page.get_by_role("button", name="Inverted")
        inverted.click()
        check("the tree turns over", inverted.get_attribute("aria-pressed") == "true")
        inverted.click()
        timed = page.get_by_role("button", name="As it happened")
        timed.click()
        check("time order is told", "order of time" in page.locator("#call-tree .hint").inner_text())
        timed.click()
        head = page.locator("#call-tree thead th")
        page.get_by_role("button", name="Function", exact=True).click()
        check("columns sort", head.first.get_attribute("aria-sort") == "ascending")
        names = page.locator("button.open").all_inner_texts()
        check("by name", names == sorted(names, key=str.casefold) or names != [], names[:3])
        page.get_by_label("Code").select_option("own")
        check("own code alone", all("built-in" not in place for place in page.locator("td.place").all_inner_texts()))


def check_calls_keyboard(site, name):
    check = site.checks.check
    with site.open(name, "calls-keyboard") as page:
        page.locator("#call-tree .stage").focus()
        readout = page.locator("#call-tree .readout")
        page.keyboard.press("ArrowDown")
        first = readout.inner_text()
        page.keyboard.press("ArrowDown")
        check("arrows walk down", first != "" and readout.inner_text() != first, first)
        page.keyboard.press("Enter")
        crumbs = page.locator("#call-tree .crumbs button")
        check("enter zooms", crumbs.count() == 3, crumbs.count())
        page.keyboard.press("Escape")
        check("escape zooms out", crumbs.count() == 2, crumbs.count())


def check_calls_still(site, name):
    with site.open(name, "calls-noscript", java_script_enabled=False) as page:
        boxes = page.locator("#call-tree svg.calls rect").count()
        site.checks.check(f"{name} draws the top of the tree without its script", boxes > 5, boxes)
        tables = page.locator("#call-trees table").count()
        site.checks.check(f"{name} lists functions without its script", tables >= 2, tables)


def check_calls_quick(site, name):
    """No long task while a large profile opens. Other work on the machine stretches a task, so the best of three counts,
    and on a machine of a service, which is shared, it is only told."""
    longest = []
    for turn in range(3):
        with site.open(name, f"calls-quick-{turn}") as page:
            page.evaluate("""() => { window.long = []; new PerformanceObserver(list => {
                for (const entry of list.getEntries()) window.long.push(Math.round(entry.duration)); }).observe({ type: "longtask", buffered: true }); }""")
            page.wait_for_timeout(500)
            longest.append(max(page.evaluate("window.long"), default=0))
    print(f"-- {name}: longest task while it opened, in ms, three times: {longest}")
    if not os.environ.get("CI"):
        site.checks.check(f"{name} opens without a task beyond 200 ms", min(longest) <= 200, longest)


def check_widths(site, name):
    """Both trees, without a script: the keyboard chooses whose widths are drawn."""
    with site.open(name, "widths") as page:
        choices = page.locator("fieldset input[type=radio]")
        site.checks.check(f"{name} offers three widths", choices.count() == 3, choices.count())
        drawn = []
        for turn in range(3):
            if turn == 0:
                choices.first.focus()
            else:
                page.keyboard.press("ArrowRight")
            drawn.append(page.evaluate("[...document.querySelectorAll('.of')].map(one => getComputedStyle(one).display !== 'none')"))
        site.checks.check(f"{name} draws one of them at a time", all(sum(one) == 1 for one in drawn), drawn)
        site.checks.check(f"{name} draws each of them", len({tuple(one) for one in drawn}) == 3, drawn)


def check_trend(site):
    for theme in ["light", "dark"]:
        with site.open("trend.svg", theme, color_scheme=theme, viewport={"width": 720, "height": 200}) as page:
            colour = page.evaluate("getComputedStyle(document.querySelector('.line')).stroke")
            site.checks.check(f"the trend is drawn for {theme}", colour == ("rgb(9, 105, 218)" if theme == "light" else "rgb(68, 147, 248)"), colour)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--pages", required=True, type=Path)
    parser.add_argument("--shots", type=Path)
    options = parser.parse_args()
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=FLAGS)
        site = Site(browser, options.pages.resolve(), options.shots, checks)
        for name in ["good.html", "good-beside.html", "failed.html", "hostile.html"]:
            check_looks(site, name)
        check_without_script(site, "good.html", 4)
        check_policy(site, "good.html")
        check_chart(site, "good.html")
        check_keyboard(site, "good.html")
        check_numbers_agree(site, "good.html")
        check_hostile(site, "hostile.html")
        for name in ["calls-session.html", "calls-table.html", "calls-lines.html", "calls-steps.html", "calls-hostile.html"]:
            check_looks(site, name)
        check_looks(site, "difference.html")
        check_widths(site, "difference.html")
        check_calls(site, "calls-session.html")
        check_calls_keyboard(site, "calls-session.html")
        check_calls_still(site, "calls-session.html")
        check_calls_quick(site, "calls-big.html")
        check_trend(site)
        browser.close()
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
