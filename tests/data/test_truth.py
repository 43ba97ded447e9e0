"""A truth, by the names of files or by what texts say."""

from dataclasses import replace

import numpy as np
import pytest

from novakind.data.collection import Collection, from_arrays
from novakind.data.truth import with_truth
from novakind.errors import UserError


def files(*labels: str) -> Collection:
    collection = from_arrays(np.zeros((len(labels), 1)), np.array(labels))
    return replace(collection, paths=tuple(f"f{number}.png" for number in range(len(labels))))


def texts(*pairs: tuple[str, str]) -> Collection:
    said, labels = zip(*pairs, strict=True)
    return from_arrays(np.array(said, dtype=object), np.array(labels))


def told(collection: Collection) -> list[str]:
    """What `truth` says of each item, by name."""
    return [collection.truth_classes[number] if number >= 0 else "" for number in collection.truth]


def test_it_scores_but_does_not_train(tmp_path):
    collection = files("cat", "dog", "", "", "", "")
    table = tmp_path / "truth.csv"
    table.write_text(
        "path,label\nf0.png,dog\nf1.png,fox\nf2.png,wolf\nf3.png,cat\nf4.png,bear\nelsewhere.png,owl\nf5.png,\n"
    )
    result = with_truth(collection, table)
    assert result.classes == ("cat", "dog")
    np.testing.assert_array_equal(result.labels, collection.labels)
    assert result.truth_classes == ("cat", "dog", "bear", "wolf")  # known ones first; a label is not overruled
    assert told(result) == ["cat", "dog", "wolf", "cat", "bear", ""]
    assert result.digest() == collection.digest()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "path,label\nx/f2.png,wolf\n",
            'names no item of the data .*first path is "x/f2.png", the data have "f0.png"',
        ),
        ("name,label\nf2.png,wolf\n", 'has no column "path"'),
        ("path,label\nf2.png,\n", "labels no item"),
        (None, "does not exist"),
    ],
)
def test_it_refuses(tmp_path, content, message):
    if content is not None:
        (tmp_path / "truth.csv").write_text(content)
    with pytest.raises(UserError, match=message):
        with_truth(files("cat", "", ""), tmp_path / "truth.csv")


def test_it_knows_a_path_however_it_is_written(tmp_path):
    (tmp_path / "truth.csv").write_text("path,label\n./f1.png,wolf\nx/../f2.png,fox\n")
    assert told(with_truth(files("cat", "", ""), tmp_path / "truth.csv")) == ["cat", "wolf", "fox"]


def test_it_refuses_arrays(tmp_path):
    np.savez(tmp_path / "truth.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    with pytest.raises(UserError, match="holds arrays, but a truth is a table"):
        with_truth(files("cat", "", ""), tmp_path / "truth.npz")


def test_texts_are_known_by_what_they_say_wherever_their_rows_are(tmp_path):
    (tmp_path / "truth.csv").write_text("text,label\na wolf howls,wolf\nelsewhere,owl\n  the fox,fox\nunsaid,\n")
    found = with_truth(
        texts(("a cat", "cat"), ("the fox", ""), ("unsaid", ""), ("a wolf howls", "")), tmp_path / "truth.csv"
    )
    assert told(found) == ["cat", "fox", "", "wolf"]


def test_of_a_text_with_two_labels_its_row_tells(tmp_path):
    (tmp_path / "truth.csv").write_text("text,label\ncall,cat\ncall,fox\nother,owl\ncall,wolf\n")
    assert told(with_truth(texts(("call", ""), ("call", ""), ("call", "")), tmp_path / "truth.csv")) == [
        "cat",
        "fox",
        "",
    ]


def test_texts_that_are_not_there_are_no_truth(tmp_path):
    (tmp_path / "truth.csv").write_text("text,label\nelsewhere,owl\n")
    with pytest.raises(UserError, match="has none of the texts of the data"):
        with_truth(texts(("a cat", "cat"), ("a fox", "")), tmp_path / "truth.csv")
    with pytest.raises(UserError, match="tells of texts, but the data are not texts"):
        with_truth(files("cat", ""), tmp_path / "truth.csv")
