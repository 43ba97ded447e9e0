"""EfficientNet-Lite is the published one: its size, its function, and the same function with batch norms folded."""

import copy

import pytest
import torch
import torch.nn.functional as F
from efficientnet_lite_pytorch import EfficientNet

from novakind.encoders.efficientnet import HEAD, SCALES, EfficientNetLite
from novakind.encoders.published import PUBLISHED, location, network, origin

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module", params=PUBLISHED)
def pair(request, tmp_path_factory) -> tuple[EfficientNetLite, EfficientNet]:
    """Ours and the package's, with the same published weights, ready for pictures that nobody learns from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOVAKIND_CACHE", str(tmp_path_factory.mktemp("cache")))
        ours = network(origin(request.param)).eval()
    theirs = EfficientNet.from_name(request.param)
    theirs.load_state_dict(torch.load(location(request.param), weights_only=True))
    return ours, theirs.eval()


def pictures(side: int, count: int = 2) -> torch.Tensor:
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("variant", "published"), [(0, 4_652_008), (1, 5_416_680), (2, 6_092_072)])
def test_number_of_parameters_is_the_published_one(variant, published):
    classifier = HEAD * 1000 + 1000
    assert sum(value.numel() for value in EfficientNetLite(variant).parameters()) + classifier == published


@torch.no_grad()
def test_vectors_are_those_of_the_published_network(pair):
    ours, theirs = pair
    images = pictures(theirs.input_image_size)
    reference = F.normalize(theirs.extract_features(images).mean((2, 3)), dim=1)
    vectors = ours(images)
    assert torch.allclose(vectors, reference, atol=1e-4)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(2))
    assert not torch.allclose(vectors[0], vectors[1], atol=1e-2)


@torch.no_grad()
def test_folding_changes_nothing_but_speed(pair):
    ours, _ = pair
    images = pictures(96)
    folded = copy.deepcopy(ours).folded()
    assert not any(isinstance(layer, torch.nn.BatchNorm2d) for layer in folded.modules())
    assert torch.allclose(folded(images), ours(images), atol=1e-4)


@pytest.mark.parametrize("shape", [(33, 47), (1, 1), (97, 64)])
@torch.no_grad()
def test_pictures_of_odd_sizes_become_unit_vectors(shape):
    encoder = EfficientNetLite().eval()
    vectors = encoder(torch.randn(3, 3, *shape))
    assert vectors.shape == (3, encoder.dim)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(3), atol=1e-5)


def test_every_parameter_learns_and_belongs_to_a_part():
    encoder = EfficientNetLite()
    encoder(pictures(32))[:, 0].sum().backward()
    assert all(value.grad is not None for value in encoder.parameters())
    of_parts = {id(value) for part in encoder.parts() for value in part.parameters()}
    assert of_parts == {id(value) for value in encoder.parameters()}


def test_sides_are_those_that_the_networks_were_trained_at():
    assert [side for _, _, side in SCALES.values()] == [224, 240, 260]
