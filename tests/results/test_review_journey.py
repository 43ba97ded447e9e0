"""The review in Chromium, the whole way on handwritten digits: names, merges, lasso, queue, undo, export, round."""

import csv
import io
import shutil

import pytest
from browsing import digits_run, edits, opened, served, settled, until, words

pytest.importorskip("playwright", reason="needs playwright, which the extra dev installs")

from playwright.sync_api import expect

from novakind.data.paths import list_items

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_whole_way_on_digits(browser, tmp_path, tmp_path_factory):
    run = digits_run(tmp_path, novel=7)
    with served(run) as address:
        page, mistakes = opened(browser, address)
        name_five(page, run)
        accept_a_merge(page)
        lasso(page)
        answer_the_queue(page)
        undo_ten(page, run)
        export(page, tmp_path_factory.mktemp("downloads"))
        learn_again(page, run)
        assert mistakes == []


def name_five(page, run):
    names = ["seven", "five", "six", "eight", "nine"]
    page.locator("#new-cards input.name").first.focus()
    for name in names:  # by keyboard alone: Enter saves and goes on
        page.keyboard.type(name)
        page.keyboard.press("Enter")
    assert words(page) == "Undo: name new-5 “nine”"
    expect(page.locator("#saved-text")).to_have_text("Saved")
    assert [one["name"] for one in edits(run)] == names
    fields = page.locator("#new-cards input.name")
    assert [fields.nth(place).input_value() for place in range(5)] == names
    fields.nth(5).focus()
    page.keyboard.type("Seven")  # the name of another
    expect(page.locator("#hint")).to_contain_text("new-6 → seven")
    page.keyboard.press("Enter")
    expect(page.locator("#merge-words")).to_contain_text("new-6 disappears into seven")
    page.keyboard.press("Escape")
    expect(page.locator("#merge")).to_be_hidden()
    assert len(edits(run)) == 5


def accept_a_merge(page):
    first = page.locator("#merges .pair").first
    expect(first.locator(".reason")).to_contain_text("%")
    assert first.locator(".item").count() >= 2
    title = first.locator(".first").get_attribute("aria-label")
    before = page.locator("#new-cards .card").count()
    first.locator(".first").click()
    assert words(page) == f"Undo: {title[0].lower()}{title[1:]}"
    assert page.locator("#new-cards .card").count() == before - 1
    second = page.locator("#merges .pair").first
    pair = second.get_attribute("data-pair")
    second.get_by_text("These are different").click()
    assert "different" in words(page)
    expect(page.locator(f"[data-pair='{pair}']")).to_have_count(0)


def lasso(page):
    page.locator("#lasso").click()
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 60)
    page.mouse.down()
    for x, y in ((0.5, 0.08), (0.5, 0.6), (0.03, 0.6)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()
    total = page.evaluate("data.map.items.length")
    number = page.evaluate("chosen.count")
    assert 0 < number < total
    expect(page.locator("#actions-count")).to_have_text(f"{number} of {total}")
    page.locator("#zoom-in").click()
    assert page.evaluate("lasso.points.length") > 3  # it stays
    page.keyboard.press("c")
    assert words(page) == f"Undo: make new-8 of {number} items"
    expect(page.locator("#actions")).to_be_hidden()
    page.keyboard.press("Control+z")
    settled(page)
    page.locator("#lasso").click()


def answer_the_queue(page):
    page.evaluate("location.hash = '#/queue'")
    until(page, "queue.list.length > 5")
    total = page.evaluate("queue.total")
    asked = []
    for key in ("y", "n", "1", "y", "i", "y", "y"):
        asked.append(page.evaluate("queue.list[queue.place].item"))
        page.keyboard.press(key)
    settled(page)
    assert len(set(asked)) == 7
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#queue-said")).to_contain_text("You said")
    page.keyboard.press("Escape")
    expect(page.locator("#view-queue")).to_be_hidden()
    page.evaluate("location.hash = '#/queue'")
    expect(page.locator("#queue-progress")).to_have_text(f"5 of {total - 1}")  # one is ignored, one was only denied
    page.evaluate("location.hash = ''")


def undo_ten(page, run):
    before = len(edits(run))
    for _ in range(10):
        page.keyboard.press("Control+z")
    settled(page)
    assert [one["verb"] for one in edits(run)[before:]] == ["undo"] * 10
    assert words(page, "redo") != "Nothing to redo"
    for _ in range(10):
        page.keyboard.press("Control+Shift+z")
    assert words(page, "redo") == "Nothing to redo"
    assert "Undo: confirm 1 item" in words(page)


def export(page, downloads):
    page.locator("#export-menu summary").click()
    with page.expect_download() as download:
        page.locator("[data-export=csv]").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert {"confirmed", "suggested"} <= {value for row in rows for value in row.values()}
    assert {"five", "nine"} <= {value for row in rows for value in row.values()}
    listed = list_items(shutil.move(download.value.path(), downloads / "labels.csv"))  # as a next round reads it
    assert len(listed.files) > 500
    assert all(file.is_file() for file in listed.files)
    confirmed = {row["category"] for row in rows if row["status"] == "confirmed"} & {
        "five",
        "six",
        "seven",
        "eight",
        "nine",
    }
    assert confirmed
    assert confirmed <= set(listed.labels)


def learn_again(page, run):
    page.locator("#round-open").click()
    expect(page.locator("#round-plan")).to_contain_text("nine")
    page.locator("#round-start").click()
    until(page, "round.state?.state === 'done' || round.state?.error", 240)
    assert page.evaluate("round.state.error") is None
    expect(page.locator("#round-words")).to_contain_text("run-2")
    assert (run.parent / "run-2" / "predictions.csv").exists()


def test_a_category_is_split_after_the_preview_was_adjusted(browser, tmp_path):
    run = digits_run(tmp_path, novel=4)
    with served(run) as address:
        page, mistakes = opened(browser, address)
        largest = page.evaluate("living().filter(one => one.new).sort((a, b) => b.size - a.size)[0].id")
        page.locator(f"[data-category='{largest}'] .card-actions a").click()
        page.locator("#shelf-split").click()
        page.wait_for_selector(".part .item")
        page.locator("#split-count button").nth(1).click()  # three parts
        expect(page.locator(".part")).to_have_count(3)
        page.locator("#split-count button").nth(0).click()
        expect(page.locator(".part")).to_have_count(2)
        moved = int(page.locator(".part").nth(0).locator(".item").nth(0).get_attribute("data-item"))
        page.locator(".part").nth(0).locator(".item").nth(0).click()
        page.keyboard.press("2")
        expect(page.locator(f".part >> nth=1 >> [data-item='{moved}']")).to_have_count(1)
        page.locator("#split-accept").click()
        expect(page.locator("#view-split")).to_be_hidden()
        made = edits(run)[-1]
        assert made["verb"] == "split"
        assert moved in made["parts"][1]
        until(page, "document.activeElement.matches('input.name')")
        page.keyboard.type("the other one")
        page.keyboard.press("Enter")
        assert words(page).endswith("“the other one”")
        assert edits(run)[-1]["category"] == made["ids"][0]
        assert mistakes == []
