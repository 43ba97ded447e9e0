"""The review in Chromium: selecting, two people, hostile names, narrow screens, every kind of data."""

import pytest
from browsing import edits, opened, served, settled, until, words
from runs import HOSTILE, films, waves, write_run

from novakind.modality.display import Texts

pytest.importorskip("playwright", reason="needs playwright, which the extra dev installs")

from playwright.sync_api import expect

TOO_WIDE = """document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 150))"""

COVERED = """[...document.querySelectorAll('#export-list button')].filter(one => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return [left + 4, right - 4].some(x => !one.contains(document.elementFromPoint(x, (top + bottom) / 2)));
}).map(one => one.outerHTML)"""

NAMELESS = """[...document.querySelectorAll('button, input, select, a, summary')].filter(one =>
  !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length || one.title))
  .map(one => one.outerHTML)"""


def test_items_are_selected_and_sent_elsewhere(browser, tmp_path):
    run = write_run(tmp_path / "run", items=300)
    with served(run) as address:
        page, mistakes = opened(browser, address)
        page.evaluate("location.hash = '#/category/2'")
        cells = page.locator(".cell-item:visible")
        page.wait_for_selector(".cell-item[aria-label]")
        total = page.evaluate("shelf.shown.length")
        cells.nth(1).click()
        cells.nth(4).click(modifiers=["Shift"])
        cells.nth(6).click(modifiers=["Control"])
        expect(page.locator("#actions-count")).to_have_text(f"5 of {total}")
        page.keyboard.press("Escape")
        expect(page.locator("#actions")).to_be_hidden()
        first, last = cells.nth(0).bounding_box(), cells.nth(2).bounding_box()
        page.mouse.move(first["x"] - 5, first["y"] + 5)  # the rubber band
        page.mouse.down()
        page.mouse.move(last["x"] + 20, last["y"] + 30, steps=5)
        page.mouse.up()
        expect(page.locator("#actions-count")).to_have_text(f"3 of {total}")
        page.keyboard.press("m")
        page.keyboard.type("do")
        page.keyboard.press("Enter")
        assert words(page) == "Undo: move 3 items to dog"
        page.locator("#shelf-grid").focus()
        page.keyboard.press("Home")
        page.keyboard.press(" ")
        page.keyboard.press("y")
        assert words(page) == "Undo: confirm 1 item"
        expect(page.locator("[data-status=confirmed]:visible")).to_have_count(1)
        for key, text in (("n", "keep 1 item out of new-1"), ("i", "ignore 1 item"), ("c", "make new-3 of 1 item")):
            cells.nth(2).click()
            page.keyboard.press(key)
            assert words(page) == f"Undo: {text}"
        cells.nth(3).click()
        page.keyboard.press("l")
        expect(page.locator("#shelf-title")).to_contain_text("Most like")
        expect(page.locator("#actions-count")).to_contain_text("24 of")
        page.keyboard.press("Escape")
        page.evaluate("location.hash = '#/category/2'")
        page.locator("#shelf-high").evaluate("e => { e.value = 60; e.dispatchEvent(new Event('input')); }")
        assert page.evaluate("shelf.shown.every(item => table.probability[item] <= 0.6)")
        page.locator("#shelf-sort").select_option("name")
        until(page, "shelf.sort === 'name' && table.order")
        assert mistakes == []


def test_two_people_see_each_other_and_a_conflict_is_shown(browser, tmp_path):
    run = write_run(tmp_path / "run")
    with served(run) as address:
        one, mistakes = opened(browser, address)
        two, _ = opened(browser, address)
        one.locator("#new-cards input.name").first.fill("owl")
        one.keyboard.press("Enter")
        expect(two.locator("#new-cards input.name").first).to_have_value("owl", timeout=10_000)
        expect(two.locator("#notices")).to_contain_text("Somebody else: named a category “owl”")
        two.evaluate("refresh = () => Promise.resolve()")  # has not seen what comes next
        one.locator("#new-cards input.name").first.fill("lynx")
        one.keyboard.press("Enter")
        settled(one)
        two.evaluate("decide('rename', { category: 2, name: 'fox' })")
        expect(two.locator("#notices .warn")).to_contain_text("somebody else")
        assert [edit["name"] for edit in edits(run)] == ["owl", "lynx"]
        assert mistakes == []


def test_hostile_names_stay_text_and_every_control_has_a_name(browser, tmp_path):
    names = ["cat", HOSTILE, "new-1", "new-2", "new-3"]
    paths = [f"{HOSTILE}/{number}.png" for number in range(60)]
    run = write_run(tmp_path / "run", names=names, paths=paths, data=HOSTILE)
    with served(run) as address:
        page, mistakes = opened(browser, address, width=390, height=844, has_touch=True)
        page.locator("#new-cards input.name").first.fill(HOSTILE + "2")
        page.keyboard.press("Enter")
        settled(page)
        for place in ("", "#/category/2", "#/queue", "#/split/2", "#/ignored"):
            page.evaluate(f"location.hash = '{place}'")
            settled(page)
            page.wait_for_timeout(150)
            assert page.evaluate(TOO_WIDE) == [], place
            page.locator("#export-menu summary").click()
            assert page.evaluate(COVERED) == [], place
            page.locator("#export-menu summary").click()
        page.evaluate("location.hash = ''")
        assert page.evaluate(NAMELESS) == []
        assert page.locator("img[src=x]").count() == 0
        assert mistakes == []


KINDS = {
    "series": (waves, ".cell-item .wave", "#queue-picture .signal-chart"),
    "video": (films, ".cell-item .clip img", "#queue-picture .film"),
    "text": (
        lambda run: Texts(lambda item: f"what item {item} says"),
        ".cell-item .said",
        "#queue-picture .whole-text",
    ),
    "features": (lambda run: None, ".cell-item .spark", "#queue-picture .spark"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_is_seen(browser, tmp_path, kind):
    make, tile, large = KINDS[kind]
    run = write_run(tmp_path / "run", items=90)
    with served(run, make(run)) as address:
        page, mistakes = opened(browser, address)
        assert page.locator("#new-cards .item").count() > 8
        page.evaluate("location.hash = '#/category/2'")
        page.wait_for_selector(tile, state="attached")
        page.evaluate("location.hash = '#/queue'")
        page.wait_for_selector(large, state="attached")
        if kind == "video":
            button = page.locator("#queue-picture .screen")
            label = button.get_attribute("aria-label")
            page.keyboard.press(" ")
            assert button.get_attribute("aria-label") != label
        page.evaluate("location.hash = ''")
        page.locator("#new-cards .item").first.click()
        page.locator("[data-viewer=confirm]").click()
        assert words(page) == "Undo: confirm 1 item"
        assert mistakes == []


def test_a_label_that_is_right_is_not_doubted_again(browser, tmp_path):
    labels = ["dog" if number % 7 == 0 else "" for number in range(60)]
    run = write_run(tmp_path / "run", labels=labels)
    with served(run) as address:
        page, mistakes = opened(browser, address)
        doubt = page.locator("#labels-list .doubt")
        path = doubt.first.locator("code").text_content()
        before = doubt.count()
        doubt.first.get_by_text("It is dog").click()
        assert words(page) == "Undo: confirm 1 item"
        expect(doubt).to_have_count(before - 1)
        page.reload()
        page.wait_for_selector("#labels-list .doubt")
        assert path not in doubt.locator("code").all_text_contents()
        assert mistakes == []
